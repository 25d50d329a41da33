// The drop-in's settings from environment variables. Read once; constant afterwards.
//   TRIREME_OMP_SCHEDULE  a loop schedule, or `native`: leave every loop to the native runtime
//   OMP_SCHEDULE          the same behind `tri:`, when the first is not set
//   TRIREME_OMP_NOISE     microseconds that a disturbance of a core lasts, for schedules with a model; else measured
//   TRIREME_SLACK         how waits in MPI calls are remembered, for schedules that use slack: `call-path`,
//                         `operation`, `naive=MICROSECONDS`, `naive` (measured when MPI starts), `off`; with
//                         `,window=N` the median of the last N waits. Default `call-path,window=3`
//   TRIREME_OMP_REPORT    number of the process that reports even without loops; others report only loops they saw
#pragma once

#include <string>

#include "trireme/detail/schedules/loop_schedule.hpp"
#include "trireme/slack.hpp"

namespace tri::omp {

inline constexpr const char* schedule_variable = "TRIREME_OMP_SCHEDULE";
inline constexpr const char* noise_variable = "TRIREME_OMP_NOISE";
inline constexpr const char* slack_variable = "TRIREME_SLACK";
inline constexpr const char* report_variable = "TRIREME_OMP_REPORT";

struct settings {
  bool takes = true;               // false: `native`
  bool standard_schedule = false;  // OMP_SCHEDULE is set for the native runtime
  schedules::schedule schedule{};
  bool learns = true;    // the schedule has a memory of each loop
  bool weights = false;  // ... and blocks by weights, also of static loops
  bool uses_slack = false;
  tri::slack::settings slack{.by = tri::slack::history::call_path, .window = 3};
  double naive_slack_us = 0;
  bool measures_naive_slack = false;  // by a trial when MPI begins
  double noise_us = -1;               // negative: to be measured
  bool report = false;
  bool report_always = false;

  std::string schedule_text() const;
};

// Throws std::invalid_argument naming the variable. Pointers may be null: not set.
settings read_settings(const char* trireme_schedule, const char* omp_schedule, const char* noise, const char* waits,
                       const char* report, int process);

// Those of this process. The first call reads the environment and ends the process with status 2 and a message if it
// is wrong.
const settings& the_settings();

}  // namespace tri::omp
