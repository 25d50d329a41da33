// Whether this process has virtual threads, decided once: at the program's first use of OpenMP, when its objects are
// loaded. And the settings that are then the same for the whole process.
#pragma once

#include <atomic>
#include <cstdint>

#include "omp/fibers/virtual_thread_state.hpp"

namespace tri::omp {

struct virtual_settings {
  std::uint32_t per_carrier = 1;    // k
  std::uint32_t carriers = 1;       // p: threads of the native runtime in a region, at most
  std::uint32_t most_contexts = 1;  // in a region
  bool parallel = true;             // false: the program is to run without threads (OMP_MAX_ACTIVE_LEVELS=0)
  bool started_may_move = true;     // from carrier to carrier
  double stall_s = 0;               // of the watchdog
  int spins = 0;                    // moments that a carrier without work waits before it sleeps
};

enum class virtual_state : std::uint8_t { undecided, off, on };
extern std::atomic<virtual_state> virtual_mode;
virtual_state decide_virtual_mode();

/// The program runs on virtual threads.
inline bool virtual_on() {
  virtual_state state = virtual_mode.load(std::memory_order_acquire);  // pairs: virtual_mode.decide
  if (state == virtual_state::undecided) state = decide_virtual_mode();
  return state == virtual_state::on;
}
/// While it does.
const virtual_settings& the_virtual_settings();
/// Of this thread of the program, outside of every region. Each has its own; they begin with the environment's values.
control_variables& outer_control();

/// Whether this library interposes omp_*: otherwise there are no virtual threads.
bool has_virtual_api_routines();

/// Reads the environment; ends the process with status 2 and a message if the request is invalid. At load.
void read_virtual_request();
/// A line for --report, or nothing if virtual threads were not requested.
void print_virtual_report();
void forget_virtual_counts();

}  // namespace tri::omp
