// The work of the suite's loops, compiled once, so that every runtime executes the same instructions: a chain of
// dependent multiplications and additions for iterations of a known length, and rows of a five-point stencil. Pure
// functions and plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tri::bench {

// `steps` multiplications and additions, each waiting for the one before: no memory, no vectors.
void work_steps(std::uint32_t steps);

// Steps that fill a microsecond on this machine, from the fastest of several attempts.
double steps_per_microsecond();

enum class cost_shape : std::uint8_t { uniform, linear, heavy_tail };

// The steps of each iteration; their mean is `mean_steps` whatever the shape. linear: from 0 to twice the mean;
// heavy_tail: Pareto with exponent 1.3, cut at 2,000 times the mean, the same for every call.
std::vector<std::uint32_t> make_costs(cost_shape shape, std::size_t iterations, double mean_steps);

inline constexpr std::size_t sweep_columns = 512;

// Two arrays of rows that a sweep reads and writes in turns. A loop over rows() runs one sweep.
class sweep_field {
 public:
  explicit sweep_field(std::size_t bytes);
  int rows() const { return static_cast<int>(rows_) - 2; }  // inner ones
  void swap() { reading_ = 1 - reading_; }
  const double* from() const { return fields_[reading_].data(); }
  double* to() { return fields_[1 - reading_].data(); }

 private:
  std::size_t rows_;
  std::vector<double> fields_[2];
  std::size_t reading_ = 0;
};

// Inner row `row` of the sweep: each value becomes the mean of itself and its four neighbours.
void sweep_row(const double* from, double* to, int row);

}  // namespace tri::bench
