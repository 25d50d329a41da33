// One run of a job: its time, a figure that it prints, and its memory. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "os/text_pattern.hpp"
#include "sweep/job_memory.hpp"

namespace tri::tools {

struct run_request {
  std::vector<std::string> command;          ///< a launcher: the job consists of what descends from it
  const os::text_pattern* figure = nullptr;  ///< of a line of output; null: the time of the run
  bool show_output = false;                  ///< let standard output and errors through
};

struct run_figures {
  double seconds = 0;            ///< from the start of the launcher to its end
  std::optional<double> figure;  ///< the first group of the last line that matches
  process_memory peak;           ///< the largest sum over the processes of the job that was seen
  int samples = 0;               ///< how often one looked; 0: the job was too short
};

/// Throws program_failed when the command cannot be started, does not end with status 0, or prints no figure.
run_figures run_measured(const run_request& request);

}  // namespace tri::tools
