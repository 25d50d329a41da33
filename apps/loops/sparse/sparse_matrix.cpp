// See sparse_matrix.hpp.
#include "sparse/sparse_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "loops/random_numbers.hpp"

namespace kernels {

sparse_matrix network_matrix(std::uint32_t rows, std::uint32_t shortest, std::uint64_t seed) {
  tri::loops::random_numbers random(seed);
  // Half of the wanted entries of each row; each comes back as an entry of the other row.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (std::uint32_t row = 0; row < rows; ++row) {
    const double wanted = 0.5 * shortest * std::pow(static_cast<double>(rows) / (row + 1.0), 0.6);
    const auto count = static_cast<std::uint32_t>(std::min<double>(wanted + 0.5, 0.5 * rows));
    for (std::uint32_t edge = 0; edge < count; ++edge) {
      const auto other = static_cast<std::uint32_t>(random.below(rows));
      if (other == row) continue;
      edges.emplace_back(row, other);
      edges.emplace_back(other, row);
    }
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  sparse_matrix made;
  made.row_begin.push_back(0);
  std::size_t next = 0;
  for (std::uint32_t row = 0; row < rows; ++row) {
    const std::size_t first = next;
    while (next < edges.size() && edges[next].first == row) ++next;
    // Diagonally dominant, hence positive definite.
    const double diagonal = static_cast<double>(next - first) + 0.05;
    bool diagonal_written = false;
    const auto write = [&](std::uint32_t column, double value) {
      made.column.push_back(column);
      made.value.push_back(value);
    };
    for (std::size_t edge = first; edge < next; ++edge) {
      if (!diagonal_written && edges[edge].second > row) {
        write(row, diagonal);
        diagonal_written = true;
      }
      write(edges[edge].second, -1.0);
    }
    if (!diagonal_written) write(row, diagonal);
    made.row_begin.push_back(static_cast<std::uint32_t>(made.column.size()));
  }
  return made;
}

}  // namespace kernels
