#include "repeat/spread.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "duration.hpp"
#include "schedules/learning/noise_samples.hpp"

namespace tri::tools {

spread spread_of(std::span<const double> times) {
  spread result;
  result.count = times.size();
  if (times.empty()) return result;
  const schedules::sample_summary summary = schedules::summary_of(times);
  result.mean = summary.mean;
  result.median = summary.median;
  result.least = summary.least;
  result.largest = summary.largest;
  if (times.size() < 2 || !(result.mean > 0.0)) return result;
  double squares = 0.0;
  for (const double each : times) squares += (each - result.mean) * (each - result.mean);
  result.deviation = std::sqrt(squares / static_cast<double>(times.size() - 1)) / result.mean;
  return result;
}

std::string histogram_text(std::span<const double> times, double width) {
  constexpr double most_bins = 100'000;
  constexpr double longest_bar = 50;
  if (!(width > 0.0) || !std::isfinite(width))
    throw std::invalid_argument(fmt::format("the width of a bin is {}; it must be above 0", width));
  if (times.empty()) return {};
  const double largest = *std::max_element(times.begin(), times.end());
  if (largest / width > most_bins) {
    throw std::invalid_argument(fmt::format("bins of {} for times up to {} would be more than {:.0f}; take longer ones",
                                            format_duration(width), format_duration(largest), most_bins));
  }
  const std::vector<std::uint64_t> counts =
      schedules::histogram_of(times, width, static_cast<std::size_t>(most_bins) + 1);
  const double most = static_cast<double>(*std::max_element(counts.begin(), counts.end()));
  const auto first = std::find_if(counts.begin(), counts.end(), [](std::uint64_t count) { return count > 0; });
  std::string text = fmt::format("{:>12} {:>8}\n", "from", "count");
  std::size_t empty = 0;
  for (auto bin = static_cast<std::size_t>(first - counts.begin()); bin < counts.size(); ++bin) {
    const auto line = [&](std::size_t number, std::uint64_t count) {
      const double share = count == 0 ? 0.0 : std::log1p(static_cast<double>(count)) / std::log1p(most);
      const auto length = static_cast<std::size_t>(std::ceil(share * longest_bar));
      return fmt::format("{:>12} {:>8}{}{}\n", format_duration(static_cast<double>(number) * width), count,
                         length > 0 ? " " : "", std::string(length, '#'));
    };
    if (counts[bin] == 0) {
      ++empty;
      continue;
    }
    if (empty > 3) {
      text += fmt::format("{:>12}\n", "...");
    } else {
      for (std::size_t before = bin - empty; before < bin; ++before) text += line(before, 0);
    }
    empty = 0;
    text += line(bin, counts[bin]);
  }
  return text;
}

}  // namespace tri::tools
