// See run_objects.hpp.
#include "gravity/parallel/run_objects.hpp"

#include <algorithm>

namespace gravity {
namespace {

template <class T>
std::vector<T> joined(const std::vector<std::vector<T>>& parts) {
  std::vector<T> all;
  for (const std::vector<T>& each : parts) all.insert(all.end(), each.begin(), each.end());
  return all;
}

struct larger_box {
  box operator()(box a, const box& b) const {
    a.include(b);
    return a;
  }
};

}  // namespace

run_objects make_objects(const std::vector<body>& bodies, int pieces) {
  run_objects made;
  made.caches = tri::make_group<node_cache>();
  made.pieces = tri::make_array<piece>({pieces}, made.caches);
  const auto count = static_cast<std::size_t>(pieces);
  for (std::size_t p = 0; p < count; ++p) {
    const std::size_t first = bodies.size() * p / count;
    const std::span<const body> own(bodies.data() + first, bodies.size() * (p + 1) / count - first);
    made.pieces(static_cast<int>(p)).send<&piece::load>(tri::buffer<body>::copy_of(own));
  }
  tri::quiescence().get();  // a broadcast, the first phase, could overtake them
  return made;
}

box run_objects::drift(double kick, double time_step) const {
  return pieces.reduce<&piece::drift>(tri::by(larger_box{}), kick, time_step).get();
}
std::vector<std::uint64_t> run_objects::count(const root_cube& cube, const count_request& request, bool sort) const {
  return pieces.reduce<&piece::count>(tri::elementwise(tri::sum), cube, request, sort).get();
}
std::vector<subtree_root> run_objects::exchange(std::int64_t step, const decomposition& now) const {
  return joined(pieces.reduce<&piece::exchange>(tri::gather, step, now).get());
}
void run_objects::install(const std::vector<tree_node>& top, const decomposition& now) const {
  const tri::shared_buffer<tree_node> shared = tri::buffer<tree_node>::copy_of(top);
  caches.reduce<&node_cache::install>(tri::sum, pieces, shared, now.first_of_piece).get();
}
std::vector<subtree_sums> run_objects::find_forces(double kick) const {
  return joined(pieces.reduce<&piece::find_forces>(tri::gather, kick).get());
}
std::vector<cache_report> run_objects::reports() const { return caches.reduce<&node_cache::report>(tri::gather).get(); }
std::vector<body> run_objects::bodies() const {
  std::vector<body> all = joined(pieces.reduce<&piece::bodies>(tri::gather).get());
  std::ranges::sort(all, {}, &body::id);
  return all;
}
std::vector<force_error> run_objects::compare_forces(const std::vector<body>& all) const {
  tri::buffer<source> sources(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& [at, velocity, mass, id] = all[i];
    sources[i] = {at[0], at[1], at[2], mass};
  }
  const tri::shared_buffer<source> shared = std::move(sources);
  std::vector<force_error> errors = joined(pieces.reduce<&piece::compare_forces>(tri::gather, shared).get());
  std::ranges::sort(errors, {}, &force_error::relative);
  return errors;
}

}  // namespace gravity
