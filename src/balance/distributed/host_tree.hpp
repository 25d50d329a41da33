// Hosts as vertices of a tree, by arithmetic: host 0 is the root, and each has up to `fanout` children. With it the
// first phase of both distributed strategies: sums of work and speed go up, the level comes down.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tri::balancing {

struct host_tree {
  std::int32_t hosts = 1;
  std::int32_t fanout = 4;

  std::int32_t parent_of(std::int32_t host) const { return (host - 1) / fanout; }
  std::int32_t first_child_of(std::int32_t host) const { return std::min(host * fanout + 1, hosts); }
  std::int32_t end_of_children_of(std::int32_t host) const { return std::min(host * fanout + 1 + fanout, hosts); }
  std::int32_t children_of(std::int32_t host) const { return end_of_children_of(host) - first_child_of(host); }
  /// The child of `host` whose subtree has `below`, which is below `host`.
  std::int32_t child_towards(std::int32_t host, std::int32_t below) const {
    while (parent_of(below) != host) below = parent_of(below);
    return below;
  }
};

/// What goes up the tree.
struct load_sum {
  double work = 0.0;
  double speed = 0.0;
  std::int32_t missing = 0;  ///< children that were not heard
  void add(double more_work, double more_speed) {
    work += more_work;
    speed += more_speed;
  }
};

}  // namespace tri::balancing
