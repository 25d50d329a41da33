// The steps of an LU factorization with partial pivoting, cut into tiles: panel k finds the pivots of block column k;
// apply (k, j) swaps the rows of block column j accordingly and finds its part of U; update (k, i, j) subtracts
// L(i, k) U(k, j) from tile (i, j). In place, column-major, in the layout of LAPACK's dgetrf. A tile is always the same
// arithmetic in the same order, so every order of the steps that respects the dependencies gives the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lu/block_multiply.hpp"

namespace kernels {

class tiled_lu {
 public:
  /// Throws std::invalid_argument when size or tile is 0.
  tiled_lu(std::size_t size, std::size_t tile);
  /// A matrix to begin with; uniform numbers in [-0.5, 0.5), the same for the same seed anywhere.
  void fill(std::uint64_t seed);
  void assign(const std::vector<double>& matrix);

  std::size_t size() const { return size_; }
  std::size_t tile() const { return tile_; }
  std::size_t tiles() const { return (size_ + tile_ - 1) / tile_; }  ///< along a side
  double operations() const;

  void panel(std::size_t step);
  void apply(std::size_t step, std::size_t column);
  void update(std::size_t step, std::size_t row, std::size_t column);
  /// After everything else, for every block column: the swaps of later panels.
  void swap_left(std::size_t column);

  const std::vector<double>& matrix() const { return values_; }
  const std::vector<std::size_t>& pivots() const { return pivots_; }  ///< row that row i was swapped with, from 0

 private:
  std::size_t begin_of(std::size_t tile_number) const { return tile_number * tile_; }
  std::size_t length_of(std::size_t tile_number) const;
  block whole();
  void swap_rows(std::size_t first_pivot, std::size_t last_pivot, const block& columns);
  void factor(const block& tall, std::size_t first_row);

  std::size_t size_;
  std::size_t tile_;
  std::vector<double> values_;
  std::vector<std::size_t> pivots_;
};

/// All steps in their natural order, in the calling thread.
void factor_serially(tiled_lu& lu);

/// How far P A is from L U, by the largest row sum of |A|: the largest element of (P A - L U) v over `vectors` random
/// vectors v of 1 and -1; with 0 vectors, the largest row sum of |P A - L U|.
double factorization_error(const std::vector<double>& original, const tiled_lu& lu, int vectors);

}  // namespace kernels
