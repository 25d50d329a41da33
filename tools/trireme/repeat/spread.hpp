// The spread of repeated timings, as numbers and as a histogram. Pure functions.
#pragma once

#include <span>
#include <string>

namespace tri::tools {

struct spread {
  std::size_t count = 0;
  double mean = 0.0;
  double median = 0.0;
  double least = 0.0;
  double largest = 0.0;
  double deviation = 0.0;  ///< of the sample, as part of the mean
};
/// All 0 for no times; the deviation of a single one is 0.
spread spread_of(std::span<const double> times);

/// A line per bin from the first to the last that has a time: its begin, the count, and a bar on a logarithmic scale,
/// so that one in a thousand shows. Runs of more than three empty bins are one line. Times and width in nanoseconds.
/// Throws std::invalid_argument for a width that is not above 0, or so small that there are more than 100,000 bins.
std::string histogram_text(std::span<const double> times, double width);

}  // namespace tri::tools
