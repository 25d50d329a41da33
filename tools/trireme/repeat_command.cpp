// `trireme repeat`: runs a program repeatedly, with each of several loop schedules in turn, and reports how much the
// times differ between runs, and between steps within runs.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "duration.hpp"
#include "os/output_file.hpp"
#include "repeat/cache_counters.hpp"
#include "repeat/spread.hpp"
#include "schedules/native_schedule.hpp"
#include "subcommands.hpp"
#include "trireme/detail/schedules/loop_schedule.hpp"
#include "tune/loop_report_file.hpp"
#include "tune/program_run.hpp"

namespace tri::tools {
namespace {

constexpr int program_failed_status = 1;

constexpr const char* footer =
    "Runs the program --runs times under each schedule, the schedules in turn, so that a slow minute hits all of them, "
    "and\n"
    "prints how much the runs differ: deviation: sample standard deviation / mean; spread: maximum / "
    "minimum.\n"
    "A program that uses trireme/loops.hpp is measured by the time of its loops, any other one from start to end. A\n"
    "schedule that the program names stays; with --omp the program runs under the OpenMP drop-in. Schedules that the\n"
    "program adds itself (trireme/schedule.hpp) are known to it alone: write them as own:NAME.\n"
    "\n"
    "--steps shows how long the steps of the program's longest loop took, from the beginning of one execution to that "
    "of\n"
    "the next: a second hump is noise of one length, a long tail noise of many.\n"
    "\n"
    "--caches adds the cache misses, where perf events are permitted: of the first-level cache and of the last-level\n"
    "one, medians over the runs, all threads together.\n"
    "\n"
    "Examples:\n"
    "  trireme repeat ./app                                          automatic, 15 runs\n"
    "  trireme repeat --schedule static --schedule dynamic,8 ./app   which one is steadier?\n"
    "  trireme repeat --runs 1 --steps 50us ./app                    a histogram of its steps in bins of 50 us\n"
    "  trireme repeat --omp --schedule native --schedule automatic ./omp_app";

struct request {
  std::uint32_t runs = 15;
  std::vector<std::string> schedules;
  bool omp = false;
  std::string steps;
  std::string csv;
  bool caches = false;
  bool show_output = false;
  std::vector<std::string> command;
};

struct usage_with_program : CLI::Formatter {
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: trireme repeat [options] [--] program [arguments]\n";
  }
};

// As it is handed to the program.
std::string checked(const request& wanted, const std::string& text) {
  if (text.starts_with("own:") && !wanted.omp) return text.substr(4);
  if (wanted.omp && schedules::is_native_schedule(text)) return schedules::native_schedule;
  return schedules::to_text(schedules::parse_schedule(text));
}

struct times_of_schedule {
  std::string schedule;
  std::vector<double> runs_ns = {};
  std::vector<double> loops_ns = {};
  std::vector<double> steps_ns = {};
  std::vector<double> l1_misses = {}, last_level_misses = {};
  loop_location of_steps = {};
};

void run_once(const request& wanted, const loop_report_file& report, times_of_schedule& into) {
  if (wanted.omp) {
    std::vector<std::string> command{
        std::filesystem::read_symlink("/proc/self/exe").string(), "exec", "--omp", "--schedule", into.schedule, "--"};
    command.insert(command.end(), wanted.command.begin(), wanted.command.end());
    into.runs_ns.push_back(run_program_once(command, {}, !wanted.show_output) * 1e9);
    return;
  }
  into.runs_ns.push_back(
      run_program_once(wanted.command,
                       {{"TRIREME_LOOPS_SCHEDULE", into.schedule}, {"TRIREME_LOOPS_REPORT_FILE", report.name()}},
                       !wanted.show_output) *
      1e9);
  const loop_report_file::reported found = report.take();
  if (found.loops.empty()) return;
  double all = 0.0;
  for (const auto& [location, each] : found.loops) all += each.seconds * 1e9;
  into.loops_ns.push_back(all);
  for (const double step : found.steps) into.steps_ns.push_back(step * 1e9);
  into.of_steps = found.of_steps;
}

bool by_loops(const std::vector<times_of_schedule>& all) {
  return std::all_of(all.begin(), all.end(),
                     [](const times_of_schedule& each) { return each.loops_ns.size() == each.runs_ns.size(); });
}

void print_table(const request& wanted, const std::vector<times_of_schedule>& all) {
  const bool loops = by_loops(all);
  fmt::print("{} runs of each schedule, time of {}\n\n{:>10} {:>10} {:>10} {:>11} {:>8}  schedule\n", wanted.runs,
             loops ? "all loops" : "the whole run", "median", "min", "max", "deviation", "spread");
  for (const times_of_schedule& each : all) {
    const spread found = spread_of(loops ? each.loops_ns : each.runs_ns);
    fmt::print("{:>10} {:>10} {:>10} {:>9.2f} % {:>8.3f}  {}\n", format_duration(found.median),
               format_duration(found.least), format_duration(found.largest), 100.0 * found.deviation,
               found.least > 0.0 ? found.largest / found.least : 0.0, each.schedule);
  }
}

void print_steps(const std::vector<times_of_schedule>& all, double width) {
  for (const times_of_schedule& each : all) {
    if (each.steps_ns.empty()) {
      throw std::runtime_error(
          "--steps: the program ran no loop of trireme/loops.hpp more than once; steps are those of such a loop");
    }
    const spread found = spread_of(each.steps_ns);
    fmt::print("\n{}: {} steps of the loop at {}:{}, median {}, min {}, max {}\n{}", each.schedule, found.count,
               std::filesystem::path(each.of_steps.file).filename().string(), each.of_steps.line,
               format_duration(found.median), format_duration(found.least), format_duration(found.largest),
               histogram_text(each.steps_ns, width));
  }
}

void print_caches(const std::vector<times_of_schedule>& all) {
  fmt::print("\n{:>14} {:>18}  schedule\n", "L1 misses", "last-level misses");
  for (const times_of_schedule& each : all) {
    fmt::print("{:>14.0f} {:>18.0f}  {}\n", spread_of(each.l1_misses).median, spread_of(each.last_level_misses).median,
               each.schedule);
  }
}

void write_csv(const std::string& name, const std::vector<times_of_schedule>& all) {
  const bool loops = by_loops(all);
  std::ostringstream file;
  file << "schedule,run,seconds\n";
  for (const times_of_schedule& each : all) {
    const std::vector<double>& times = loops ? each.loops_ns : each.runs_ns;
    for (std::size_t run = 0; run < times.size(); ++run)
      file << fmt::format("\"{}\",{},{:.9f}\n", each.schedule, run, times[run] * 1e-9);
  }
  os::write_output_file(name, file.view());
}

int repeat(const request& wanted) {
  const double width = wanted.steps.empty() ? 0.0 : parse_duration(wanted.steps);
  if (!wanted.steps.empty() && !(width > 0.0)) throw std::invalid_argument("--steps: a bin must be longer than 0");
  std::vector<times_of_schedule> all;
  for (const std::string& text : wanted.schedules) all.push_back({.schedule = checked(wanted, text)});
  const loop_report_file report;
  std::optional<cache_counters> caches;
  if (wanted.caches) caches.emplace();
  const bool shows_progress = isatty(STDERR_FILENO) == 1;
  for (std::uint32_t run = 0; run < wanted.runs; ++run) {
    for (times_of_schedule& each : all) {
      if (shows_progress) fmt::print(stderr, "\rrun {} of {}, {:<50}", run + 1, wanted.runs, each.schedule);
      run_once(wanted, report, each);
      if (!caches.has_value() || !caches->available()) continue;
      const cache_counters::counts found = caches->take();
      each.l1_misses.push_back(found.l1_misses);
      each.last_level_misses.push_back(found.last_level_misses);
    }
  }
  if (shows_progress) fmt::print(stderr, "\r{:75}\r", "");
  print_table(wanted, all);
  if (caches.has_value() && caches->available()) print_caches(all);
  if (caches.has_value() && !caches->available()) fmt::print("\ncache counters unavailable: {}\n", caches->reason());
  if (width > 0.0) print_steps(all, width);
  if (!wanted.csv.empty()) write_csv(wanted.csv, all);
  return 0;
}

}  // namespace

int repeat_command(int argc, char** argv) {
  CLI::App app("Runs a program repeatedly and reports the spread of its run times.", "trireme repeat");
  app.formatter(std::make_shared<usage_with_program>());
  app.footer(footer);
  app.prefix_command();  // from the first word that is not an option on, everything belongs to the program
  request wanted;
  app.add_option("--runs", wanted.runs, "runs of each schedule, 15 by default")->check(CLI::Range(1u, 100'000u));
  app.add_option("--schedule", wanted.schedules, "for loops whose schedule the program does not name; may be repeated")
      ->allow_extra_args(false)
      ->type_name("SCHEDULE");
  app.add_flag("--omp", wanted.omp, "an OpenMP program, under the drop-in");
  app.add_option("--steps", wanted.steps, "histogram of the times of steps, in bins of this width")->type_name("TIME");
  app.add_option("--csv", wanted.csv, "write the time of every run")->type_name("FILE");
  app.add_flag("--caches", wanted.caches, "cache misses by schedule, where the system has the counters");
  app.add_flag("--show-output", wanted.show_output, "let the program's output through");
  try {
    if (const std::optional<int> done = parse_program_options(app, argc, argv, wanted.command)) return *done;
    if (wanted.schedules.empty()) wanted.schedules.emplace_back("automatic");
    if (wanted.omp && !wanted.steps.empty())
      throw std::invalid_argument("--steps needs a program that uses trireme/loops.hpp; with --omp runs are timed");
    return repeat(wanted);
  } catch (const std::invalid_argument& problem) {
    fmt::print(stderr, "trireme repeat: {}\n", problem.what());
    return usage_status;
  } catch (const std::exception& problem) {
    fmt::print(stderr, "trireme repeat: {}\n", problem.what());
    return program_failed_status;
  }
}

}  // namespace tri::tools
