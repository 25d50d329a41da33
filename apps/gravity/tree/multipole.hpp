// The field of many bodies far away: mass, centre of mass, and second moments about it.
#pragma once

#include <span>

#include "gravity/bodies/body.hpp"

namespace gravity {

struct multipole {
  vec3 centre{};  ///< of mass; without mass the middle of the box
  double mass = 0.0;
  std::array<double, 6> moments{};  ///< sums of mass times d_i d_j: xx xy xz yy yz zz, d from the centre
};

/// What a node says to its parent.
struct summary {
  multipole field;
  box bounds;  ///< of the bodies
  std::uint64_t bodies = 0;
};

/// Sums go in the order of the arguments, so a node has the same bits wherever it is computed.
summary summary_of(std::span<const source> bodies);
summary summary_of(std::span<const summary> children);

}  // namespace gravity
