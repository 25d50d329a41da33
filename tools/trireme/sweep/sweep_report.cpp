#include "sweep/sweep_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "duration.hpp"
#include "repeat/spread.hpp"

namespace tri::tools {
namespace {

double median_of(const std::vector<double>& values) { return spread_of(values).median; }

const split_figures& best_of(const sweep_report& report) {
  return *std::min_element(report.splits.begin(), report.splits.end(),
                           [&](const split_figures& a, const split_figures& b) {
                             const double first = median_of(a.figures), second = median_of(b.figures);
                             return report.higher_is_better ? first > second : first < second;
                           });
}

std::string figure_text(const sweep_report& report, double value) {
  return report.figure_name.empty() ? format_duration(value) : fmt::format("{:.6g}", value);
}

std::string bytes_text(double bytes) { return bytes <= 0 ? "-" : fmt::format("{:.1f} MiB", bytes / (1024.0 * 1024.0)); }

std::string title_of(const sweep_report& report) {
  return fmt::format("{} on {} core{}{}: {}, {} run{}\n", report.program, report.cores, report.cores == 1 ? "" : "s",
                     report.hosts == 1 ? "" : fmt::format(", {} emulated hosts", report.hosts),
                     report.figure_name.empty() ? "time of the whole run" : report.figure_name, report.runs,
                     report.runs == 1 ? "" : "s");
}

bool has_counters(const sweep_report& report) {
  return std::all_of(report.splits.begin(), report.splits.end(),
                     [](const split_figures& each) { return !each.l1_misses.empty(); });
}

std::string line_of(const std::string& what, const std::string& first, const std::string& second, double ratio) {
  return fmt::format("{:<36} {:>16} {:>16} {:>8}\n", what, first, second,
                     ratio > 0 ? fmt::format("{:.3g}", ratio) : "-");
}

double quotient(double of, double by) { return by > 0 ? of / by : 0; }

std::string counters_line(const sweep_report& report) {
  return report.why_no_counters.empty() ? ""
                                        : fmt::format("\ncache counters unavailable: {}\n", report.why_no_counters);
}

}  // namespace

std::vector<core_split> splits_of(int cores, int hosts) {
  std::vector<core_split> found;
  for (int pes = 1; pes <= cores; ++pes)
    if (cores % pes == 0 && cores / pes >= hosts) found.push_back({.processes = cores / pes, .pes = pes});
  if (found.empty())
    throw std::invalid_argument(fmt::format("{} hosts need as many processes, and there are {} cores", hosts, cores));
  return found;
}

std::vector<core_split> modes_of(int cores, int hosts) {
  const std::vector<core_split> all = splits_of(cores, hosts);
  if (all.size() < 2)
    throw std::invalid_argument(
        fmt::format("--modes compares two splits, and with {} core{} and {} host{} there is one; --cores sets more",
                    cores, cores == 1 ? "" : "s", hosts, hosts == 1 ? "" : "s"));
  return {all.front(), all.back()};
}

std::vector<core_split> splits_with(const std::vector<int>& pes, int cores, int hosts) {
  std::vector<core_split> found;
  for (const int each : pes) {
    if (each < 1 || cores / each < std::max(hosts, 1))
      throw std::invalid_argument(fmt::format("--pes {}: {} cores are not enough for {} process{} with so many PEs",
                                              each, cores, hosts, hosts == 1 ? "" : "es"));
    found.push_back({.processes = cores / each, .pes = each});
  }
  return found;
}

std::string to_text(const sweep_report& report) {
  const bool counted = has_counters(report);
  std::string text = title_of(report);
  text += fmt::format("\n{:>9} {:>9} {:>11} {:>11} {:>11} {:>8} {:>13} {:>13}", "processes", "PEs each", "median",
                      "min", "max", "to best", "memory, all", "for each PE");
  text += counted ? fmt::format(" {:>12} {:>12}\n", "L1 misses", "LL misses") : "\n";
  const double best = median_of(best_of(report).figures);
  for (const split_figures& each : report.splits) {
    const spread found = spread_of(each.figures);
    const auto bytes = static_cast<double>(each.proportional_bytes > 0 ? each.proportional_bytes : each.resident_bytes);
    text += fmt::format("{:>9} {:>9} {:>11} {:>11} {:>11} {:>8.3f} {:>13} {:>13}", each.split.processes, each.split.pes,
                        figure_text(report, found.median), figure_text(report, found.least),
                        figure_text(report, found.largest), quotient(found.median, best), bytes_text(bytes),
                        bytes_text(bytes / (each.split.processes * each.split.pes)));
    text += counted
                ? fmt::format(" {:>12.3g} {:>12.3g}\n", median_of(each.l1_misses), median_of(each.last_level_misses))
                : "\n";
  }
  const core_split& best_split = best_of(report).split;
  return text + counters_line(report) +
         fmt::format("\nbest: trireme run -n {} --pes {} {}\n", best_split.processes, best_split.pes, report.program);
}

std::string to_comparison(const sweep_report& report) {
  const split_figures& apart = report.splits.front();
  const split_figures& threads = report.splits.back();
  const auto name = [](const core_split& split) { return fmt::format("{} x {} PE", split.processes, split.pes); };
  std::string text = title_of(report) + fmt::format("\n{:<36} {:>16} {:>16} {:>8}\n", "processes x PEs of each",
                                                    name(apart.split), name(threads.split), "ratio");
  const double times[] = {median_of(apart.figures), median_of(threads.figures)};
  text += line_of(report.figure_name.empty() ? "time" : report.figure_name, figure_text(report, times[0]),
                  figure_text(report, times[1]), quotient(times[0], times[1]));
  const auto memory = [&](const char* what, std::uint64_t first, std::uint64_t second) {
    const auto of_a_pe = [](std::uint64_t bytes, const core_split& split) {
      return static_cast<double>(bytes) / (split.processes * split.pes);
    };
    const double one = of_a_pe(first, apart.split), other = of_a_pe(second, threads.split);
    if (one > 0 && other > 0) text += line_of(what, bytes_text(one), bytes_text(other), quotient(one, other));
  };
  memory("memory of each PE (PSS)", apart.proportional_bytes, threads.proportional_bytes);
  memory("resident set of each PE (RSS)", apart.resident_bytes, threads.resident_bytes);
  if (apart.resident_bytes == 0 || threads.resident_bytes == 0) text += "memory: the runs were too short to see it\n";
  if (has_counters(report)) {
    const auto misses = [&](const char* what, const std::vector<double>& first, const std::vector<double>& second) {
      text += line_of(what, fmt::format("{:.3g}", median_of(first)), fmt::format("{:.3g}", median_of(second)),
                      quotient(median_of(first), median_of(second)));
    };
    misses("misses of first-level caches", apart.l1_misses, threads.l1_misses);
    misses("misses of last-level caches", apart.last_level_misses, threads.last_level_misses);
  }
  return text + counters_line(report);
}

nlohmann::json to_json(const sweep_report& report) {
  nlohmann::json splits = nlohmann::json::array();
  for (const split_figures& each : report.splits) {
    const spread found = spread_of(each.figures);
    nlohmann::json row = {{"processes", each.split.processes},
                          {"pes", each.split.pes},
                          {"figures", each.figures},
                          {"median", found.median},
                          {"min", found.least},
                          {"max", found.largest}};
    const auto add = [&](const char* name, std::uint64_t bytes) {
      row[name] = bytes == 0 ? nlohmann::json(nullptr) : nlohmann::json(bytes);
    };
    add("resident_bytes", each.resident_bytes);
    add("proportional_bytes", each.proportional_bytes);
    if (!each.l1_misses.empty()) {
      row["l1_misses"] = each.l1_misses;
      row["last_level_misses"] = each.last_level_misses;
    }
    splits.push_back(std::move(row));
  }
  const core_split& best = best_of(report).split;
  return {{"program", report.program},
          {"cores", report.cores},
          {"hosts", report.hosts},
          {"figure", report.figure_name.empty() ? "run_ns" : report.figure_name},
          {"better", report.higher_is_better ? "higher" : "lower"},
          {"cache_counters_missing", report.why_no_counters},
          {"best", {{"processes", best.processes}, {"pes", best.pes}}},
          {"splits", std::move(splits)}};
}

}  // namespace tri::tools
