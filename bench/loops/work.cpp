#include "loops/work.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "loops/competitor.hpp"
#include "os/clock.hpp"

namespace tri::bench {

std::uint64_t iterations_of(kernel which) {
  switch (which) {
    case kernel::one:
      return 1;
    case kernel::pair:
    case kernel::cold_pair:
      return 2;
    case kernel::empty:
      return 50'000;
    case kernel::small:
      return 200;
    case kernel::uniform:
    case kernel::linear:
    case kernel::heavy_tail:
      return 10'000;
    case kernel::concurrent:
      return 1'000;
    case kernel::sweep_l2:
    case kernel::sweep_l3:
    case kernel::sweep_dram:
    case kernel::coarse_grids:
    case kernel::barrier_steps:
    case kernel::sparse_rows:
    case kernel::sorted_graph:
      return 0;  // as many as the data have rows, points or vertices
  }
  return 0;
}

[[gnu::noinline]] void work_steps(std::uint32_t steps) {
  std::uint64_t value = steps | 1;
  for (std::uint32_t step = 0; step < steps; ++step) {
    value = value * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(value));  // one step after the other, and none left out
  }
}

double steps_per_microsecond() {
  constexpr std::uint32_t steps = 100'000;
  double least_ns = std::numeric_limits<double>::max();
  for (int attempt = 0; attempt < 30; ++attempt) {
    const std::int64_t start_ns = os::now_ns();
    work_steps(steps);
    least_ns = std::min(least_ns, static_cast<double>(os::now_ns() - start_ns));
  }
  return steps * 1000.0 / least_ns;
}

std::vector<std::uint32_t> make_costs(cost_shape shape, std::size_t iterations, double mean_steps) {
  std::vector<double> costs(iterations, 1.0);
  if (shape == cost_shape::linear) {
    for (std::size_t i = 0; i < iterations; ++i) costs[i] = static_cast<double>(i) + 0.5;
  } else if (shape == cost_shape::heavy_tail) {
    constexpr double exponent = 1.3;
    constexpr double mean = exponent / (exponent - 1);  // of the uncut distribution that begins at 1
    std::uint64_t state = 42;
    for (double& cost : costs) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      const double uniform = (static_cast<double>(state >> 11) + 0.5) * 0x1p-53;
      cost = std::min(std::pow(uniform, -1.0 / exponent), 2000 * mean);
    }
  }
  const double scale = mean_steps * static_cast<double>(iterations) / std::accumulate(costs.begin(), costs.end(), 0.0);
  std::vector<std::uint32_t> steps(iterations);
  std::transform(costs.begin(), costs.end(), steps.begin(),
                 [scale](double cost) { return static_cast<std::uint32_t>(std::lround(cost * scale)); });
  return steps;
}

sweep_field::sweep_field(std::size_t bytes) : rows_(bytes / 2 / sizeof(double) / sweep_columns) {
  for (auto& field : fields_) {
    field.resize(rows_ * sweep_columns);
    for (std::size_t i = 0; i < field.size(); ++i) field[i] = static_cast<double>(i % 97);
  }
}

[[gnu::noinline]] void sweep_row(const double* from, double* to, int row) {
  const std::size_t begin = static_cast<std::size_t>(row + 1) * sweep_columns;
  const double* const above = from + begin - sweep_columns;
  const double* const here = from + begin;
  const double* const below = from + begin + sweep_columns;
  double* __restrict__ const out = to + begin;
  for (std::size_t column = 1; column + 1 < sweep_columns; ++column) {
    out[column] = 0.2 * (here[column] + here[column - 1] + here[column + 1] + above[column] + below[column]);
  }
}

}  // namespace tri::bench
