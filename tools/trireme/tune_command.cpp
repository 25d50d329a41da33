// `trireme tune`: runs a program again and again under many loop schedules and writes down which was best.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "loops/loop_tuning.hpp"
#include "omp/fibers/virtual_count.hpp"
#include "os/child_process.hpp"
#include "os/output_file.hpp"
#include "os/text_pattern.hpp"
#include "pictures/line_chart.hpp"
#include "schedules/learning/fraction_search.hpp"
#include "subcommands.hpp"
#include "trireme/detail/schedules/loop_schedule.hpp"
#include "tune/loop_report_file.hpp"
#include "tune/program_run.hpp"
#include "tune/trial_table.hpp"

namespace tri::tools {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int program_failed_status = 1;

constexpr const char* footer =
    "Runs the program under `automatic`, `static` and `dynamic`, then under every static fraction (the share of a "
    "loop\n"
    "that is dealt out in advance), then with the best fraction and tasklets of several numbers, equal and of halving\n"
    "sizes. Each schedule has several trials, the schedules in turn, so that a slow minute hits all of them; the "
    "median\n"
    "counts. Another schedule than automatic is only chosen if it is faster by more than --gain and by more than the\n"
    "trials differ among themselves. `host` is what the program asks for, by its own OpenMP runtime.\n"
    "\n"
    "A program that uses trireme/loops.hpp is measured loop by loop, and each call site gets its own "
    "schedule\n"
    "(where the program names one, that stays). With --omp an OpenMP program runs under the drop-in, and the time of "
    "the\n"
    "whole run decides on one schedule. Its output is thrown away unless --show-output is given. Give it a short "
    "input.\n"
    "\n"
    "Examples:\n"
    "  trireme tune ./app small.in                       writes app.tune.json\n"
    "  TRIREME_LOOPS_TUNE=app.tune.json ./app big.in     runs with what was found\n"
    "  trireme tune --step 0.05 --trials 9 --svg app.svg ./app\n"
    "  trireme tune --near 0.9 --step 0.01 ./app         only fractions from 0.85 to 0.95\n"
    "  trireme tune --omp ./omp_app && trireme exec --omp --tune-file omp_app.tune.json ./omp_app";

struct request {
  bool omp = false;
  std::string kind = "staggered";
  double step = 0.1;
  std::uint32_t trials = 5;
  std::optional<double> near;
  std::vector<std::uint32_t> tasklets{16, 32, 64, 128};
  bool no_tasklets = false;
  double gain_percent = 1.0;
  std::string measure = "auto";
  std::string output;
  std::string svg;
  std::string csv;
  bool show_output = false;
  bool quiet = false;
  std::vector<std::string> command;
};

struct usage_with_program : CLI::Formatter {
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: trireme tune [options] [--] program [arguments]\n";
  }
};

// For people; `host` is what --schedule takes.
std::string shown(const std::string& schedule) {
  return schedule == "host" ? "host (as the program says, by its own OpenMP runtime)" : schedule;
}

std::string canonical(const std::string& text) { return schedules::to_text(schedules::parse_schedule(text)); }

class tuner {
 public:
  explicit tuner(const request& wanted)
      : wanted_(wanted), table_(canonical("automatic"), wanted.gain_percent / 100.0) {}

  int run() {
    const std::vector<schedules::fraction_search::point> grid = points();
    std::vector<std::string> first{canonical("automatic"), canonical("static"), canonical("dynamic")};
    // Virtual threads need loops that are ours.
    if (wanted_.omp && std::getenv(omp::virtual_variable) == nullptr) first.push_back("host");
    for (const auto& point : grid) {
      const double fraction =
          std::round(point.static_fraction * 1e6) / 1e6;  // three times 0.1 is a little more than 0.3
      const std::string schedule = canonical(fmt::format("{},{}", wanted_.kind, fraction));
      curve_.emplace_back(fraction, schedule);
      if (std::find(first.begin(), first.end(), schedule) == first.end()) first.push_back(schedule);
    }
    const std::size_t later = wanted_.no_tasklets ? 0 : 2 * wanted_.tasklets.size();
    runs_left_ = (first.size() + later) * wanted_.trials;
    if (wanted_.omp) expect_loops_of_omp();
    try_all(first);
    by_ = decide_measure();
    if (!wanted_.no_tasklets) try_all(tasklet_schedules());
    finish_progress();
    print_table();
    write_tune_file();
    write_pictures();
    return 0;
  }

 private:
  using measure = trial_table::measure;

  std::vector<schedules::fraction_search::point> points() const {
    const schedules::fraction_search::options how{.step = wanted_.step, .trials = wanted_.trials};
    return (wanted_.near.has_value() ? schedules::fraction_search::near(*wanted_.near, how)
                                     : schedules::fraction_search::everywhere(how))
        .curve();
  }

  std::vector<std::string> tasklet_schedules() const {
    std::vector<std::string> fractions;
    for (const auto& [fraction, schedule] : curve_) fractions.push_back(schedule);
    const std::string best = table_.fastest(fractions, by_);
    double fraction = 0.5;
    for (const auto& [static_fraction, schedule] : curve_)
      if (schedule == best) fraction = static_fraction;
    std::vector<std::string> all;
    for (const char* sizes : {"equal", "skewed"}) {
      for (const std::uint32_t count : wanted_.tasklets)
        all.push_back(canonical(fmt::format("tasklets,static={},count={},sizes={}", fraction, count, sizes)));
    }
    return all;
  }

  std::vector<std::string> under_the_drop_in(const std::vector<std::string>& options) const {
    std::vector<std::string> command{fs::read_symlink("/proc/self/exe").string(), "exec", "--omp"};
    command.insert(command.end(), options.begin(), options.end());
    command.emplace_back("--");
    command.insert(command.end(), wanted_.command.begin(), wanted_.command.end());
    return command;
  }

  // A run that does not count. Without loops that the drop-in takes, all times would be the same but for accidents.
  void expect_loops_of_omp() const {
    if (shows_progress_) fmt::print(stderr, "\rlooking for loops {:<50}", "");
    run_program_once(under_the_drop_in({"--report"}), {}, !wanted_.show_output, report_.name());
    const std::string report = report_.text();
    if (wanted_.show_output) fmt::print(stderr, "{}", report);
    if (os::text_pattern("loops taken [1-9]|static loops by weights [1-9]").is_found_in(report)) return;
    finish_progress();
    throw std::runtime_error(fmt::format(
        "{0} ran no loop whose schedule can be chosen: gcc compiles static loops, and loops without a "
        "schedule, into the program; schedule(runtime) makes them reachable (trireme omp-rewrite writes it)",
        wanted_.command[0]));
  }

  // One trial of each, then the next one of each.
  void try_all(const std::vector<std::string>& schedules) {
    for (std::uint32_t round = 0; round < wanted_.trials; ++round)
      for (const std::string& schedule : schedules) try_one(schedule);
  }

  void try_one(const std::string& schedule) {
    if (shows_progress_) fmt::print(stderr, "\r{:5} runs to go, {:<50}", runs_left_, schedule);
    if (runs_left_ > 0) --runs_left_;
    trial told;
    if (wanted_.omp) {
      told.run_seconds = run_program_once(under_the_drop_in({"--schedule", schedule}), {}, !wanted_.show_output);
    } else {
      told.run_seconds = run_program_once(
          wanted_.command, {{"TRIREME_LOOPS_SCHEDULE", schedule}, {"TRIREME_LOOPS_REPORT_FILE", report_.name()}},
          !wanted_.show_output);
      told.loops = report_.take().loops;
    }
    table_.add(schedule, told);
  }

  measure decide_measure() const {
    const bool has_loops = table_.of_loops(canonical("automatic")) != nullptr;
    if (wanted_.measure == "run" || wanted_.omp) return measure::run;
    if (!has_loops) {
      throw std::runtime_error(
          fmt::format("{} ran no loop whose schedule can be chosen: it uses none of trireme/loops.hpp, or names the "
                      "schedule of each; "
                      "an OpenMP program needs --omp, a job of several processes --measure run",
                      wanted_.command[0]));
    }
    return measure::loops;
  }

  const trial_table::times* times_of(const std::string& schedule) const {
    return by_ == measure::run ? table_.of_run(schedule) : table_.of_loops(schedule);
  }

  void finish_progress() const {
    if (shows_progress_) fmt::print(stderr, "\r{:75}\r", "");
  }

  void print_table() const {
    if (wanted_.quiet) return;
    const trial_table::choice best = table_.best(by_);
    const trial_table::times* const usual = times_of(canonical("automatic"));
    fmt::print("{} trials of each schedule, time of {}\n\n{:>10} {:>10} {:>10} {:>12}  schedule\n", wanted_.trials,
               by_ == measure::run ? "the whole run" : "all loops", "median ms", "least", "largest", "of automatic");
    for (const std::string& schedule : table_.schedules()) {
      const trial_table::times* const times = times_of(schedule);
      if (times == nullptr) continue;
      fmt::print("{:>10.3f} {:>10.3f} {:>10.3f} {:>12.3f}  {}{}\n", times->median() * 1e3, times->least() * 1e3,
                 times->largest() * 1e3, times->median() / usual->median(), shown(schedule),
                 schedule == best.schedule ? "   <- best" : "");
    }
    if (best.schedule == canonical("automatic"))
      fmt::print("\nNo other schedule is faster than automatic by more than {:g} % and than the trials differ.\n",
                 wanted_.gain_percent);
    if (by_ != measure::loops) return;
    fmt::print("\n{:>10} {:>12}  loop\n", "median ms", "of automatic");
    for (const auto& [location, chosen] : table_.best_of_loops()) {
      fmt::print("{:>10.3f} {:>12.3f}  {}:{} {}\n", chosen.seconds * 1e3,
                 chosen.baseline_seconds > 0.0 ? chosen.seconds / chosen.baseline_seconds : 1.0, location.file,
                 location.line, chosen.schedule);
    }
  }

  void write_tune_file() const {
    const std::string program = fs::path(wanted_.command[0]).filename().string();
    const std::string name = wanted_.output.empty() ? program + ".tune.json" : wanted_.output;
    json loops = json::array();
    if (by_ == measure::loops) {
      for (const auto& [location, chosen] : table_.best_of_loops()) {
        loops.push_back({{"file", location.file},
                         {"line", location.line},
                         {"schedule", chosen.schedule},
                         {"seconds", chosen.seconds},
                         {"automatic_seconds", chosen.baseline_seconds}});
      }
    }
    json trials = json::object();
    for (const std::string& schedule : table_.schedules())
      if (const trial_table::times* const times = times_of(schedule)) trials[schedule] = times->all;
    const json all{{"trireme_tune", 1},  {"machine", loops::machine_fingerprint()}, {"program", program},
                   {"omp", wanted_.omp}, {"schedule", table_.best(by_).schedule},   {"loops", loops},
                   {"seconds", trials}};
    os::write_output_file(name, all.dump(2) + "\n");
    if (wanted_.quiet) return;
    if (wanted_.omp)
      fmt::print("\nwritten: {0}; use it with trireme exec --omp --tune-file {0}\n", name);
    else
      fmt::print("\nwritten: {0}; use it with TRIREME_LOOPS_TUNE={0}\n", name);
  }

  void write_pictures() const {
    if (!wanted_.csv.empty()) {
      std::string text = "static_fraction,schedule,median_s,least_s,largest_s,trials\n";
      for (const auto& [fraction, schedule] : curve_) {
        if (const trial_table::times* const times = times_of(schedule)) {
          text += fmt::format("{},\"{}\",{},{},{},{}\n", fraction, schedule, times->median(), times->least(),
                              times->largest(), times->all.size());
        }
      }
      os::write_output_file(wanted_.csv, text);
    }
    if (wanted_.svg.empty()) return;
    pictures::line_chart chart;
    chart.title = fmt::format("{}: time by static fraction", fs::path(wanted_.command[0]).filename().string());
    chart.x_label = "static fraction";
    chart.y_label = by_ == measure::run ? "ms of a run" : "ms of all loops";
    pictures::line_chart::curve curve;
    curve.name = wanted_.kind;
    for (const auto& [fraction, schedule] : curve_) {
      if (const trial_table::times* const times = times_of(schedule))
        curve.points.push_back({fraction, times->median() * 1e3, times->least() * 1e3, times->largest() * 1e3});
    }
    chart.curves.push_back(std::move(curve));
    for (const std::string& schedule : table_.schedules()) {
      const bool on_curve =
          std::any_of(curve_.begin(), curve_.end(), [&](const auto& p) { return p.second == schedule; });
      const trial_table::times* const times = times_of(schedule);
      if (!on_curve && times != nullptr && !schedule.starts_with("tasklets"))
        chart.levels.push_back({schedule, times->median() * 1e3});
    }
    os::write_output_file(wanted_.svg, to_svg(chart));
  }

  const request& wanted_;
  trial_table table_;
  loop_report_file report_;
  measure by_ = measure::run;
  std::vector<std::pair<double, std::string>> curve_;
  std::size_t runs_left_ = 0;
  bool shows_progress_ = isatty(STDERR_FILENO) == 1 && !wanted_.quiet;
};

void check_kind(const request& wanted) {
  const schedules::schedule kind = schedules::parse_schedule(wanted.kind);
  if (!schedules::has_static_fraction(kind.kind) || schedules::has_model(kind.kind)) {
    throw std::invalid_argument(
        fmt::format("--kind is {}, which has no static fraction to tune; use hybrid or staggered", wanted.kind));
  }
}

}  // namespace

int tune_command(int argc, char** argv) {
  CLI::App app("Finds the best loop schedules of a program by running it under many of them.", "trireme tune");
  app.formatter(std::make_shared<usage_with_program>());
  app.footer(footer);
  app.prefix_command();  // from the first word that is not an option on, everything belongs to the program
  request wanted;
  app.add_flag("--omp", wanted.omp, "an OpenMP program, under the drop-in");
  app.add_option("--kind", wanted.kind, "whose static fraction is tried: staggered (the default) or hybrid");
  app.add_option("--step", wanted.step, "step between static fractions, 0.1 by default")->type_name("X");
  app.add_option("--near", wanted.near, "only static fractions at most 0.05 from this one")->type_name("X");
  app.add_option("--trials", wanted.trials, "runs of each schedule, 5 by default")
      ->type_name("N")
      ->check(whole_number_between(1, 10'000));
  app.add_option("--tasklets", wanted.tasklets, "numbers of tasklets, 16,32,64,128 by default")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("N")
      ->check(whole_number_between(1, schedules::most_tasklets));
  app.add_flag("--no-tasklets", wanted.no_tasklets, "only fractions");
  app.add_option("--gain", wanted.gain_percent, "per cent that a schedule must be faster than automatic, 1 by default")
      ->type_name("X")
      ->check(number_between(0, 100));
  app.add_option("--measure", wanted.measure, "loops (from the program's report) or run (from start to end)")
      ->check(CLI::IsMember({"auto", "loops", "run"}));
  app.add_option("-o,--output", wanted.output, "the tune file, <program>.tune.json by default")->type_name("FILE");
  app.add_option("--svg", wanted.svg, "write a picture of time against static fraction")->type_name("FILE");
  app.add_option("--csv", wanted.csv, "write the curve as a table")->type_name("FILE");
  app.add_flag("--show-output", wanted.show_output, "let the program's output through");
  app.add_flag("-q,--quiet", wanted.quiet, "only the files");
  try {
    if (const std::optional<int> done = parse_program_options(app, argc, argv, wanted.command)) return *done;
    if (wanted.omp && wanted.measure == "loops")
      throw std::invalid_argument("--measure loops needs a program that uses trireme/loops.hpp; with --omp it is run");
    check_kind(wanted);
    os::find_program(wanted.command[0]);
    return tuner(wanted).run();
  } catch (const os::start_error& problem) {
    fmt::print(stderr, "trireme tune: {}\n", problem.what());
    return cannot_start_status;
  } catch (const std::invalid_argument& problem) {
    fmt::print(stderr, "trireme tune: {}\n", problem.what());
    return usage_status;
  } catch (const std::exception& problem) {
    fmt::print(stderr, "trireme tune: {}\n", problem.what());
    return program_failed_status;
  }
}

}  // namespace tri::tools
