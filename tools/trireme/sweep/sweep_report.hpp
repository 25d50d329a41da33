// Ways to split the cores of a host into processes, and what was measured of each. Pure functions.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tri::tools {

struct core_split {
  int processes = 1;
  int pes = 1;  ///< of each process
  bool operator==(const core_split&) const = default;
};

/// All numbers of PEs that divide `cores`, ascending. Only splits with at least `hosts` processes. Throws
/// std::invalid_argument where there is none.
std::vector<core_split> splits_of(int cores, int hosts);

/// The two modes: a process for each PE, and as few processes as there are hosts.
std::vector<core_split> modes_of(int cores, int hosts);

/// With these PEs in each process, and as many processes as the cores are enough for. Throws std::invalid_argument
/// that names the number where that is none, or fewer than hosts.
std::vector<core_split> splits_with(const std::vector<int>& pes, int cores, int hosts);

struct split_figures {
  core_split split;
  std::vector<double> figures = {};      ///< of the runs: nanoseconds, or what the program prints
  std::uint64_t resident_bytes = 0;      ///< peak of the sum over processes, the largest of the runs; 0: unknown
  std::uint64_t proportional_bytes = 0;  ///< the same of PSS
  std::vector<double> l1_misses = {};    ///< of the runs; empty: there are no counters
  std::vector<double> last_level_misses = {};
};

struct sweep_report {
  std::string program;  ///< as the user gave it
  int cores = 1;
  int hosts = 1;
  int runs = 1;
  std::string figure_name = {};  ///< empty: time of the run
  bool higher_is_better = false;
  std::string why_no_counters = {};  ///< empty: there are
  std::vector<split_figures> splits = {};
};

/// A line for each split, with the ratio to the best one.
std::string to_text(const sweep_report& report);
/// The first split (a process for each PE) beside the last one (threads): time, memory and misses, with ratios.
std::string to_comparison(const sweep_report& report);
nlohmann::json to_json(const sweep_report& report);
/// Bars: the figure, and the memory below it.
std::string to_svg(const sweep_report& report);

}  // namespace tri::tools
