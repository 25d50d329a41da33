// A tree of one process without pieces, for the tests: decomposed, built and walked as the program does it.
#pragma once

#include <algorithm>
#include <numeric>

#include "gravity/bodies/body.hpp"
#include "gravity/tree/top_tree.hpp"
#include "gravity/tree/walk.hpp"

namespace gravity {

class whole_tree {
 public:
  whole_tree(std::vector<body> bodies, const tree_settings& settings, std::uint64_t most_of_subtree)
      : bodies_(std::move(bodies)) {
    box bounds;
    for (const body& each : bodies_) bounds.include(each.position);
    const root_cube cube = cube_around(bounds);
    std::ranges::sort(bodies_, [&](const body& a, const body& b) {
      const std::uint64_t first = morton_key(cube, a.position);
      const std::uint64_t second = morton_key(cube, b.position);
      return first != second ? first < second : a.id < b.id;
    });
    for (const body& each : bodies_) {
      keys_.push_back(morton_key(cube, each.position));
      sources_.push_back({each.position[0], each.position[1], each.position[2], each.mass});
    }
    cell_refinement cells(bodies_.size(), most_of_subtree);
    while (!cells.done()) cells.take(count_bodies(keys_, cells.request()));
    now_ = deal(cube, cells.subtrees(), 1);
    std::vector<subtree_root> roots;
    std::size_t first = 0;
    for (const cell& each : now_.subtrees) {
      const auto count = static_cast<std::size_t>(each.bodies);
      const std::span<const std::uint64_t> keys(keys_.data() + first, count);
      subtrees_.push_back(
          build_subtree(keys, {sources_.data() + first, count}, static_cast<int>(each.level), settings));
      roots.push_back({subtrees_.back().root, subtrees_.back().children, subtrees_.back().is_leaf ? 1U : 0U});
      first += count;
    }
    top_ = build_top_tree(now_, roots, settings.theta);
  }

  /// By id.
  std::vector<vec3> accelerations(const pull_kernels& kernels, double softening) {
    std::vector<vec3> found(bodies_.size());
    potentials_.assign(bodies_.size(), 0.0);
    force_walk walk(kernels, softening);
    std::size_t first = 0;
    for (std::uint32_t s = 0; s < subtrees_.size(); ++s) {
      const auto count = static_cast<std::size_t>(now_.subtrees[s].bodies);
      std::vector<vec3> own(count);
      std::vector<double> potentials(count);
      for (const bucket& each : subtrees_[s].buckets)
        walk.find_forces(each, s, {sources_.data() + first, count}, *this, own, potentials);
      for (std::size_t i = 0; i < count; ++i) {
        found[static_cast<std::size_t>(bodies_[first + i].id)] = own[i];
        potentials_[static_cast<std::size_t>(bodies_[first + i].id)] = potentials[i];
      }
      first += count;
    }
    counts_ = walk.counts();
    return found;
  }
  const std::vector<double>& potentials() const { return potentials_; }  ///< by id, of the last call
  const interaction_counts& counts() const { return counts_; }           ///< of the last call

  const tree_node* top() const { return top_.data(); }
  const tree_node* children(const node_place& at) const {
    const content_place place = content_of(at);
    const std::vector<tree_node>& nodes =
        place.subtree == in_top_tree ? top_ : subtrees_[place.subtree].chunks[place.chunk].nodes;
    return nodes.data() + first_in_content(*at.node);
  }
  const source* bodies(const node_place& at) const {
    const content_place place = content_of(at);
    return subtrees_[place.subtree].chunks[place.chunk].bodies.data();
  }
  bool bodies_present(const node_place&) const { return true; }

  const std::vector<subtree>& subtrees() const { return subtrees_; }
  const std::vector<tree_node>& top_nodes() const { return top_; }
  const decomposition& parts() const { return now_; }

 private:
  std::vector<body> bodies_;
  std::vector<std::uint64_t> keys_;
  std::vector<source> sources_;
  decomposition now_;
  std::vector<subtree> subtrees_;
  std::vector<tree_node> top_;
  std::vector<double> potentials_;
  interaction_counts counts_;
};

}  // namespace gravity
