// Each row is a program of apps/ with load balancing, beside the same program without, in turns. Where the command is
// installed without the programs the rows are not available.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

#include "balance/rows.hpp"
#include "framework/process_rows.hpp"
#include "framework/statistics.hpp"

namespace tri::bench {
namespace {

struct program_row {
  std::string name;
  std::string description;
  std::string path;
  std::vector<std::string> arguments;
  std::vector<std::string> balanced;  // further arguments
  std::string time;                   // regular expressions with the number that is the time,
  double seconds;                     // in so many seconds,
  std::string balancing;              // and with the per cent of it for which balancing took
  double target_ratio;
};

struct run_times {
  double seconds = 0;
  double balancing_per_cent = 0;
};

double number_in(const std::string& line, const std::regex& pattern) {
  std::smatch found;
  return std::regex_search(line, found, pattern) ? std::stod(found[1]) : 0.0;
}

run_times run(const program_row& row, const std::string& program, bool is_balanced) {
  std::vector<std::string> command = {program, "run", "-n", "1", "--pes", "2", row.path};
  command.insert(command.end(), row.arguments.begin(), row.arguments.end());
  if (is_balanced) command.insert(command.end(), row.balanced.begin(), row.balanced.end());
  const std::regex time(row.time), balancing(row.balancing);
  run_times found;
  process_lines(
      command,
      [&](const std::string& line) {
        found.seconds = std::max(found.seconds, row.seconds * number_in(line, time));
        found.balancing_per_cent = std::max(found.balancing_per_cent, number_in(line, balancing));
      },
      300);
  if (found.seconds <= 0.0) throw std::runtime_error(fmt::format("{} printed no time", fmt::join(command, " ")));
  return found;
}

measurement measure(const program_row& row, const std::string& program, context& tools) {
  if (row.path.empty() || !std::filesystem::exists(row.path))
    return {.not_available = "the program is in the folder of a build only"};
  const std::size_t repeats = std::clamp<std::size_t>(tools.runner().options().repetitions / 40, 1, 7);
  measurement made;
  std::vector<double> ratios, fixed, balancing;
  for (std::size_t repeat = 0; repeat < repeats; ++repeat) {
    fixed.push_back(run(row, program, false).seconds);
    const run_times balanced = run(row, program, true);
    made.samples.operation_ns.push_back(1e9 * balanced.seconds);
    ratios.push_back(balanced.seconds / fixed.back());
    balancing.push_back(balanced.balancing_per_cent);
  }
  made.reference = comparison{"objects that stay where they were placed", std::move(ratios)};
  made.peers["static"] = summarize(fixed).median;
  made.counts["balancing, per cent of the time"] = summarize(balancing).median;
  return made;
}

}  // namespace

std::vector<row_definition> balanced_program_rows(const std::string& program) {
  const program_row all[] = {
      {.name = "program/droplet",
       .description = "md: 1,000 steps of a droplet in a corner of its box, patches placed by volume, two threads",
       .path = TRIREME_BENCH_MD,
       .arguments = {"--system", "droplet", "--droplet-radius", "18", "--droplet-box", "60", "--droplet-place", "0.25",
                     "--placement", "volume", "--steps", "1000", "--thermo", "0"},
       .balanced = {"--balance", "refine", "--balance-first", "20", "--balance-every", "200",
                    "--tri-balance-tolerance=0.005"},
       .time = "^Loop time of ([0-9.e+-]+)",
       .seconds = 1.0,
       .balancing = "balancings by .*\\(([0-9.e+-]+) % of the time\\)",
       .target_ratio = 1.0 / 1.5},
      {.name = "program/gravity",
       .description = "gravity: 20 steps of two clusters whose pieces keep their bodies, two threads",
       .path = TRIREME_BENCH_GRAVITY,
       .arguments = {"--input", "collision", "--ratio", "4", "--steps", "20", "--deal-every", "0", "--print-every",
                     "0"},
       .balanced = {"--balance", "refine", "--balance-every", "5"},
       .time = "^in all +([0-9.e+-]+)",
       .seconds = 20e-3,
       .balancing = "^balance +[0-9.e+-]+ +([0-9.e+-]+)",
       .target_ratio = 0.0},
  };
  std::vector<row_definition> rows;
  for (const program_row& each : all) {
    row_definition made{.name = each.name, .unit = "s", .handoffs = 0, .description = each.description};
    made.measure = [each, program](context& tools) { return measure(each, program, tools); };
    if (each.target_ratio > 0.0) made.target_ratio = each.target_ratio;
    rows.push_back(std::move(made));
  }
  return rows;
}

}  // namespace tri::bench
