#include "schedules/learning/noise_samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <stdexcept>

namespace tri::schedules {
namespace {

std::vector<double> sorted(std::span<const double> samples) {
  std::vector<double> result(samples.begin(), samples.end());
  std::sort(result.begin(), result.end());
  return result;
}

double median_of_sorted(const std::vector<double>& values) {
  if (values.empty()) return 0.0;
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double in_us(double nanoseconds) { return nanoseconds / 1000.0; }

std::size_t bin_of(double sample, double width, std::size_t most_bins) {
  const double bin = std::floor(std::max(sample, 0.0) / width);
  return bin < static_cast<double>(most_bins - 1) ? static_cast<std::size_t>(bin) : most_bins - 1;
}

void check_width(double width, std::size_t most_bins) {
  if (!(width > 0.0))
    throw std::invalid_argument(fmt::format("histogram: the bins are {} wide; it must be above 0", width));
  if (most_bins == 0) throw std::invalid_argument("histogram: there are 0 bins; at least 1 is needed");
}

}  // namespace

core_samples record_quanta(int core, std::uint32_t count, const std::function<void()>& quantum,
                           const clock_function& now) {
  core_samples result{core, {}};
  result.times.resize(count);  // touched before, so that no page fault falls into a sample
  double before = now();
  for (double& time : result.times) {
    quantum();
    const double after = now();
    time = after - before;
    before = after;
  }
  return result;
}

sample_summary summary_of(std::span<const double> samples) {
  if (samples.empty()) return {};
  const std::vector<double> in_order = sorted(samples);
  // A mean of equal samples can be rounded past them.
  const double mean = std::accumulate(in_order.begin(), in_order.end(), 0.0) / static_cast<double>(in_order.size());
  return {in_order.front(), std::clamp(mean, in_order.front(), in_order.back()), median_of_sorted(in_order),
          in_order.back()};
}

double percentile(std::span<const double> samples, double percent) {
  if (samples.empty()) throw std::invalid_argument("percentile: there are no samples");
  if (!(percent >= 0.0 && percent <= 100.0)) {
    throw std::invalid_argument(
        fmt::format("percentile: {} is not a percentage; it must lie between 0 and 100", percent));
  }
  const std::vector<double> in_order = sorted(samples);
  // The product may come out a little too large: 99.9 % of 1000 is sample 999.
  const double rank = std::ceil(percent * static_cast<double>(in_order.size()) / 100.0 - 1e-9);
  return in_order[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

std::vector<std::uint64_t> histogram_of(std::span<const double> samples, double width, std::size_t most_bins) {
  check_width(width, most_bins);
  std::vector<std::uint64_t> counts;
  for (const double sample : samples) {
    const std::size_t bin = bin_of(sample, width, most_bins);
    if (bin >= counts.size()) counts.resize(bin + 1);
    ++counts[bin];
  }
  return counts;
}

double delay_by_extremes(std::span<const double> samples) {
  const sample_summary summary = summary_of(samples);
  return summary.largest - summary.least;
}

double delay_by_percentile(std::span<const double> samples, double percent) {
  return percentile(samples, percent) - summary_of(samples).least;
}

double delay_in_region(std::span<const double> samples, double threshold, double region_time) {
  if (samples.empty()) return 0.0;
  const double undisturbed = percentile(samples, 10.0);
  double excess = 0.0;
  double recorded = 0.0;
  for (const double sample : samples) {
    recorded += sample;
    if (sample - undisturbed > threshold) excess += sample - undisturbed;
  }
  return recorded > 0.0 ? excess / recorded * region_time : 0.0;
}

std::string summary_csv(std::span<const core_samples> cores) {
  std::string text = "core,samples,min_us,mean_us,max_us\n";
  for (const core_samples& core : cores) {
    const sample_summary summary = summary_of(core.times);
    text += fmt::format("{},{},{:.3f},{:.3f},{:.3f}\n", core.core, core.times.size(), in_us(summary.least),
                        in_us(summary.mean), in_us(summary.largest));
  }
  return text;
}

std::string histogram_csv(std::span<const core_samples> cores, double width) {
  check_width(width, 1);
  std::map<std::size_t, std::vector<std::uint64_t>> bins;
  for (std::size_t index = 0; index < cores.size(); ++index) {
    for (const double sample : cores[index].times) {
      std::vector<std::uint64_t>& counts = bins[bin_of(sample, width, std::size_t{1} << 40)];
      counts.resize(cores.size());
      ++counts[index];
    }
  }
  std::string text = "bin_begin_us";
  for (const core_samples& core : cores) text += fmt::format(",{}", core.core);
  text += '\n';
  for (const auto& [bin, counts] : bins) {
    text += fmt::format("{},{}\n", in_us(static_cast<double>(bin) * width), fmt::join(counts, ","));
  }
  return text;
}

std::string samples_csv(std::span<const core_samples> cores) {
  std::string text = "core,index,us\n";
  for (const core_samples& core : cores) {
    for (std::size_t index = 0; index < core.times.size(); ++index) {
      text += fmt::format("{},{},{:.3f}\n", core.core, index, in_us(core.times[index]));
    }
  }
  return text;
}

std::vector<int> slow_cores(std::span<const core_samples> cores, double factor) {
  std::vector<double> medians;
  for (const core_samples& core : cores) medians.push_back(summary_of(core.times).median);
  const double usual = median_of_sorted(sorted(medians));
  std::vector<int> slow;
  for (std::size_t index = 0; index < cores.size(); ++index) {
    if (medians[index] > factor * usual) slow.push_back(cores[index].core);
  }
  return slow;
}

}  // namespace tri::schedules
