// See spectral.hpp.
#include "grids/spectral.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <stdexcept>

namespace kernels {
namespace {

using complex = std::complex<double>;

// Products as written, so that the compiler does not check for infinite factors.
complex times(const complex& a, const complex& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// In place, by halving distances: first the bits of all indices are reversed. `roots`: of the whole length.
void transform(complex* row, std::size_t length, const std::vector<complex>& roots, bool back) {
  const int bits = std::countr_zero(length);
  for (std::size_t index = 0; index < length; ++index) {
    std::size_t reversed = 0;
    for (int bit = 0; bit < bits; ++bit) reversed |= (index >> bit & 1) << (bits - 1 - bit);
    if (index < reversed) std::swap(row[index], row[reversed]);
  }
  for (std::size_t half = 1; half < length; half *= 2) {
    const std::size_t stride = length / (2 * half);
    for (std::size_t begin = 0; begin < length; begin += 2 * half) {
      for (std::size_t k = 0; k < half; ++k) {
        const complex root = back ? std::conj(roots[k * stride]) : roots[k * stride];
        const complex odd = times(row[begin + half + k], root);
        row[begin + half + k] = row[begin + k] - odd;
        row[begin + k] += odd;
      }
    }
  }
}

constexpr std::size_t tile = 16;

}  // namespace

spectral::spectral(const spectral_size& size) : size_(size) {
  if (size.side < 1 || !std::has_single_bit(static_cast<unsigned>(size.side)) || size.steps < 0) {
    throw std::invalid_argument(
        fmt::format("spectral: {} points along a side and {} steps; points must be a power of two, such as {}, steps "
                    "not negative",
                    size.side, size.steps, std::bit_ceil(static_cast<unsigned>(std::clamp(size.side, 2, 1 << 20)))));
  }
  for (std::size_t k = 0; k < side(); ++k) {
    const double angle = -2.0 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(side());
    roots_.emplace_back(std::cos(angle), std::sin(angle));
  }
  other_.resize(side() * side());
  reset();
}

std::string spectral::problem() const {
  return fmt::format("Fourier transform of {} x {} points and back, {} steps", size_.side, size_.side, size_.steps);
}

complex spectral::first_value(std::size_t row, std::size_t column) const {
  return {std::sin(0.37 * static_cast<double>(row * 3 + column)), 0.01 * static_cast<double>((row ^ column) % 17)};
}

double spectral::kept(std::size_t row, std::size_t column) const {
  const auto frequency = [&](std::size_t index) { return static_cast<double>(std::min(index, side() - index)); };
  return 1.0 / (1.0 + 0.01 * (frequency(row) + frequency(column)));
}

void spectral::reset() {
  field_.resize(side() * side());
  for (std::size_t row = 0; row < side(); ++row)
    for (std::size_t column = 0; column < side(); ++column) field_[row * side() + column] = first_value(row, column);
}

void spectral::transform_rows(method& how, std::size_t loop, bool back) {
  tri::parallel_for(
      side(), [&](std::size_t row) { transform(field_.data() + row * side(), side(), roots_, back); }, how.loop(loop));
}

void spectral::transpose(method& how, std::size_t loop) {
  const std::size_t tiles = (side() + tile - 1) / tile;
  tri::parallel_for(
      tiles * tiles,
      [&](std::size_t number) {
        const std::size_t first_row = number / tiles * tile, first_column = number % tiles * tile;
        for (std::size_t row = first_row; row < std::min(first_row + tile, side()); ++row)
          for (std::size_t column = first_column; column < std::min(first_column + tile, side()); ++column)
            other_[column * side() + row] = field_[row * side() + column];
      },
      how.loop(loop));
  std::swap(field_, other_);
}

void spectral::run(method& how) {
  const double share = 1.0 / static_cast<double>(side() * side());
  for (int step = 0; step < size_.steps; ++step) {
    transform_rows(how, 0, false);
    transpose(how, 1);
    transform_rows(how, 0, false);
    tri::parallel_for(
        side(),
        [&](std::size_t row) {  // transposed, but the kept part is the same for both orders
          for (std::size_t column = 0; column < side(); ++column)
            field_[row * side() + column] *= kept(row, column) * share;
        },
        how.loop(2));
    transform_rows(how, 0, true);
    transpose(how, 1);
    transform_rows(how, 0, true);
  }
}

std::vector<double> spectral::result() const {
  std::vector<double> numbers;
  for (const complex& each : field_) numbers.insert(numbers.end(), {each.real(), each.imag()});
  return numbers;
}

// Deliberately different code: smoothing in space, column by column and row by row, by the sums of the definition.
void spectral::run_serial() {
  const std::size_t n = side();
  const auto by_definition = [&](std::vector<complex>& values, bool back) {  // along both axes
    for (const bool columns : {false, true}) {
      std::vector<complex> result(n * n);
      for (std::size_t line = 0; line < n; ++line) {
        for (std::size_t k = 0; k < n; ++k) {
          complex sum = 0.0;
          for (std::size_t x = 0; x < n; ++x) {
            const complex root = roots_[k * x % n];
            sum += times(values[columns ? x * n + line : line * n + x], back ? std::conj(root) : root);
          }
          result[columns ? k * n + line : line * n + k] = sum;
        }
      }
      values = std::move(result);
    }
  };
  serial_.resize(n * n);
  for (std::size_t row = 0; row < n; ++row)
    for (std::size_t column = 0; column < n; ++column) serial_[row * n + column] = first_value(row, column);
  // All steps at once: smoothing is a factor for each frequency.
  by_definition(serial_, false);
  for (std::size_t row = 0; row < n; ++row)
    for (std::size_t column = 0; column < n; ++column)
      serial_[row * n + column] *= std::pow(kept(row, column), size_.steps) / static_cast<double>(n * n);
  by_definition(serial_, true);
}

std::vector<finding> spectral::check() {
  double most = 0.0;
  for (std::size_t point = 0; point < field_.size(); ++point)
    most = std::max(most, std::abs(field_[point] - serial_[point]));
  return {{most < 1e-10, fmt::format("largest difference from the sums of the definition {:.2g}", most)}};
}

}  // namespace kernels
