// The settings of a run that decide its numbers.
#pragma once

#include <array>

#include "gravity/tree/subtree.hpp"

namespace gravity {

struct run_settings {
  tree_settings tree;
  int subtree = 256;  ///< most bodies of a subtree; at least as many as of a bucket
  double softening = 0.01;
  double time_step = 0.005;
  bool counts_loads = false;       ///< balancing takes interactions as the load of a piece, in place of measured time
  std::array<char, 16> kernels{};  ///< the variant's name; empty: that of choose_kernels("auto")
};

}  // namespace gravity
