// Morton keys: where a point lies in an octree, as one number. Three bits for each level, the highest bits for the
// largest cells; so the bodies of any cell are neighbours when all are sorted by their keys.
#pragma once

#include <cmath>
#include <cstdint>

#include "gravity/bodies/body.hpp"

namespace gravity {

inline constexpr int key_levels = 21;
/// One beyond the greatest key.
inline constexpr std::uint64_t key_end = std::uint64_t{1} << (3 * key_levels);

/// The cube that the tree divides.
struct root_cube {
  vec3 low{};
  double side = 1.0;
};

/// The smallest cube with its lowest corner at that of the box; of edge 1 when the box is a point.
inline root_cube cube_around(const box& bounds) {
  double side = 0.0;
  for (std::size_t d = 0; d < 3; ++d) side = std::max(side, bounds.high[d] - bounds.low[d]);
  return {bounds.low, side > 0.0 ? side : 1.0};
}

/// Puts two zero bits before each of the lowest 21 bits.
inline std::uint64_t spread_bits(std::uint64_t x) {
  x &= 0x1fffff;
  x = (x | x << 32) & 0x1f00000000ffff;
  x = (x | x << 16) & 0x1f0000ff0000ff;
  x = (x | x << 8) & 0x100f00f00f00f00f;
  x = (x | x << 4) & 0x10c30c30c30c30c3;
  x = (x | x << 2) & 0x1249249249249249;
  return x;
}

/// Points outside of the cube have the key of the nearest cell.
inline std::uint64_t morton_key(const root_cube& cube, const vec3& at) {
  constexpr double cells = std::uint64_t{1} << key_levels;
  std::uint64_t key = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    const double place = std::clamp((at[d] - cube.low[d]) / cube.side * cells, 0.0, cells - 1.0);
    key |= spread_bits(static_cast<std::uint64_t>(place)) << (2 - d);
  }
  return key;
}

/// The number of keys in a cell of this level; level 0 is the root.
constexpr std::uint64_t keys_at(int level) { return std::uint64_t{1} << (3 * (key_levels - level)); }

}  // namespace gravity
