// Which PE a patch and a pair live on: patches in even runs of their atoms, pairs in even runs of their expected work,
// in the order of the grid, so that a pair is near its first patch. Results do not depend on it. Plain C++, any thread.
#pragma once

#include "md/patches/patch_grid.hpp"

namespace md {

struct work_placement {
  std::vector<std::int32_t> patch_pe;
  std::vector<std::int32_t> pair_pe;  ///< of pair (patch, kind) at patch * pair_kinds + kind
};

/// Part of the pairs of atoms, one of each patch, that are closer than `reach` when both patches are filled evenly, by
/// pair kind; for the pair of a patch with itself every two atoms count once.
std::array<double, pair_kinds> near_fractions(const vec3& width, double reach);

/// `atoms`: number of atoms by patch.
work_placement place_work(const patch_grid& grid, const std::vector<std::size_t>& atoms, double reach, int pes);

}  // namespace md
