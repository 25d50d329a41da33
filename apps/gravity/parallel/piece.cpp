// See piece.hpp.
#include "gravity/parallel/piece.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <stdexcept>

#include "os/task_clock.hpp"

namespace gravity {
namespace {

/// After all else that waits on the PE.
constexpr int compute_priority = 1;

double length(const vec3& v) { return std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

}  // namespace

int piece::load(const tri::buffer<body>& bodies) {
  bodies_.insert(bodies_.end(), bodies.begin(), bodies.end());
  accelerations_.resize(bodies_.size());
  potentials_.resize(bodies_.size());
  return 1;
}

box piece::drift(double kick, double time_step) {
  box bounds;
  for (std::size_t i = 0; i < bodies_.size(); ++i) {
    body& each = bodies_[i];
    for (std::size_t d = 0; d < 3; ++d) {
      each.velocity[d] += kick * accelerations_[i][d];
      each.position[d] += time_step * each.velocity[d];
    }
    if (!std::isfinite(each.position[0] + each.position[1] + each.position[2]))
      throw std::runtime_error(
          fmt::format("body {} is at ({}, {}, {}): the bodies have flown apart; use a smaller --time-step or a larger "
                      "--softening",
                      each.id, each.position[0], each.position[1], each.position[2]));
    bounds.include(each.position);
  }
  return bounds;
}

std::vector<std::uint64_t> piece::count(const root_cube& cube, const count_request& request, bool sort_first) {
  if (sort_first) sort(cube);
  return count_bodies(keys_, request);
}

// By key, then by id: bodies with the same key have one order, wherever they come from.
void piece::sort(const root_cube& cube) {
  std::vector<std::pair<std::uint64_t, std::size_t>> order(bodies_.size());
  for (std::size_t i = 0; i < bodies_.size(); ++i) order[i] = {morton_key(cube, bodies_[i].position), i};
  std::ranges::sort(order, [this](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : bodies_[a.second].id < bodies_[b.second].id;
  });
  std::vector<body> sorted;
  sorted.reserve(bodies_.size());
  keys_.clear();
  for (const auto& [key, from] : order) {
    keys_.push_back(key);
    sorted.push_back(bodies_[from]);
  }
  bodies_ = std::move(sorted);
}

void piece::send_bodies(std::int64_t step, const decomposition& now) {
  std::vector<body> staying;
  for (std::size_t first = 0; first < bodies_.size();) {
    const std::size_t to = now.piece_of(now.subtree_of(keys_[first]));
    const std::uint32_t behind = now.first_of_piece[to + 1];
    const std::uint64_t end_key = behind < now.subtrees.size() ? now.subtrees[behind].first_key : key_end;
    const auto last = static_cast<std::size_t>(std::ranges::lower_bound(keys_, end_key) - keys_.begin());
    const std::span<const body> leaving(bodies_.data() + first, last - first);
    if (to == static_cast<std::size_t>(this_index()[0]))
      staying.assign(leaving.begin(), leaving.end());
    else
      this_array()(static_cast<int>(to)).send<&piece::arrive>(step, tri::buffer<body>::copy_of(leaving));
    first = last;
  }
  bodies_ = std::move(staying);
}

void piece::arrive(std::int64_t, const tri::buffer<body>& bodies) {
  bodies_.insert(bodies_.end(), bodies.begin(), bodies.end());
}

tri::task<std::vector<subtree_root>> piece::exchange(std::int64_t step, decomposition now) {
  send_bodies(step, now);
  const std::uint64_t expected = now.bodies_of(static_cast<std::size_t>(this_index()[0]));
  while (bodies_.size() < expected) co_await when<&piece::arrive>(step);
  sort(now.cube);
  co_return build(now);
}

std::vector<subtree_root> piece::build(const decomposition& now) {
  const auto own = static_cast<std::size_t>(this_index()[0]);
  first_subtree_ = now.first_of_piece[own];
  subtrees_.clear();
  starts_.assign(1, 0);
  sources_.clear();
  for (const body& each : bodies_)
    sources_.push_back({each.position[0], each.position[1], each.position[2], each.mass});
  accelerations_.assign(bodies_.size(), {});
  potentials_.assign(bodies_.size(), 0.0);
  std::vector<subtree_root> roots;
  for (std::uint32_t s = first_subtree_; s < now.first_of_piece[own + 1]; ++s) {
    const std::size_t first = starts_.back();
    const auto count = static_cast<std::size_t>(now.subtrees[s].bodies);
    subtree built = build_subtree({keys_.data() + first, count}, {sources_.data() + first, count},
                                  static_cast<int>(now.subtrees[s].level), the_settings->tree);
    roots.push_back({built.root, built.children, built.is_leaf ? 1U : 0U});
    shared_subtree& shared = subtrees_.emplace_back();
    for (const chunk& each : built.chunks) {
      shared.nodes.emplace_back(tri::buffer<tree_node>::copy_of(each.nodes));
      shared.bodies.emplace_back(tri::buffer<source>::copy_of(each.bodies));
    }
    shared.buckets = std::move(built.buckets);
    shared.root = built.root;
    starts_.push_back(first + count);
  }
  return roots;
}

void piece::request(std::uint32_t subtree, std::uint32_t chunk, bool bodies, int pe) {
  const shared_subtree& own = subtrees_[subtree - first_subtree_];
  const auto to = caches_[pe].with(fetch_priority);
  if (bodies)
    to.send<&node_cache::bodies_arrive>(subtree, chunk, own.bodies[chunk]);
  else
    to.send<&node_cache::nodes_arrive>(subtree, chunk, own.nodes[chunk]);
}

tri::task<std::vector<subtree_sums>> piece::find_forces(double kick) {
  node_cache& cache = caches_.local();
  std::vector<box> targets;
  for (const shared_subtree& each : subtrees_) targets.push_back(each.root.bounds);
  tri::future<void> fetched = cache.fetch_for(targets);
  co_await fetched;

  std::vector<subtree_sums> sums;
  for (std::size_t s = 0; s < subtrees_.size(); ++s) {
    this_element().with(compute_priority).send<&piece::next>(static_cast<std::int64_t>(s));
    co_await when<&piece::next>(static_cast<std::int64_t>(s));
    const std::int64_t begin = tri::os::cpu_time_of_this_thread_ns();  // other programs on the core do not count
    force_walk walk(choose_kernels(the_settings->kernels.data()), the_settings->softening);
    find_forces_of(s, walk);
    for (std::size_t i = starts_[s]; i < starts_[s + 1]; ++i)
      for (std::size_t d = 0; d < 3; ++d) bodies_[i].velocity[d] += kick * accelerations_[i][d];
    sums.push_back(sums_of(s));
    sums.back().interactions = walk.counts();
    interactions_ += walk.counts().multipoles + walk.counts().bodies;
    cache.count_forces(walk.counts(), tri::os::cpu_time_of_this_thread_ns() - begin);
  }
  co_return sums;
}

void piece::find_forces_of(std::size_t subtree, force_walk& walk) {
  node_cache& cache = caches_.local();
  const std::size_t first = starts_[subtree];
  const std::size_t count = starts_[subtree + 1] - first;
  for (const bucket& each : subtrees_[subtree].buckets) {
    walk.find_forces(each, first_subtree_ + static_cast<std::uint32_t>(subtree), {sources_.data() + first, count},
                     cache, {accelerations_.data() + first, count}, {potentials_.data() + first, count});
  }
}

void piece::describe_load(tri::load_description& load) {
  box bounds;
  for (const body& each : bodies_) bounds.include(each.position);
  vec3 middle{};
  if (!bodies_.empty())
    for (std::size_t d = 0; d < 3; ++d) middle[d] = 0.5 * bounds.low[d] + 0.5 * bounds.high[d];
  load.coordinates(middle);
  load.bytes(static_cast<std::int64_t>(bodies_.size() * (sizeof(body) + sizeof(vec3) + sizeof(double))));
  // A microsecond for each, hundreds of times what it takes: the measured time of all else on a PE must not matter.
  if (the_settings->counts_loads) load.load_ns(static_cast<std::int64_t>(interactions_) * 1000);
  interactions_ = 0;
}

subtree_sums piece::sums_of(std::size_t subtree) const {
  subtree_sums sums;
  for (std::size_t i = starts_[subtree]; i < starts_[subtree + 1]; ++i) {
    const body& each = bodies_[i];
    const double speed = length(each.velocity);
    sums.kinetic += 0.5 * each.mass * speed * speed;
    sums.potential += 0.5 * each.mass * potentials_[i];
    for (std::size_t d = 0; d < 3; ++d) sums.momentum[d] += each.mass * each.velocity[d];
    sums.momentum_of_all += each.mass * speed;
  }
  return sums;
}

std::vector<force_error> piece::compare_forces(const tri::shared_buffer<source>& all) const {
  const double softening_squared = the_settings->softening * the_settings->softening;
  std::vector<force_error> errors;
  for (std::size_t i = 0; i < bodies_.size(); ++i) {
    const body& own = bodies_[i];
    vec3 direct{};
    for (std::size_t k = 0; k < all.size(); ++k) {
      if (static_cast<std::int64_t>(k) == own.id) continue;
      const vec3 d = {all[k].x - own.position[0], all[k].y - own.position[1], all[k].z - own.position[2]};
      const double u = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + softening_squared;
      if (u == 0.0) continue;
      const double factor = all[k].mass / (u * std::sqrt(u));
      for (std::size_t axis = 0; axis < 3; ++axis) direct[axis] += factor * d[axis];
    }
    const vec3& found = accelerations_[i];
    const double error = length({found[0] - direct[0], found[1] - direct[1], found[2] - direct[2]});
    const double size = length(direct);
    errors.push_back({error == 0.0 ? 0.0 : error / size, error});
  }
  return errors;
}

}  // namespace gravity
