// The model problem of `jacobi` and of `loop_slabs`: Poisson's equation on a box, relaxed with the 7-point stencil, and
// the initial values of the grid and the source. Points (plane, row, column) are counted from the boundary, 0.
#pragma once

#include <cmath>
#include <cstddef>

namespace kernels {

inline double initial_value(int plane, int row, int column) {
  return std::sin(0.1 * plane) + 0.01 * row - 0.02 * column;
}
inline double source_value(int plane, int row, int column) { return 1e-3 * ((plane * 7 + row * 3 + column) % 11 - 5); }

/// Points along a row of a plane with `side` inner ones, and of the plane.
inline std::size_t row_points(int side) { return static_cast<std::size_t>(side) + 2; }
inline std::size_t plane_points(int side) { return row_points(side) * row_points(side); }

/// One row of the next step. Restrict: the grids are different ones, so the compiler may use vectors.
inline void relax_row(const double* __restrict now, const double* __restrict source, double* __restrict next, int side,
                      std::size_t row) {
  const std::size_t along = row_points(side), across = plane_points(side);
  for (std::size_t column = 1; column + 1 < along; ++column) {
    const std::size_t here = row * along + column;
    const double* const at = now + here;
    next[here] =
        (*(at - across) + *(at + across) + *(at - along) + *(at + along) + *(at - 1) + *(at + 1) + source[here]) / 6.0;
  }
}
inline void relax_plane(const double* __restrict now, const double* __restrict source, double* __restrict next,
                        int side) {
  for (std::size_t row = 1; row + 1 < row_points(side); ++row) relax_row(now, source, next, side, row);
}

}  // namespace kernels
