// The command line of loop_kernels: one subcommand per kernel, the same options for all, a few of its own for each.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "experiment.hpp"

namespace kernels {

struct request {
  std::string kernel_name;
  std::function<std::unique_ptr<kernel>()> make;  ///< after the number of threads is set: it runs loops
  experiment_plan plan;
  int threads = 0;  ///< 0: TRIREME_PES, or the cores that the process may use
  std::string csv_file;
  std::string svg_file;
  bool quiet = false;
};

/// Throws exit_request for --help and for a command line that is wrong.
request read_command_line(int argc, const char* const* argv);

/// The program shall print `text` and end.
struct exit_request {
  int status = 0;
  std::string text;
};

/// Static fractions of a sweep: 0, step, 2 step, ..., 1. Throws std::invalid_argument when step is not in (0, 1].
std::vector<double> sweep_fractions(double step);

}  // namespace kernels
