// Exchanges rows behind a panel as its pivots say. Each column of the grid does that for its columns of the matrix: the
// PEs of the column give each other the rows that move, in one allgather, and all have the rows of the panel's tile
// row then (U of the update), which all of them need.
#pragma once

#include <vector>

#include "dense/linpack/panel.hpp"

namespace dense {

/// Columns of one tile column, of this PE.
struct tile_column {
  extent number;
  extent width;
};

/// Where the rows of a panel's tile row come from, and which others get the rows that lay there before.
class row_moves {
 public:
  struct displacement {
    extent row;   ///< this row of the matrix
    extent from;  ///< gets this one of the panel's tile row
  };
  explicit row_moves(const panel& of);
  /// Row first + j becomes what this row was.
  const std::vector<extent>& sources() const { return sources_; }
  const std::vector<displacement>& displaced() const { return displaced_; }

 private:
  std::vector<extent> sources_;
  std::vector<displacement> displaced_;
};

/// Exchanges rows in these columns, and returns the rows of the panel's tile row after its elimination, tile by tile,
/// each with the width of its columns; they are also in the matrix. Collective over the PEs of a column of the grid.
/// `u` is memory that is used again from panel to panel.
void exchange_rows(const matrix& a, const grid_place& place, const panel& of, const row_moves& moves,
                   const std::vector<tile_column>& columns, std::vector<double>& u);

}  // namespace dense
