// A file into which a program writes what its loops took (TRIREME_LOOPS_REPORT_FILE). It is in memory, so nothing is
// left behind however this process ends.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "os/unique_fd.hpp"
#include "tune/trial_table.hpp"

namespace tri::tools {

class loop_report_file {
 public:
  /// Throws std::runtime_error when there is no room for it.
  loop_report_file();
  loop_report_file(const loop_report_file&) = delete;
  loop_report_file& operator=(const loop_report_file&) = delete;
  const std::string& name() const { return name_; }

  struct reported {
    std::map<loop_location, trial::loop_time> loops;
    /// Of the loop with the longest total: from the beginning of each execution to that of the next, in seconds.
    std::vector<double> steps;
    loop_location of_steps;
  };
  /// Of the run that was just made; empty when the program has no loops of ours. The file is empty afterwards.
  reported take() const;
  /// The text as written.
  std::string text() const;

 private:
  os::unique_fd memory_;
  std::string name_;
};

}  // namespace tri::tools
