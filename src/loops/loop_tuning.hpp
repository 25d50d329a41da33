// Chooses the schedule of a loop for which the program names none: the one found by tuning for its source location
// (tune file, TRIREME_LOOPS_TUNE), else the default (TRIREME_LOOPS_SCHEDULE, `automatic`). `trireme tune` writes the
// file. Set before the first loop of the process; constant afterwards.
#pragma once

#include <atomic>
#include <map>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/detail/schedules/loop_schedule.hpp"

namespace tri::loops {

class tune_file_error : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

struct tuned_loop {
  std::string file;  ///< as the compiler was given it
  std::uint32_t line = 0;
  std::string schedule;
};

struct tune_file {
  std::string machine;  ///< fingerprint of the one it was made on
  std::string program;
  std::string schedule;  ///< for loops that are not named, and of an OpenMP program; may be empty
  bool omp = false;      ///< for an OpenMP program under the drop-in
  std::vector<tuned_loop> loops;

  /// Throws tune_file_error with the name of the file and the error: missing, not a tune file, a malformed schedule, or
  /// another machine.
  static tune_file read(const std::string& name, const std::string& this_machine);
};

/// A description that distinguishes machines, readable and comparable: model, cores, caches, and the number of CPUs of
/// this process.
std::string machine_fingerprint();

/// Loops without a schedule of their own must be looked up. relaxed everywhere: set before the first loop.
inline std::atomic<bool> tuning{false};

/// Texts as the options have them. Throws std::invalid_argument.
void set_loop_tuning(const std::string& schedule_text, const std::string& file);

const schedules::schedule& default_schedule();
/// That of the tune file for the location, or the default one.
const schedules::schedule& tuned_schedule(const std::source_location& location);

}  // namespace tri::loops
