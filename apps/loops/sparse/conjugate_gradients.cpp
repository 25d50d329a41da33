// See conjugate_gradients.hpp.
#include "sparse/conjugate_gradients.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>

#include "loops/random_numbers.hpp"

namespace kernels {
namespace {

enum loop_number : std::size_t { multiply, direction_by_product, update, residual_by_residual, next_direction };

// The order of a reproducible parallel_reduce, written down once more: 1024 blocks that differ by at most one, each
// summed from its front, then the blocks in their order.
template <class Value>
double sum_in_blocks(std::size_t count, const Value& value) {
  const std::size_t blocks = std::min<std::size_t>(count, 1024);
  double all = 0.0;
  std::size_t next = 0;
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::size_t last = next + count / blocks + (block < count % blocks ? 1 : 0);
    double sum = value(next);
    while (++next < last) sum += value(next);
    all += sum;
  }
  return all;
}

}  // namespace

conjugate_gradients::conjugate_gradients(const conjugate_gradients_size& size) : size_(size) {
  if (size.rows < 2 || size.shortest_row < 1 || size.steps < 0) {
    throw std::invalid_argument(
        fmt::format("cg: {} rows of at least {} entries, {} steps; it must be at least 2 rows, 1 entry, steps not "
                    "negative",
                    size.rows, size.shortest_row, size.steps));
  }
  const auto rows = static_cast<std::uint32_t>(size.rows);
  matrix_ = network_matrix(rows, static_cast<std::uint32_t>(size.shortest_row), 1);
  tri::loops::random_numbers random(2);
  for (std::uint32_t row = 0; row < rows; ++row) right_side_.push_back(random.fraction() - 0.5);
  reset();
}

std::string conjugate_gradients::problem() const {
  std::uint32_t longest = 0;
  for (std::uint32_t row = 0; row < matrix_.rows(); ++row) longest = std::max(longest, matrix_.row_entries(row));
  return fmt::format("conjugate gradients, {} rows with 2 to {} entries, {} in all, {} steps", size_.rows, longest,
                     matrix_.value.size(), size_.steps);
}

void conjugate_gradients::reset() {
  solution_.assign(right_side_.size(), 0.0);
  residual_ = right_side_;
  direction_ = right_side_;
  product_.assign(right_side_.size(), 0.0);
  lengths_.clear();
}

void conjugate_gradients::run(method& how) {
  const std::uint32_t rows = matrix_.rows();
  const auto dot = [&](const std::vector<double>& a, const std::vector<double>& b, loop_number number) {
    return tri::parallel_reduce(
        rows, 0.0, [&](std::uint32_t row) { return a[row] * b[row]; }, std::plus<>(), how.loop(number),
        tri::combination_order::reproducible);
  };
  double length = dot(residual_, residual_, residual_by_residual);
  for (int step = 0; step < size_.steps; ++step) {
    tri::parallel_for(
        rows,
        [&](std::uint32_t row) {
          double sum = 0.0;
          for (std::uint32_t entry = matrix_.row_begin[row]; entry < matrix_.row_begin[row + 1]; ++entry) {
            sum += matrix_.value[entry] * direction_[matrix_.column[entry]];
          }
          product_[row] = sum;
        },
        how.loop(multiply));
    const double along = length / dot(direction_, product_, direction_by_product);
    tri::parallel_for(
        rows,
        [&](std::uint32_t row) {
          solution_[row] += along * direction_[row];
          residual_[row] -= along * product_[row];
        },
        how.loop(update));
    const double before = length;
    length = dot(residual_, residual_, residual_by_residual);
    const double keep = length / before;
    tri::parallel_for(
        rows, [&](std::uint32_t row) { direction_[row] = residual_[row] + keep * direction_[row]; },
        how.loop(next_direction));
    lengths_.push_back(length);
  }
}

std::vector<double> conjugate_gradients::result() const {
  std::vector<double> all = solution_;
  all.insert(all.end(), lengths_.begin(), lengths_.end());
  return all;
}

void conjugate_gradients::run_serial() {
  const std::size_t rows = right_side_.size();
  std::vector<double> x(rows, 0.0);
  std::vector<double> r = right_side_;
  std::vector<double> p = right_side_;
  std::vector<double> ap(rows);
  std::vector<double> lengths;
  double rr = sum_in_blocks(rows, [&](std::size_t row) { return r[row] * r[row]; });
  for (int step = 0; step < size_.steps; ++step) {
    std::fill(ap.begin(), ap.end(), 0.0);
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t entry = matrix_.row_begin[row]; entry < matrix_.row_begin[row + 1]; ++entry)
        ap[row] += matrix_.value[entry] * p[matrix_.column[entry]];
    const double alpha = rr / sum_in_blocks(rows, [&](std::size_t row) { return p[row] * ap[row]; });
    for (std::size_t row = 0; row < rows; ++row) x[row] += alpha * p[row];
    for (std::size_t row = 0; row < rows; ++row) r[row] -= alpha * ap[row];
    const double fresh = sum_in_blocks(rows, [&](std::size_t row) { return r[row] * r[row]; });
    for (std::size_t row = 0; row < rows; ++row) p[row] = r[row] + fresh / rr * p[row];
    rr = fresh;
    lengths.push_back(rr);
  }
  serial_ = x;
  serial_.insert(serial_.end(), lengths.begin(), lengths.end());
}

std::vector<finding> conjugate_gradients::check() {
  const std::vector<double> found = result();
  std::size_t different = found.size() == serial_.size() ? 0 : found.size();
  for (std::size_t place = 0; different == 0 && place < found.size(); ++place) {
    different = found[place] != serial_[place] ? 1 : 0;
  }
  // The residual of the recurrence must match that of the solution.
  long double apart = 0.0L;
  long double start = 0.0L;
  for (std::uint32_t row = 0; row < matrix_.rows(); ++row) {
    long double rest = right_side_[row];
    for (std::uint32_t entry = matrix_.row_begin[row]; entry < matrix_.row_begin[row + 1]; ++entry) {
      rest -= static_cast<long double>(matrix_.value[entry]) * solution_[matrix_.column[entry]];
    }
    apart += (rest - residual_[row]) * (rest - residual_[row]);
    start += static_cast<long double>(right_side_[row]) * right_side_[row];
  }
  const auto error = static_cast<double>(std::sqrt(apart / start));
  const double reduction = lengths_.empty() ? 1.0 : std::sqrt(lengths_.back() / static_cast<double>(start));
  return {{different == 0, fmt::format("solution and residuals are {} those of the serial program, bit for bit",
                                       different == 0 ? "equal to" : "not")},
          {error <= 1e-11, fmt::format("true and computed residual differ by {:.1e} of the right side, at most 1e-11; "
                                       "the residual shrank to {:.1e} of it",
                                       error, reduction)}};
}

}  // namespace kernels
