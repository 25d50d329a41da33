// A sparse symmetric positive definite matrix in compressed rows whose rows are of very different length, as those of a
// network with a few hubs: row i has about shortest * (rows / (i + 1))^0.6 entries, so contiguous blocks of rows are
// far from equal work.
#pragma once

#include <cstdint>
#include <vector>

namespace kernels {

struct sparse_matrix {
  std::vector<std::uint32_t> row_begin;  ///< rows + 1
  std::vector<std::uint32_t> column;
  std::vector<double> value;

  std::uint32_t rows() const { return static_cast<std::uint32_t>(row_begin.size()) - 1; }
  std::uint32_t row_entries(std::uint32_t row) const { return row_begin[row + 1] - row_begin[row]; }
};

/// The same for the same seed anywhere.
sparse_matrix network_matrix(std::uint32_t rows, std::uint32_t shortest, std::uint64_t seed);

}  // namespace kernels
