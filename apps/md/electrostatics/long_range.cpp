// See long_range.hpp.
#include "md/electrostatics/long_range.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace md {

long_range::long_range(const box& box, const electrostatics_settings& settings, const patch_grid& grid, int objects)
    : mesh_(box, settings),
      transforms_(settings.mesh),
      grid_(grid),
      slabs_(std::clamp(objects, 1, settings.mesh[2])),
      rows_(std::clamp(objects, 1, settings.mesh[1])) {}

mesh_range long_range::planes_near(int patch) const {
  const double low = grid_.low_corner(patch)[2] - grid_.width()[2];
  const double high = low + 3.0 * grid_.width()[2];
  const int first = static_cast<int>(std::floor((low - mesh_.low[2]) * mesh_.scale[2])) - mesh_.order;
  const int last = static_cast<int>(std::floor((high - mesh_.low[2]) * mesh_.scale[2])) + 1;
  return {first, last + 1 - first};
}

std::vector<int> long_range::slabs_near(int patch) const {
  std::vector<bool> near(static_cast<std::size_t>(slabs_));
  const mesh_range range = planes_near(patch);
  for (int z = range.first; z < range.first + std::min(range.count, mesh_.points[2]); ++z) {
    for (int s = 0; s < slabs_; ++s) {
      if (planes(s).contains(wrapped(z, mesh_.points[2]))) near[static_cast<std::size_t>(s)] = true;
    }
  }
  std::vector<int> found;
  for (int s = 0; s < slabs_; ++s) {
    if (near[static_cast<std::size_t>(s)]) found.push_back(s);
  }
  return found;
}

std::vector<int> long_range::patches_near(int slab) const {
  std::vector<int> found;
  for (int p = 0; p < grid_.size(); ++p) {
    const std::vector<int> slabs = slabs_near(p);
    if (std::binary_search(slabs.begin(), slabs.end(), slab)) found.push_back(p);
  }
  return found;
}

void long_range::check_near(int patch, const mesh_block& block) const {
  const mesh_range range = planes_near(patch);
  if (block.low[2] >= range.first && block.low[2] + block.size[2] <= range.first + range.count) return;
  throw std::runtime_error(fmt::format(
      "an atom of patch {} moved past the patches around it between two list builds, so pairs were missed; use a "
      "smaller time step (--dt) or build lists more often (--reneighbor-every, --check)",
      patch));
}

}  // namespace md
