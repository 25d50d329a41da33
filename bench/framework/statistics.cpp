#include "framework/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace tri::bench {

double quantile(const std::vector<double>& sorted_samples, double fraction) {
  if (sorted_samples.empty()) throw std::invalid_argument("quantile of no samples");
  if (!(fraction >= 0 && fraction <= 1)) {
    throw std::invalid_argument(fmt::format("quantile {} is outside 0..1", fraction));
  }
  const double position = fraction * static_cast<double>(sorted_samples.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const auto above = std::min(below + 1, sorted_samples.size() - 1);
  return std::lerp(sorted_samples[below], sorted_samples[above], position - static_cast<double>(below));
}

summary summarize(std::vector<double> samples) {
  for (double sample : samples) {
    if (!std::isfinite(sample)) throw std::invalid_argument(fmt::format("sample {} is not a finite number", sample));
  }
  std::sort(samples.begin(), samples.end());
  return {quantile(samples, 0.5), quantile(samples, 0.1), quantile(samples, 0.9), samples.size()};
}

}  // namespace tri::bench
