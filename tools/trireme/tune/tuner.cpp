#include "tune/tuner.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "omp/fibers/virtual_count.hpp"
#include "os/text_pattern.hpp"
#include "schedules/learning/fraction_search.hpp"
#include "schedules/native_schedule.hpp"
#include "trireme/detail/schedules/loop_schedule.hpp"
#include "tune/loop_report_file.hpp"
#include "tune/program_run.hpp"

namespace tri::tools {
namespace {

namespace fs = std::filesystem;

std::string canonical(const std::string& text) { return schedules::to_text(schedules::parse_schedule(text)); }

class tuner {
 public:
  explicit tuner(const tune_request& wanted)
      : wanted_(wanted), table_(canonical("automatic"), wanted.gain_percent / 100.0) {}

  tuning run() {
    const std::vector<schedules::fraction_search::point> grid = points();
    std::vector<std::string> first{canonical("automatic"), canonical("static"), canonical("dynamic")};
    // Virtual threads need loops that are ours.
    if (wanted_.omp && std::getenv(omp::virtual_variable) == nullptr) first.emplace_back(schedules::native_schedule);
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
    return {std::move(table_), by_, std::move(curve_), canonical("automatic")};
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
    if (os::text_pattern("loops intercepted [1-9]|static loops by weights [1-9]").is_found_in(report)) return;
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

  void finish_progress() const {
    if (shows_progress_) fmt::print(stderr, "\r{:75}\r", "");
  }

  const tune_request& wanted_;
  trial_table table_;
  loop_report_file report_;
  measure by_ = measure::run;
  std::vector<std::pair<double, std::string>> curve_;
  std::size_t runs_left_ = 0;
  bool shows_progress_ = isatty(STDERR_FILENO) == 1 && !wanted_.quiet;
};

}  // namespace

tuning tune(const tune_request& wanted) { return tuner(wanted).run(); }

}  // namespace tri::tools
