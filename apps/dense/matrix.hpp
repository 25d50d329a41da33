// Matrices of the programs of this folder: global arrays of square tiles that are dealt over a grid of PEs, as in
// ScaLAPACK and HPL. How they are filled, and multiplied with a vector, to verify results.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dense/blas.hpp"
#include "trireme/arrays.hpp"

namespace dense {

using matrix = tri::global_array<double, 2>;
using tile = tri::local_tile<double, 2>;

/// The grid that the PEs form, and the calling one's place in it. The teams are null on PEs outside of the grid.
struct grid_place {
  int rows = 1;
  int columns = 1;
  int row = 0;
  int column = 0;
  bool is_inside = true;
  bool is_on_one_host = true;  ///< all PEs of the job are, so every tile can be read where it is
  tri::team along_row{};       ///< the PEs of this row, ranked by column
  tri::team along_column{};    ///< those of this column, ranked by row

  int owner_row(extent tile_row) const { return static_cast<int>(tile_row % rows); }
  int owner_column(extent tile_column) const { return static_cast<int>(tile_column % columns); }
  bool has_row(extent tile_row) const { return owner_row(tile_row) == row; }
  bool has_column(extent tile_column) const { return owner_column(tile_column) == column; }
  /// The first tile row from `from` on that is of this row of the grid.
  extent next_row(extent from) const { return from + (row - from % rows + rows) % rows; }
  extent next_column(extent from) const { return from + (column - from % columns + columns) % columns; }
};
/// Collective over all PEs.
grid_place place_in_grid(const matrix& a);
/// Collective over all PEs: frees the teams.
void free_teams(const grid_place& place);

/// How many tiles, and how many rows of them are in tile row i (columns alike).
inline extent tile_rows(const matrix& a) { return a.where().tiles()[0]; }
inline extent tile_columns(const matrix& a) { return a.where().tiles()[1]; }
inline extent height(const matrix& a, extent i) { return std::min(a.tile()[0], a.extent(0) - i * a.tile()[0]); }
inline extent width(const matrix& a, extent j) { return std::min(a.tile()[1], a.extent(1) - j * a.tile()[1]); }
/// A tile of this host; null data: it is of another.
inline block tile_at(const matrix& a, extent i, extent j) {
  return {a.local({i * a.tile()[0], j * a.tile()[1]}), a.tile()[1]};
}

/// A tile of any PE, to read: in place on this host, else fetched into `copy`.
const_block read_tile(const matrix& a, extent i, extent j, std::vector<double>& copy);

/// Element (i, j) of a matrix of random numbers between -0.5 and 0.5: the same on every PE.
double random_element(std::uint64_t seed, extent i, extent j);
/// The same for a symmetric positive definite matrix: what it has on its diagonal exceeds the rest of its row.
double positive_definite_element(std::uint64_t seed, extent n, extent i, extent j);

/// Fills this PE's tiles.
template <class F>
void fill(const matrix& a, F&& element) {
  tri::for_each_own(a, [&](const tri::position<2>& at, double& value) { value = element(at[0], at[1]); });
}

enum class part { all, lower, lower_transposed };
/// The product of the matrix, or of its lower triangle, with a vector, on all PEs. Collective.
std::vector<double> times(const matrix& a, std::span<const double> x, part which = part::all);

/// Vectors and their largest absolute value (not a number, if one is not).
double largest(std::span<const double> values);
std::vector<double> random_vector(std::uint64_t seed, extent n);
/// The largest difference of two vectors, relative to the second one's largest value.
double relative_difference(std::span<const double> a, std::span<const double> b);

}  // namespace dense
