// Conclusions from samples of a fixed quantum about the cores of a machine, and their presentation: table, pictures,
// JSON. Pure functions; times in nanoseconds.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "schedules/learning/noise_samples.hpp"

namespace tri::tools {

struct noise_settings {
  double bin = schedules::usual_bin;
  double region_time = 1e6;  ///< of the loop that is planned for
  double percent = 99.9;     ///< the percentile that the suggested delay is
  double slow_factor = 1.05;
};

struct core_noise {
  int core = 0;
  std::uint64_t samples = 0;
  schedules::sample_summary summary;
  /// The undisturbed time of a quantum: the 10th percentile. Not the least, because an occasionally faster clock
  /// (turbo) gives a few samples that are not representative.
  double undisturbed = 0.0;
  double percentile_99 = 0.0;
  double percentile = 0.0;   ///< of the settings
  double lost = 0.0;         ///< time beyond the undisturbed one, as a share of that
  std::uint64_t events = 0;  ///< samples a bin or more beyond the median
  double events_per_second = 0.0;
  double weight = 1.0;
  bool slow = false;  ///< all the time
};

/// Samples between two times.
struct noise_bin {
  double begin = 0.0;
  double end = 0.0;
  std::uint64_t count = 0;
  std::vector<std::uint64_t> by_core;
};

struct noise_report {
  noise_settings settings;
  std::vector<core_noise> cores;
  std::vector<noise_bin> bins;  ///< those with samples
  double delay_by_percentile = 0.0;
  double delay_by_extremes = 0.0;
  double delay_in_region = 0.0;
  double dynamic_fraction = 0.0;  ///< equation 4.4 for the region and the percentile
  std::string schedule;           ///< that the figures suggest
};

/// Throws std::invalid_argument when there are no samples or a setting is out of its range.
noise_report report_of(std::span<const schedules::core_samples> cores, const noise_settings& settings);

/// At most `most` bins: the first ones as they are, then wider and wider ones.
std::vector<noise_bin> joined_bins(std::span<const noise_bin> bins, std::size_t most);

std::string table_of(const noise_report& report);
/// The histogram, a bar per bin on a logarithmic scale, with a shade for each core beside it.
std::string picture_of(const noise_report& report);
std::string suggestions_of(const noise_report& report);
std::string to_svg(const noise_report& report);
nlohmann::json to_json(const noise_report& report);

}  // namespace tri::tools
