// What all PEs must give alike when they make an array, as plain data: errors name it when they did not.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "trireme/detail/arrays/layout.hpp"

#pragma GCC visibility push(default)

namespace tri::arrays {

/// Of the arrays of numbers those of the dimensions are used; zeros: not given.
struct array_shape {
  using numbers = std::array<std::int64_t, most_array_dimensions>;
  std::int32_t dimensions = 0;
  std::int32_t first_pe = 0;
  std::uint32_t rings = 0;
  std::uint32_t chosen = 0;  ///< distribution::chosen; bit 0: the tile, bit 1: the grid
  numbers extents{}, tile{}, host_tile{}, grid{}, halo{};
  std::array<char, 64> type{};  ///< its name, or the beginning of a long one; ends with 0
};
/// As "(10, 20) of double in tiles (2, 3)", and what else was given.
std::string describe(const array_shape& shape);

template <int N>
array_shape shape_of(const layout<N>& where, std::string_view type) {
  const distribution<N>& how = where.how();
  array_shape shape{.dimensions = N,
                    .first_pe = how.first_pe,
                    .rings = how.rings,
                    .chosen = (how.chosen.tile ? 1U : 0U) | (how.chosen.grid ? 2U : 0U)};
  const auto keep = [](const position<N>& from, array_shape::numbers& to) { std::ranges::copy(from.at, to.begin()); };
  keep(where.extents(), shape.extents);
  keep(how.tile, shape.tile);
  keep(how.host_tile, shape.host_tile);
  keep(how.grid, shape.grid);
  keep(how.halo, shape.halo);
  std::ranges::copy(type.substr(0, shape.type.size() - 1), shape.type.begin());
  return shape;
}

/// The distribution of a shape, whose dimensions must be N.
template <int N>
distribution<N> distribution_of(const array_shape& shape) {
  distribution<N> how;
  const auto take = [](const array_shape::numbers& from, position<N>& to) {
    std::copy_n(from.begin(), N, to.at.begin());
  };
  take(shape.tile, how.tile);
  take(shape.host_tile, how.host_tile);
  take(shape.grid, how.grid);
  take(shape.halo, how.halo);
  how.first_pe = shape.first_pe;
  how.rings = shape.rings;
  how.chosen = {.tile = (shape.chosen & 1) != 0, .grid = (shape.chosen & 2) != 0};
  return how;
}

}  // namespace tri::arrays

#pragma GCC visibility pop
