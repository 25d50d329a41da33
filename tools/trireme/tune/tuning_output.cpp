#include "tune/tuning_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "loops/loop_tuning.hpp"
#include "os/output_file.hpp"
#include "pictures/line_chart.hpp"
#include "schedules/native_schedule.hpp"

namespace tri::tools {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// For people; `native` is what --schedule takes.
std::string shown(const std::string& schedule) {
  return schedules::is_native_schedule(schedule) ? "native (as the program says, by its own OpenMP runtime)" : schedule;
}

}  // namespace

void print_tuning(const tune_request& wanted, const tuning& found) {
  const trial_table::choice best = found.table.best(found.by);
  const trial_table::times* const usual = found.times_of(found.usual);
  fmt::print("{} trials of each schedule, time of {}\n\n{:>10} {:>10} {:>10} {:>12}  schedule\n", wanted.trials,
             found.by == trial_table::measure::run ? "the whole run" : "all loops", "median ms", "min", "max",
             "of automatic");
  for (const std::string& schedule : found.table.schedules()) {
    const trial_table::times* const times = found.times_of(schedule);
    if (times == nullptr) continue;
    fmt::print("{:>10.3f} {:>10.3f} {:>10.3f} {:>12.3f}  {}{}\n", times->median() * 1e3, times->least() * 1e3,
               times->largest() * 1e3, times->median() / usual->median(), shown(schedule),
               schedule == best.schedule ? "   <- best" : "");
  }
  if (best.schedule == found.usual)
    fmt::print("\nNo other schedule is faster than automatic by more than {:g} % and than the trials differ.\n",
               wanted.gain_percent);
  if (found.by != trial_table::measure::loops) return;
  fmt::print("\n{:>10} {:>12}  loop\n", "median ms", "of automatic");
  for (const auto& [location, chosen] : found.table.best_of_loops()) {
    fmt::print("{:>10.3f} {:>12.3f}  {}:{} {}\n", chosen.seconds * 1e3,
               chosen.baseline_seconds > 0.0 ? chosen.seconds / chosen.baseline_seconds : 1.0, location.file,
               location.line, chosen.schedule);
  }
}

void write_tune_file(const tune_request& wanted, const tuning& found) {
  const std::string program = fs::path(wanted.command[0]).filename().string();
  const std::string name = wanted.output.empty() ? program + ".tune.json" : wanted.output;
  json loops = json::array();
  if (found.by == trial_table::measure::loops) {
    for (const auto& [location, chosen] : found.table.best_of_loops()) {
      loops.push_back({{"file", location.file},
                       {"line", location.line},
                       {"schedule", chosen.schedule},
                       {"seconds", chosen.seconds},
                       {"automatic_seconds", chosen.baseline_seconds}});
    }
  }
  json trials = json::object();
  for (const std::string& schedule : found.table.schedules())
    if (const trial_table::times* const times = found.times_of(schedule)) trials[schedule] = times->all;
  const json all{{"trireme_tune", 1}, {"machine", loops::machine_fingerprint()},         {"program", program},
                 {"omp", wanted.omp}, {"schedule", found.table.best(found.by).schedule}, {"loops", loops},
                 {"seconds", trials}};
  os::write_output_file(name, all.dump(2) + "\n");
  if (wanted.quiet) return;
  if (wanted.omp)
    fmt::print("\nwritten: {0}; use it with trireme exec --omp --tune-file {0}\n", name);
  else
    fmt::print("\nwritten: {0}; use it with TRIREME_LOOPS_TUNE={0}\n", name);
}

void write_curve(const tune_request& wanted, const tuning& found) {
  if (wanted.csv.empty()) return;
  std::string text = "static_fraction,schedule,median_s,least_s,largest_s,trials\n";
  for (const auto& [fraction, schedule] : found.curve) {
    if (const trial_table::times* const times = found.times_of(schedule)) {
      text += fmt::format("{},\"{}\",{},{},{},{}\n", fraction, schedule, times->median(), times->least(),
                          times->largest(), times->all.size());
    }
  }
  os::write_output_file(wanted.csv, text);
}

void write_chart(const tune_request& wanted, const tuning& found) {
  if (wanted.svg.empty()) return;
  pictures::line_chart chart;
  chart.title = fmt::format("{}: time by static fraction", fs::path(wanted.command[0]).filename().string());
  chart.x_label = "static fraction";
  chart.y_label = found.by == trial_table::measure::run ? "ms of a run" : "ms of all loops";
  pictures::line_chart::curve curve;
  curve.name = wanted.kind;
  for (const auto& [fraction, schedule] : found.curve) {
    if (const trial_table::times* const times = found.times_of(schedule))
      curve.points.push_back({fraction, times->median() * 1e3, times->least() * 1e3, times->largest() * 1e3});
  }
  chart.curves.push_back(std::move(curve));
  for (const std::string& schedule : found.table.schedules()) {
    const bool on_curve =
        std::any_of(found.curve.begin(), found.curve.end(), [&](const auto& p) { return p.second == schedule; });
    const trial_table::times* const times = found.times_of(schedule);
    if (!on_curve && times != nullptr && !schedule.starts_with("tasklets"))
      chart.levels.push_back({schedule, times->median() * 1e3});
  }
  os::write_output_file(wanted.svg, to_svg(chart));
}

}  // namespace tri::tools
