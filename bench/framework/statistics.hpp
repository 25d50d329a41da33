// The estimator of every benchmark: median with 10th and 90th percentile over many short batches. The median of short
// batches moves little when other programs take the core now and then; a mean would not. Pure functions.
#pragma once

#include <cstddef>
#include <vector>

namespace tri::bench {

struct summary {
  double median = 0;
  double p10 = 0;
  double p90 = 0;
  std::size_t batches = 0;
};

// The value below which the share `fraction` (0 to 1) of the sorted samples is, interpolated between neighbours. Throws
// std::invalid_argument for no samples or a fraction outside 0..1.
double quantile(const std::vector<double>& sorted_samples, double fraction);

// Throws std::invalid_argument for no samples or a sample that is not a finite number.
summary summarize(std::vector<double> samples);

}  // namespace tri::bench
