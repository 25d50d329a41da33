// `trireme sweep`: runs a program with the cores of the host split into processes in every way, and compares time,
// memory and cache misses.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "os/cpu/topology.hpp"
#include "os/output_file.hpp"
#include "repeat/cache_counters.hpp"
#include "subcommands.hpp"
#include "sweep/measured_run.hpp"
#include "sweep/sweep_report.hpp"
#include "tune/program_run.hpp"

namespace tri::tools {
namespace {

constexpr int program_failed_status = 1;

constexpr const char* footer =
    "Runs the program under `trireme run` with every number of PEs that divides the cores, the splits in turn, so that "
    "a\n"
    "slow minute hits all of them. The measure is the time of the whole run, or a figure that the program prints:\n"
    "--figure is an extended regular expression whose group is the number; the last line of standard output that\n"
    "matches counts. Cores are those that this process may use.\n"
    "\n"
    "Memory is the largest sum over the processes of the job that was seen, looked at every 100 ms: PSS, in which "
    "shared\n"
    "memory counts once. Cache misses are those of the whole job, where the machine has counters for them.\n"
    "\n"
    "Other options of the job go into TRIREME_<NAME>, such as TRIREME_COMM_THREAD=on.\n"
    "\n"
    "Examples:\n"
    "  trireme sweep ./app input.dat\n"
    "  trireme sweep --runs 9 --svg sweep.svg --figure 'step: ([0-9.]+) ms' ./app\n"
    "  trireme sweep --pes 7,15,31 ./app             for 32 cores: one of each process stays free\n"
    "  trireme sweep --modes ./app                   a process for each PE against threads: time, memory, caches";

struct request {
  int cores = 0;
  int hosts = 1;
  int runs = 3;
  std::vector<int> pes;
  bool modes = false;
  std::string figure;
  bool higher = false;
  bool show_output = false;
  std::string json;
  std::string svg;
  std::vector<std::string> command;
};

struct usage_with_program : CLI::Formatter {
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: trireme sweep [options] [--] program [arguments]\n";
  }
};

void add_options(CLI::App& app, request& wanted) {
  app.add_option("--runs", wanted.runs, "runs of each split, 3 by default")
      ->type_name("N")
      ->check(whole_number_between(1, 10'000));
  app.add_option("--cores", wanted.cores, "PEs of the job, the usable cores by default")
      ->type_name("N")
      ->check(whole_number_between(1, 1024));
  app.add_option("--pes", wanted.pes, "only these numbers of PEs in a process; they need not divide the cores")
      ->type_name("N,N,...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(whole_number_between(1, 256));
  app.add_option("--hosts", wanted.hosts, "emulated hosts that the processes are split into, 1 by default")
      ->type_name("N")
      ->check(whole_number_between(1, 1024));
  app.add_flag("--modes", wanted.modes, "only a process for each PE, and one process (of each host)");
  app.add_option("--figure", wanted.figure, "a figure that the program prints, as the group of an expression")
      ->type_name("REGEX");
  app.add_flag("--higher", wanted.higher, "with --figure: more is better")->needs("--figure");
  app.add_flag("--show-output", wanted.show_output, "let the program's output through");
  app.add_option("--json", wanted.json, "write the figures of all runs")->type_name("FILE");
  app.add_option("--svg", wanted.svg, "draw time and memory of each split")->type_name("FILE");
}

std::vector<std::string> job_command(const request& wanted, const core_split& split) {
  std::vector<std::string> command = {std::filesystem::read_symlink("/proc/self/exe").string(),
                                      "run",
                                      "-n",
                                      std::to_string(split.processes),
                                      "--pes",
                                      std::to_string(split.pes)};
  if (wanted.hosts > 1) command.insert(command.end(), {"--hosts", std::to_string(wanted.hosts)});
  command.emplace_back("--");
  command.insert(command.end(), wanted.command.begin(), wanted.command.end());
  return command;
}

void add_run(split_figures& into, const run_figures& found) {
  into.figures.push_back(found.figure.value_or(found.seconds * 1e9));
  into.resident_bytes = std::max(into.resident_bytes, found.peak.resident_bytes);
  into.proportional_bytes = std::max(into.proportional_bytes, found.peak.proportional_bytes.value_or(0));
}

std::vector<core_split> splits_for(const request& wanted) {
  if (wanted.modes && !wanted.pes.empty())
    throw std::invalid_argument("--modes has its own numbers of PEs; leave out --pes");
  if (wanted.modes) return modes_of(wanted.cores, wanted.hosts);
  return wanted.pes.empty() ? splits_of(wanted.cores, wanted.hosts)
                            : splits_with(wanted.pes, wanted.cores, wanted.hosts);
}

int sweep(request wanted) {
  if (wanted.cores == 0) wanted.cores = os::topology::shared("auto").useful_cores();
  std::optional<os::text_pattern> pattern;
  try {
    if (!wanted.figure.empty()) pattern.emplace(wanted.figure);
  } catch (const std::invalid_argument& problem) {
    throw std::invalid_argument(fmt::format("--figure '{}': {}", wanted.figure, problem.what()));
  }
  sweep_report report{.program = fmt::format("{}", fmt::join(wanted.command, " ")),
                      .cores = wanted.cores,
                      .hosts = wanted.hosts,
                      .runs = wanted.runs,
                      .figure_name = wanted.figure,
                      .higher_is_better = wanted.higher,
                      .why_no_counters = {},
                      .splits = {}};
  for (const core_split& each : splits_for(wanted)) report.splits.push_back({.split = each});
  cache_counters caches;
  report.why_no_counters = caches.reason();
  const bool shows_progress = isatty(STDERR_FILENO) == 1;
  for (int run = 0; run < wanted.runs; ++run) {
    for (split_figures& each : report.splits) {
      if (shows_progress)
        fmt::print(stderr, "\rrun {} of {}: {} x {} PEs    ", run + 1, wanted.runs, each.split.processes,
                   each.split.pes);
      add_run(each, run_measured({.command = job_command(wanted, each.split),
                                  .figure = pattern ? &*pattern : nullptr,
                                  .show_output = wanted.show_output}));
      if (!caches.available()) continue;
      const cache_counters::counts found = caches.take();
      each.l1_misses.push_back(found.l1_misses);
      each.last_level_misses.push_back(found.last_level_misses);
    }
  }
  if (shows_progress) fmt::print(stderr, "\r{:50}\r", "");
  if (!wanted.json.empty()) os::write_output_file(wanted.json, to_json(report).dump(2) + '\n');
  if (!wanted.svg.empty()) os::write_output_file(wanted.svg, to_svg(report));
  fmt::print("{}", wanted.modes ? to_comparison(report) : to_text(report));
  return 0;
}

}  // namespace

int sweep_command(int argc, char** argv) {
  CLI::App app("Runs a program with the cores split into processes in every way.", "trireme sweep");
  app.formatter(std::make_shared<usage_with_program>());
  app.footer(footer);
  app.prefix_command();  // from the first word that is not an option on, everything belongs to the program
  request wanted;
  add_options(app, wanted);
  try {
    if (const std::optional<int> done = parse_program_options(app, argc, argv, wanted.command)) return *done;
    return sweep(wanted);
  } catch (const std::invalid_argument& problem) {
    fmt::print(stderr, "trireme sweep: {}\n", problem.what());
    return usage_status;
  } catch (const program_failed& problem) {
    fmt::print(stderr, "trireme sweep: {}\n", problem.what());
    return program_failed_status;
  }
}

}  // namespace tri::tools
