// The hot loops: what multipoles and bodies add to acceleration and potential of the bodies of one bucket. Variants for
// several instruction sets, chosen at run time; all give the same bits, because none fuses or reorders operations.
//
// The attraction is softened like that of Plummer spheres (1 / sqrt(r^2 + e^2)), for multipoles, too.
#pragma once

#include <span>
#include <string_view>

#include "gravity/tree/tree_node.hpp"

namespace gravity {

inline constexpr std::size_t lanes_per_block = 16;

/// Up to 16 bodies side by side. Unused lanes may have any finite position.
struct alignas(64) lane_block {
  using values = std::array<double, lanes_per_block>;
  values x{}, y{}, z{};
  values ax{}, ay{}, az{};
  values potential{};
};

struct pull_kernels {
  std::string_view name;
  /// Each adds to the first `lanes` bodies, in the order of the span, and perhaps to unused ones.
  void (*multipoles)(lane_block&, std::size_t lanes, std::span<const multipole* const>, double softening_squared);
  /// Bodies at no distance, softening included, do not attract.
  void (*bodies)(lane_block&, std::size_t lanes, std::span<const source>, double softening_squared);
  /// The same, but source `first_own + l` is lane l itself and does not attract it. `first_own` may be negative.
  void (*own_bodies)(lane_block&, std::size_t lanes, std::span<const source>, std::ptrdiff_t first_own,
                     double softening_squared);
};

/// "auto", or the name of a variant that this processor has. Throws std::invalid_argument for others.
const pull_kernels& choose_kernels(std::string_view name);

}  // namespace gravity
