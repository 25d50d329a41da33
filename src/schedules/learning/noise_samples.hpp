// What disturbs the cores: a fixed quantum of work is run again and again, and how long it took each time is looked at.
// Method and histogram after V. Kale, PhD dissertation, Illinois 2015, chapter 3; the robust estimators of the delay
// are ours, because the difference of extremes is decided by one accident. Times in nanoseconds.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace tri::schedules {

/// Now, in nanoseconds; never runs backwards.
using clock_function = std::function<double()>;

struct core_samples {
  int core = 0;
  std::vector<double> times;
};

/// Runs the quantum `count` times in the calling thread, which the caller has bound to the core.
core_samples record_quanta(int core, std::uint32_t count, const std::function<void()>& quantum,
                           const clock_function& now);

struct sample_summary {
  double least = 0.0;
  double mean = 0.0;
  double median = 0.0;
  double largest = 0.0;
};
/// All 0 when there are no samples.
sample_summary summary_of(std::span<const double> samples);

/// The smallest sample that at least `percent` of all do not exceed. Throws std::invalid_argument for no samples or a
/// percentage outside 0 .. 100.
double percentile(std::span<const double> samples, double percent);

/// Counts by bins [0, width), [width, 2 width), ... as far as there are samples; the last bin has all beyond
/// `most_bins`. Negative samples count as 0.
inline constexpr double usual_bin = 5000.0;  // 5 us
std::vector<std::uint64_t> histogram_of(std::span<const double> samples, double width = usual_bin,
                                        std::size_t most_bins = 20000);

/// The expected length of a noise event, from samples of a quantum.
double delay_by_extremes(std::span<const double> samples);                    ///< largest - least, as in chapter 4
double delay_by_percentile(std::span<const double> samples, double percent);  ///< percentile - least
/// Noise in a region of length `region_time`: what samples took beyond the 10th percentile, where that is above
/// `threshold`, in proportion to the time recorded.
double delay_in_region(std::span<const double> samples, double threshold, double region_time);

/// A line `core,samples,min_us,mean_us,max_us` per core, with a head line.
std::string summary_csv(std::span<const core_samples> cores);
/// A line `bin_begin_us,<core>,<core>,...` per bin that has a sample, with a head line.
std::string histogram_csv(std::span<const core_samples> cores, double width = usual_bin);
/// A line `core,index,us` per sample, with a head line.
std::string samples_csv(std::span<const core_samples> cores);

/// Cores that are slow all the time, not now and then: their median is above `factor` of the median of all medians.
std::vector<int> slow_cores(std::span<const core_samples> cores, double factor = 1.05);

}  // namespace tri::schedules
