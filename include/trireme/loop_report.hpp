// Where the time of parallel loops goes: computing, waiting for each other, claiming work, moving data.
//
//   tri::measure_loops(tri::loop_measuring::with_one_core_runs);
//   run();
//   std::cerr << tri::to_text(tri::loop_report());
//
// TRIREME_LOOPS_REPORT=on (or full) does that for a whole program and prints the table when it ends. The parts are
// those of V. Kale, PhD dissertation, Illinois 2015, chapter 1, but measured, not modelled. All functions: any thread.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#pragma GCC visibility push(default)

namespace tri {

enum class loop_measuring : std::uint8_t {
  off,
  as_is,              ///< loops run as always
  with_one_core_runs  ///< the second execution of each loop, and later one of 32, run on one core: their time is the
                      ///< computing, and the longer computing of shared executions is data movement
};

/// Applies from now on. Earlier measurements are kept.
void measure_loops(loop_measuring how);

/// One participant's share of a loop, in all measured executions.
struct loop_participant_report {
  std::uint64_t chunks = 0;     ///< claims
  std::uint64_t from_pool = 0;  ///< of these, from the pool without an owner
  std::uint64_t stolen = 0;     ///< of these, from another participant's range
  double steal_distance = 0.0;  ///< mean of those: difference of numbers, the shorter way round
  std::uint64_t iterations = 0;
  std::uint64_t moved_iterations = 0;  ///< run by another participant in the execution before
  double seconds = 0.0;                ///< in bodies
};

/// A loop of the program. The four parts are means over the participants; they add up to `total`.
struct loop_site_report {
  std::string file;
  std::uint32_t line = 0;
  std::string function;
  std::string schedule;                  ///< of the last execution
  std::uint64_t executions = 0;          ///< measured, without the runs on one core
  std::uint64_t one_core_runs = 0;       ///< not in the times below
  std::uint64_t unmeasured = 0;          ///< while the same loop ran in another thread
  std::uint64_t iterations = 0;          ///< of all measured executions
  std::uint64_t claims = 0;              ///< chunks that were run
  std::uint32_t participants = 0;        ///< of the last execution
  double total = 0.0;                    ///< seconds
  double compute = 0.0;                  ///< includes data_movement where that is unknown
  double idle = 0.0;                     ///< before the first and after the last chunk
  double synchronisation = 0.0;          ///< between chunks: claiming, and waiting for claims of others
  std::optional<double> data_movement;   ///< negative when the run on one core was slower, for example because of noise
  double imbalance = 1.0;                ///< longest busy time divided by the mean one
  std::vector<std::string> features;     ///< components of the schedule: "static part", "neighbour stealing" ...
  std::uint64_t dynamic_iterations = 0;  ///< run by a participant that does not own them
  std::uint64_t dynamic_in_sequence = 0;  ///< of these, beside the chunk that the participant ran before
  std::uint64_t moved_iterations = 0;     ///< ran elsewhere than the time before: what caches lose between executions
  std::vector<loop_participant_report> by_participant;
  std::vector<double> steps;  ///< seconds from the beginning of one execution to that of the next; the first 65,536
};

/// The measurements so far, the loop with the largest total first.
std::vector<loop_site_report> loop_report();
/// Discards all measurements so far.
void clear_loop_report();
/// A line per loop.
std::string to_text(std::span<const loop_site_report> loops);
/// For each loop the components of its schedule, their effect, and a line per participant.
std::string to_detailed_text(std::span<const loop_site_report> loops);

}  // namespace tri

#pragma GCC visibility pop
