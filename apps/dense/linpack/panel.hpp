// A panel: one tile column of the matrix from the diagonal on, factored with partial pivoting by the PEs of its column
// of the grid. What the update needs of it lies in one buffer, which goes to the other PEs of each row of the grid.
//
// Every PE of the column has its rows of the panel in a buffer, column by column. Column by column the row with the
// largest value is exchanged with the next row of the diagonal block: one allreduce finds that row and carries both.
// Rows chosen are kept on all PEs of the column (`top`), so each computes what depends on them for itself (as HPL
// does).
#pragma once

#include <utility>
#include <vector>

#include "dense/matrix.hpp"

namespace dense {

/// The part of a panel on one PE, and how its memory is laid out: the same on all PEs of a row of the grid.
struct panel_shape {
  panel_shape(const matrix& a, const grid_place& place, extent number);

  extent number;             ///< of its tile column
  extent first;              ///< number of the first row and column
  extent pivots;             ///< columns that are eliminated
  extent columns;            ///< all of the tile's: the right-hand side may be among them
  extent diagonal_rows;      ///< of the block on the diagonal, which are the first ones of `rows`; 0 on PEs without it
  extent rows;               ///< of this PE
  extent leading_dimension;  ///< between columns of `rows`
  extent first_tile;         ///< the first tile row of this PE, on or below the diagonal
  extent tile_rows_apart;
  extent tile_height;

  std::size_t size() const { return static_cast<std::size_t>(pivots + pivots * columns + leading_dimension * columns); }
  /// Where the rows of a tile row of this PE begin.
  extent offset_of(extent tile_row) const { return (tile_row - first_tile) / tile_rows_apart * tile_height; }
};

/// A factored panel. Read-only; copies share it.
class panel {
 public:
  panel(const panel_shape& shape, tri::shared_buffer<double> memory) : shape_(shape), memory_(std::move(memory)) {}
  const panel_shape& shape() const { return shape_; }
  const tri::shared_buffer<double>& memory() const { return memory_; }
  /// The row that was exchanged with row first + j, j = 0, 1, ...
  extent pivot(extent j) const { return static_cast<extent>(memory_[static_cast<std::size_t>(j)]); }
  /// The block on the diagonal: the upper factor, and below its diagonal the multipliers.
  const_block top() const { return {memory_.data() + shape_.pivots, shape_.columns}; }
  /// The multipliers of a tile row of this PE, column by column: transposed, for who takes them row by row.
  const_block multipliers(extent tile_row) const {
    return {memory_.data() + shape_.pivots * (1 + shape_.columns) + shape_.offset_of(tile_row),
            shape_.leading_dimension};
  }

 private:
  panel_shape shape_;
  tri::shared_buffer<double> memory_;
};

/// Factors a panel. Collective over the PEs of its column of the grid. The diagonal block goes back into the matrix,
/// the multipliers do not: the right-hand side is eliminated along with the matrix. Throws std::domain_error when the
/// matrix is singular.
panel factor_panel(const matrix& a, const grid_place& place, extent number);

}  // namespace dense
