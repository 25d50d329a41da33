// A periodic box cut into cubic cells, and which of them interact: each cell with itself and its 26 neighbours. A pair
// is named by a cell and a kind, 0 (the cell with itself) to 13 (half of the neighbours); the other half are pairs of
// the neighbours.
#pragma once

#include <array>
#include <cstdint>

#include "ported/vec3.hpp"

namespace ported {

constexpr int pair_kinds = 14;
constexpr int contributions_of_cell = 27;  ///< pairs that have a cell: 14 as the first, 13 as the second
constexpr double cutoff = 12.0;
constexpr double cell_width = 16.0;

using cell_index = std::array<std::int32_t, 3>;

struct cell_grid {
  std::array<std::int32_t, 3> size{};

  int cells() const { return size[0] * size[1] * size[2]; }
  int number_of(const cell_index& cell) const { return cell[0] + size[0] * (cell[1] + size[1] * cell[2]); }

  /// The neighbour at an offset of -1, 0 or 1 in each direction, around the edges of the box.
  cell_index beside(const cell_index& cell, const cell_index& offset) const {
    cell_index found{};
    for (std::size_t d = 0; d < 3; ++d) found[d] = (cell[d] + offset[d] + size[d]) % size[d];
    return found;
  }
  /// What to add to positions in `cell` so that they are near those of the neighbour: not zero across an edge.
  vec3 shift(const cell_index& cell, const cell_index& offset) const {
    std::array<double, 3> shifts{};
    for (std::size_t d = 0; d < 3; ++d) {
      const int to = cell[d] + offset[d];
      if (to < 0) shifts[d] = cell_width * size[d];
      if (to >= size[d]) shifts[d] = -cell_width * size[d];
    }
    return {shifts[0], shifts[1], shifts[2]};
  }
};

/// Neighbour number 0..26, -1, 0 or 1 in each direction; 13 is the cell itself.
inline cell_index offset_of(int neighbour) { return {neighbour / 9 - 1, neighbour / 3 % 3 - 1, neighbour % 3 - 1}; }
/// From the first to the second cell of a pair.
inline cell_index offset_of_kind(int kind) { return offset_of(13 + kind); }
inline cell_index opposite(const cell_index& offset) { return {-offset[0], -offset[1], -offset[2]}; }

}  // namespace ported
