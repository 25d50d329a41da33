// The runs of `trireme tune`: a program under many loop schedules, each several times. Called by the command; what was
// found is shown by tuning_output.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tune/trial_table.hpp"

namespace tri::tools {

/// The options of the command.
struct tune_request {
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

/// What the trials showed.
struct tuning {
  trial_table table;
  trial_table::measure by = trial_table::measure::run;  // what decides
  std::vector<std::pair<double, std::string>> curve;    // static fractions, and the schedule of each
  std::string usual;                                    // automatic, as the table has it

  const trial_table::times* times_of(const std::string& schedule) const {
    return by == trial_table::measure::run ? table.of_run(schedule) : table.of_loops(schedule);
  }
};

/// Runs the program as often as that takes. Throws std::runtime_error, program_failed among them, when there is nothing
/// to choose.
tuning tune(const tune_request& wanted);

}  // namespace tri::tools
