// The loops of block_multiply, written once for any vector length. A and B are copied into slivers of the height and
// width of the innermost kernel, which keeps its part of C in registers (the structure of Goto and van de Geijn, ACM
// TOMS 34(3), 2008).
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "lu/block_multiply.hpp"

namespace kernels {

/// Lanes of a vector, vectors along a sliver of A, columns of a sliver of B.
template <std::size_t Lanes, std::size_t Vectors, std::size_t Columns>
class block_multiplier {
 public:
  static void run(const block& c, const block& a, const block& b) {
    thread_local std::vector<double> a_slivers;
    thread_local std::vector<double> b_slivers;
    const std::size_t depth = a.columns;
    if (depth == 0 || c.rows == 0 || c.columns == 0) return;
    pack_columns(b, b_slivers);
    for (std::size_t row = 0; row < c.rows; row += row_block) {
      const std::size_t rows = std::min(row_block, c.rows - row);
      pack_rows(a.part(row, 0, rows, depth), a_slivers);
      for (std::size_t column = 0; column < c.columns; column += Columns) {
        for (std::size_t inner = 0; inner < rows; inner += height) {
          const block target =
              c.part(row + inner, column, std::min(height, rows - inner), std::min(Columns, c.columns - column));
          multiply_sliver(target, depth, a_slivers.data() + inner * depth, b_slivers.data() + column * depth);
        }
      }
    }
  }

 private:
  static constexpr std::size_t height = Lanes * Vectors;
  static constexpr std::size_t row_block = height * 10;  // a packed block of A stays in the cache of the core
  typedef double lanes __attribute__((vector_size(Lanes * sizeof(double))));

  // Beyond the last row or column there are zeros, so that the kernel needs no other version for the rim.
  static void pack_rows(const block& a, std::vector<double>& out) {
    out.resize((a.rows + height - 1) / height * height * a.columns);
    double* to = out.data();
    for (std::size_t row = 0; row < a.rows; row += height) {
      const std::size_t rows = std::min(height, a.rows - row);
      for (std::size_t column = 0; column < a.columns; ++column, to += height) {
        const double* const from = &a.at(row, column);
        if (rows == height) {
          std::memcpy(to, from, height * sizeof(double));
        } else {
          std::copy(from, from + rows, to);
          std::fill(to + rows, to + height, 0.0);
        }
      }
    }
  }
  static void pack_columns(const block& b, std::vector<double>& out) {
    out.resize((b.columns + Columns - 1) / Columns * Columns * b.rows);
    double* to = out.data();
    for (std::size_t column = 0; column < b.columns; column += Columns) {
      const std::size_t columns = std::min(Columns, b.columns - column);
      for (std::size_t row = 0; row < b.rows; ++row, to += Columns) {
        for (std::size_t inner = 0; inner < Columns; ++inner)
          to[inner] = inner < columns ? b.at(row, column + inner) : 0.0;
      }
    }
  }
  static void multiply_sliver(const block& c, std::size_t depth, const double* a, const double* b) {
    lanes sum[Columns][Vectors] = {};
    for (std::size_t step = 0; step < depth; ++step, a += height, b += Columns) {
      lanes left[Vectors];
#pragma GCC unroll 8
      for (std::size_t vector = 0; vector < Vectors; ++vector) {
        std::memcpy(&left[vector], a + vector * Lanes, sizeof(lanes));
      }
#pragma GCC unroll 8
      for (std::size_t column = 0; column < Columns; ++column) {
#pragma GCC unroll 8
        for (std::size_t vector = 0; vector < Vectors; ++vector) sum[column][vector] += left[vector] * b[column];
      }
    }
    if (c.rows == height && c.columns == Columns) {
#pragma GCC unroll 8
      for (std::size_t column = 0; column < Columns; ++column) {
#pragma GCC unroll 8
        for (std::size_t vector = 0; vector < Vectors; ++vector) {
          double* const to = &c.at(vector * Lanes, column);
          lanes old;
          std::memcpy(&old, to, sizeof old);
          old -= sum[column][vector];
          std::memcpy(to, &old, sizeof old);
        }
      }
      return;
    }
    double whole[Columns * height];
    std::memcpy(whole, sum, sizeof whole);
    for (std::size_t column = 0; column < c.columns; ++column) {
      for (std::size_t row = 0; row < c.rows; ++row) c.at(row, column) -= whole[column * height + row];
    }
  }
};

}  // namespace kernels
