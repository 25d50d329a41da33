// See tiled_lu.hpp.
#include "lu/tiled_lu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "loops/random_numbers.hpp"

namespace kernels {
namespace {

constexpr std::size_t narrow = 8;  // columns below which cutting does not pay any more

// B becomes L^-1 B, L being unit lower triangular: halves, so that most of the work is a product.
void solve_lower(const block& l, const block& b) {
  if (l.rows <= narrow) {
    for (std::size_t column = 0; column < b.columns; ++column) {
      for (std::size_t step = 0; step < l.rows; ++step) {
        const double known = b.at(step, column);
        for (std::size_t row = step + 1; row < l.rows; ++row) b.at(row, column) -= l.at(row, step) * known;
      }
    }
    return;
  }
  const std::size_t upper = l.rows / 2;
  const std::size_t lower = l.rows - upper;
  const block top = b.part(0, 0, upper, b.columns);
  const block bottom = b.part(upper, 0, lower, b.columns);
  solve_lower(l.part(0, 0, upper, upper), top);
  chosen_multiply().run(bottom, l.part(upper, 0, lower, upper), top);
  solve_lower(l.part(upper, upper, lower, lower), bottom);
}

}  // namespace

tiled_lu::tiled_lu(std::size_t size, std::size_t tile) : size_(size), tile_(tile) {
  if (size == 0 || tile == 0) {
    throw std::invalid_argument(
        fmt::format("lu: a matrix of {} rows in tiles of {}; both must be at least 1", size, tile));
  }
  values_.assign(size * size, 0.0);
  pivots_.assign(size, 0);
}

void tiled_lu::fill(std::uint64_t seed) {
  tri::loops::random_numbers random(seed);
  for (double& value : values_) value = random.fraction() - 0.5;
}

void tiled_lu::assign(const std::vector<double>& matrix) { values_ = matrix; }

double tiled_lu::operations() const {
  const auto n = static_cast<double>(size_);
  return 2.0 / 3.0 * n * n * n;
}

std::size_t tiled_lu::length_of(std::size_t tile_number) const {
  return std::min(tile_, size_ - begin_of(tile_number));
}

block tiled_lu::whole() { return {values_.data(), size_, size_, size_}; }

void tiled_lu::swap_rows(std::size_t first_pivot, std::size_t last_pivot, const block& columns) {
  for (std::size_t column = 0; column < columns.columns; ++column) {
    for (std::size_t row = first_pivot; row < last_pivot; ++row) {
      std::swap(columns.at(row, column), columns.at(pivots_[row], column));
    }
  }
}

// Columns of a panel from its diagonal down, `first_row` being the row of the whole matrix where they begin. Left half,
// then its effect on the right half, then the right half, whose swaps also reach the left one.
void tiled_lu::factor(const block& tall, std::size_t first_row) {
  if (tall.columns <= narrow) {
    for (std::size_t step = 0; step < tall.columns; ++step) {
      std::size_t pivot = step;
      for (std::size_t row = step + 1; row < tall.rows; ++row) {
        if (std::abs(tall.at(row, step)) > std::abs(tall.at(pivot, step))) pivot = row;
      }
      pivots_[first_row + step] = first_row + pivot;
      if (pivot != step) {
        for (std::size_t column = 0; column < tall.columns; ++column) {
          std::swap(tall.at(step, column), tall.at(pivot, column));
        }
      }
      const double diagonal = tall.at(step, step);
      if (diagonal == 0.0) continue;  // the column is all zeros: singular, L is still unit lower triangular
      for (std::size_t row = step + 1; row < tall.rows; ++row) tall.at(row, step) /= diagonal;
      for (std::size_t column = step + 1; column < tall.columns; ++column) {
        const double known = tall.at(step, column);
        for (std::size_t row = step + 1; row < tall.rows; ++row) tall.at(row, column) -= tall.at(row, step) * known;
      }
    }
    return;
  }
  const std::size_t left = tall.columns / 2;
  const std::size_t right = tall.columns - left;
  const block left_columns = tall.part(0, 0, tall.rows, left);
  const block right_columns = tall.part(0, left, tall.rows, right);
  factor(left_columns, first_row);
  const auto swap = [&](const block& columns, std::size_t first, std::size_t last) {
    for (std::size_t column = 0; column < columns.columns; ++column) {
      for (std::size_t row = first; row < last; ++row) {
        std::swap(columns.at(row, column), columns.at(pivots_[first_row + row] - first_row, column));
      }
    }
  };
  swap(right_columns, 0, left);
  const block top = right_columns.part(0, 0, left, right);
  const block rest = right_columns.part(left, 0, tall.rows - left, right);
  solve_lower(left_columns.part(0, 0, left, left), top);
  chosen_multiply().run(rest, left_columns.part(left, 0, tall.rows - left, left), top);
  factor(rest, first_row + left);
  swap(left_columns, left, left + right);
}

void tiled_lu::panel(std::size_t step) {
  const std::size_t first = begin_of(step);
  factor(whole().part(first, first, size_ - first, length_of(step)), first);
}

void tiled_lu::apply(std::size_t step, std::size_t column) {
  const std::size_t first = begin_of(step);
  const std::size_t length = length_of(step);
  swap_rows(first, first + length, whole().part(0, begin_of(column), size_, length_of(column)));
  solve_lower(whole().part(first, first, length, length),
              whole().part(first, begin_of(column), length, length_of(column)));
}

void tiled_lu::update(std::size_t step, std::size_t row, std::size_t column) {
  const block all = whole();
  chosen_multiply().run(all.part(begin_of(row), begin_of(column), length_of(row), length_of(column)),
                        all.part(begin_of(row), begin_of(step), length_of(row), length_of(step)),
                        all.part(begin_of(step), begin_of(column), length_of(step), length_of(column)));
}

void tiled_lu::swap_left(std::size_t column) {
  swap_rows(begin_of(column) + length_of(column), size_, whole().part(0, begin_of(column), size_, length_of(column)));
}

void factor_serially(tiled_lu& lu) {
  const std::size_t tiles = lu.tiles();
  for (std::size_t step = 0; step < tiles; ++step) {
    lu.panel(step);
    for (std::size_t column = step + 1; column < tiles; ++column) lu.apply(step, column);
    for (std::size_t column = step + 1; column < tiles; ++column) {
      for (std::size_t row = step + 1; row < tiles; ++row) lu.update(step, row, column);
    }
  }
  for (std::size_t column = 0; column < tiles; ++column) lu.swap_left(column);
}

double factorization_error(const std::vector<double>& original, const tiled_lu& lu, int vectors) {
  const std::size_t size = lu.size();
  const std::vector<double>& factors = lu.matrix();
  std::vector<double> permuted = original;
  for (std::size_t row = 0; row < size; ++row) {
    for (std::size_t column = 0; column < size; ++column) {
      std::swap(permuted[column * size + row], permuted[column * size + lu.pivots()[row]]);
    }
  }
  std::vector<double> row_sums(size, 0.0);
  for (std::size_t place = 0; place < original.size(); ++place) row_sums[place % size] += std::abs(original[place]);
  tri::loops::random_numbers random(3);
  std::vector<double> by(size);
  std::vector<double> errors(size, 0.0);
  const auto add_product = [&](auto&& combine) {
    std::vector<double> wanted(size, 0.0);
    std::vector<double> after_upper(size, 0.0);
    for (std::size_t column = 0; column < size; ++column) {
      for (std::size_t row = 0; row < size; ++row) wanted[row] += permuted[column * size + row] * by[column];
      for (std::size_t row = 0; row <= column; ++row) after_upper[row] += factors[column * size + row] * by[column];
    }
    std::vector<double> found = after_upper;
    for (std::size_t column = 0; column < size; ++column) {
      for (std::size_t row = column + 1; row < size; ++row) {
        found[row] += factors[column * size + row] * after_upper[column];
      }
    }
    for (std::size_t row = 0; row < size; ++row) combine(errors[row], std::abs(found[row] - wanted[row]));
  };
  for (int trial = 0; trial < vectors; ++trial) {
    for (double& value : by) value = random.fraction() < 0.5 ? -1.0 : 1.0;
    add_product([](double& error, double more) { error = std::max(error, more); });
  }
  for (std::size_t column = 0; vectors == 0 && column < size; ++column) {
    std::fill(by.begin(), by.end(), 0.0);
    by[column] = 1.0;
    add_product([](double& error, double more) { error += more; });
  }
  return *std::max_element(errors.begin(), errors.end()) / *std::max_element(row_sums.begin(), row_sums.end());
}

}  // namespace kernels
