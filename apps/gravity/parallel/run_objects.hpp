// The objects of a run, on all PEs, and their phases. Made and called by the main program; each function returns when
// all objects are through the phase. Apart from simulation.cpp, because the templates of each take seconds to compile.
#pragma once

#include <vector>

#include "gravity/parallel/piece.hpp"

namespace gravity {

struct run_objects {
  tri::group<node_cache> caches;
  tri::array<piece> pieces;

  /// Also finds the box of all bodies.
  box drift(double kick, double time_step) const;
  std::vector<std::uint64_t> count(const root_cube& cube, const count_request& request, bool sort) const;
  /// The roots of all subtrees, in their order.
  std::vector<subtree_root> exchange(std::int64_t step, const decomposition& now) const;
  void install(const std::vector<tree_node>& top, const decomposition& now) const;
  /// The sums of all subtrees, in their order.
  std::vector<subtree_sums> find_forces(double kick) const;

  /// By PE; of the time since the last one.
  std::vector<cache_report> reports() const;
  /// All bodies, in the order of their ids.
  std::vector<body> bodies() const;
  /// Sorted by the relative error.
  std::vector<force_error> compare_forces(const std::vector<body>& all) const;
};

/// Bodies are dealt in their order, to be exchanged in the first step.
run_objects make_objects(const std::vector<body>& bodies, int pieces);

}  // namespace gravity
