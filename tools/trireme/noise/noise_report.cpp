#include "noise/noise_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

#include "duration.hpp"
#include "schedules/learning/model.hpp"
#include "schedules/learning/weights.hpp"

namespace tri::tools {
namespace {

constexpr std::size_t most_rows = 24;
constexpr std::size_t most_shaded_cores = 32;
constexpr std::size_t bar_width = 40;

double us(double nanoseconds) { return nanoseconds / 1e3; }

void check(std::span<const schedules::core_samples> cores, const noise_settings& settings) {
  if (cores.empty()) throw std::invalid_argument("noise: there are no cores");
  for (const schedules::core_samples& each : cores)
    if (each.times.empty()) throw std::invalid_argument(fmt::format("noise: core {} has no samples", each.core));
  if (!(settings.bin > 0.0))
    throw std::invalid_argument(
        fmt::format("noise: bins are {} wide; the width must be above 0", format_duration(settings.bin)));
  if (!(settings.region_time > 0.0))
    throw std::invalid_argument("noise: the loop takes 0 ns; the time must be above 0");
}

core_noise noise_of(const schedules::core_samples& core, const noise_settings& settings) {
  core_noise result;
  result.core = core.core;
  result.samples = core.times.size();
  result.summary = schedules::summary_of(core.times);
  result.undisturbed = schedules::percentile(core.times, 10.0);
  result.percentile_99 = schedules::percentile(core.times, 99.0);
  result.percentile = schedules::percentile(core.times, settings.percent);
  double beyond = 0.0;
  for (const double time : core.times) beyond += std::max(time - result.undisturbed, 0.0);
  if (result.undisturbed > 0.0) result.lost = beyond / (result.undisturbed * static_cast<double>(core.times.size()));
  result.events = static_cast<std::uint64_t>(std::count_if(
      core.times.begin(), core.times.end(), [&](double time) { return time >= result.summary.median + settings.bin; }));
  const double seconds = std::accumulate(core.times.begin(), core.times.end(), 0.0) / 1e9;
  result.events_per_second = seconds > 0.0 ? static_cast<double>(result.events) / seconds : 0.0;
  return result;
}

std::vector<noise_bin> bins_of(std::span<const schedules::core_samples> cores, double width) {
  std::map<double, noise_bin> bins;
  for (std::size_t index = 0; index < cores.size(); ++index) {
    for (const double time : cores[index].times) {
      const double number = std::floor(std::max(time, 0.0) / width);
      noise_bin& bin = bins[number];
      bin.begin = number * width;
      bin.end = (number + 1.0) * width;
      bin.by_core.resize(cores.size());
      ++bin.count;
      ++bin.by_core[index];
    }
  }
  std::vector<noise_bin> result;
  for (auto& [number, bin] : bins) result.push_back(std::move(bin));
  return result;
}

// 0 for none, 1 for one, up to 1 for `most`: one sample among thousands must be seen.
double on_log_scale(std::uint64_t count, std::uint64_t most) {
  if (count == 0) return 0.0;
  return std::log2(static_cast<double>(count) + 1.0) / std::log2(static_cast<double>(most) + 1.0);
}

std::uint64_t highest(std::span<const noise_bin> bins) {
  std::uint64_t most = 0;
  for (const noise_bin& bin : bins) most = std::max(most, bin.count);
  return most;
}

std::vector<int> slow_ones(const noise_report& report) {
  std::vector<int> slow;
  for (const core_noise& each : report.cores)
    if (each.slow) slow.push_back(each.core);
  return slow;
}

}  // namespace

noise_report report_of(std::span<const schedules::core_samples> cores, const noise_settings& settings) {
  check(cores, settings);
  noise_report report;
  report.settings = settings;
  std::vector<double> medians;
  std::vector<double> excess;  // of all cores, each over its own undisturbed time: a slow core is not an event
  const std::vector<int> slow = schedules::slow_cores(cores, settings.slow_factor);
  for (const schedules::core_samples& each : cores) {
    core_noise own = noise_of(each, settings);
    own.slow = std::find(slow.begin(), slow.end(), own.core) != slow.end();
    medians.push_back(own.summary.median);
    for (const double time : each.times) excess.push_back(std::max(time - own.undisturbed, 0.0));
    report.delay_in_region =
        std::max(report.delay_in_region, schedules::delay_in_region(each.times, settings.bin, settings.region_time));
    report.cores.push_back(own);
  }
  const std::vector<double> weights = schedules::weights_of(medians);
  for (std::size_t index = 0; index < weights.size(); ++index) report.cores[index].weight = weights[index];
  report.bins = bins_of(cores, settings.bin);
  report.delay_by_percentile = schedules::percentile(excess, settings.percent);
  report.delay_by_extremes = schedules::delay_by_extremes(excess);
  const auto participants = static_cast<double>(cores.size());
  report.dynamic_fraction = schedules::dynamic_fraction({.iterations = participants,
                                                         .iteration_time = settings.region_time,
                                                         .participants = participants,
                                                         .delay = report.delay_by_percentile});
  const double static_fraction = std::floor((1.0 - report.dynamic_fraction) * 100.0) / 100.0;
  report.schedule = fmt::format("{}staggered,{}", slow.empty() ? "" : "weighted+", static_fraction);
  return report;
}

std::vector<noise_bin> joined_bins(std::span<const noise_bin> bins, std::size_t most) {
  std::vector<noise_bin> result(bins.begin(), bins.end());
  if (result.size() <= most || most < 2) return result;
  // The second half of the rows covers the rest in steps that grow by the same factor.
  const std::size_t kept = most / 2;
  std::vector<noise_bin> rows(result.begin(), result.begin() + static_cast<std::ptrdiff_t>(kept));
  const double begin = result[kept].begin;
  const double end = result.back().end;
  const double factor = std::pow(end / std::max(begin, 1.0), 1.0 / static_cast<double>(most - kept));
  double limit = begin;
  for (std::size_t at = kept; at < result.size();) {
    limit *= factor;
    noise_bin row = result[at++];
    while (at < result.size() && result[at].end <= limit * (1.0 + 1e-9)) {
      row.end = result[at].end;
      row.count += result[at].count;
      for (std::size_t core = 0; core < row.by_core.size(); ++core) row.by_core[core] += result[at].by_core[core];
      ++at;
    }
    limit = std::max(limit, row.end);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string table_of(const noise_report& report) {
  std::string text = fmt::format("{:>5} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7} {:>9} {:>7}\n", "core",
                                 "min us", "p10", "median", "mean", "p99",
                                 fmt::format("p{:g}", report.settings.percent), "max", "lost %", "events/s", "weight");
  for (const core_noise& each : report.cores) {
    text += fmt::format(
        "{:>5} {:>9.2f} {:>9.2f} {:>9.2f} {:>9.2f} {:>9.2f} {:>9.2f} {:>9.2f} {:>7.2f} {:>9.1f} {:>7.3f}{}\n",
        each.core, us(each.summary.least), us(each.undisturbed), us(each.summary.median), us(each.summary.mean),
        us(each.percentile_99), us(each.percentile), us(each.summary.largest), each.lost * 100.0,
        each.events_per_second, each.weight, each.slow ? "  slow all the time" : "");
  }
  return text;
}

std::string picture_of(const noise_report& report) {
  static constexpr std::string_view shades = " .:-=+*%#@";
  const std::vector<noise_bin> rows = joined_bins(report.bins, most_rows);
  const std::uint64_t most = highest(rows);
  const bool shaded = report.cores.size() > 1 && report.cores.size() <= most_shaded_cores;
  std::string text = fmt::format("{:>19}  {:<{}} {:>10}{}\n", "us", "samples of all cores, logarithmic", bar_width,
                                 "samples", shaded ? "  by core" : "");
  std::uint64_t most_of_core = 0;
  for (const noise_bin& row : rows)
    for (const std::uint64_t count : row.by_core) most_of_core = std::max(most_of_core, count);
  for (const noise_bin& row : rows) {
    const auto length = static_cast<std::size_t>(std::lround(on_log_scale(row.count, most) * bar_width));
    text += fmt::format("{:>9g} - {:<7g}  {:<{}} {:>10}", us(row.begin), us(row.end),
                        std::string(std::max<std::size_t>(length, 1), '#'), bar_width, row.count);
    if (shaded) {
      text += "  ";
      for (const std::uint64_t count : row.by_core) {
        const double shade = on_log_scale(count, most_of_core) * static_cast<double>(shades.size() - 1);
        text += shades[static_cast<std::size_t>(std::ceil(shade))];
      }
    }
    text += '\n';
  }
  return text;
}

std::string suggestions_of(const noise_report& report) {
  const std::vector<int> slow = slow_ones(report);
  std::vector<std::string> weights;
  for (const core_noise& each : report.cores) weights.push_back(fmt::format("{:.3f}", each.weight));
  std::string text = slow.empty() ? std::string("slow cores   none\n")
                                  : fmt::format("slow cores   {} (median above {:g} times the usual one)\n",
                                                fmt::join(slow, ", "), report.settings.slow_factor);
  text += fmt::format("delay        {} (p{:g} over p10); by extremes {}, which one accident decides\n",
                      format_duration(report.delay_by_percentile), report.settings.percent,
                      format_duration(report.delay_by_extremes));
  text += fmt::format("             {} are lost in a loop of {}, on the worst core\n",
                      format_duration(report.delay_in_region), format_duration(report.settings.region_time));
  text += fmt::format("weights      {}\n", fmt::join(weights, " "));
  text += fmt::format("for a loop of {}: dynamic fraction {:.3f} (V. Kale, equation 4.4), schedule {}\n",
                      format_duration(report.settings.region_time), report.dynamic_fraction, report.schedule);
  return text;
}

nlohmann::json to_json(const noise_report& report) {
  using nlohmann::json;
  json cores = json::array();
  for (std::size_t index = 0; index < report.cores.size(); ++index) {
    const core_noise& each = report.cores[index];
    json histogram = json::array();
    for (const noise_bin& bin : report.bins)
      if (bin.by_core[index] > 0) histogram.push_back({{"begin_us", us(bin.begin)}, {"samples", bin.by_core[index]}});
    cores.push_back({{"core", each.core},
                     {"samples", each.samples},
                     {"min_us", us(each.summary.least)},
                     {"undisturbed_us", us(each.undisturbed)},
                     {"median_us", us(each.summary.median)},
                     {"mean_us", us(each.summary.mean)},
                     {"p99_us", us(each.percentile_99)},
                     {"percentile_us", us(each.percentile)},
                     {"max_us", us(each.summary.largest)},
                     {"lost", each.lost},
                     {"events", each.events},
                     {"events_per_second", each.events_per_second},
                     {"weight", each.weight},
                     {"slow", each.slow},
                     {"histogram", histogram}});
  }
  return {{"bin_us", us(report.settings.bin)},
          {"percent", report.settings.percent},
          {"cores", cores},
          {"slow_cores", slow_ones(report)},
          {"delay_us",
           {{"percentile", us(report.delay_by_percentile)},
            {"extremes", us(report.delay_by_extremes)},
            {"in_loop", us(report.delay_in_region)}}},
          {"loop_us", us(report.settings.region_time)},
          {"dynamic_fraction", report.dynamic_fraction},
          {"schedule", report.schedule}};
}

}  // namespace tri::tools
