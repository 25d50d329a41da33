// Time for the hot paths: ticks() is the cheapest monotonic counter of the machine, calibrated once per process;
// now_ns() is the system's monotonic clock, which all processes of the machine share. Any thread.
#pragma once

#include <cstdint>
#include <ctime>

#include "os/cpu/cpu_hints.hpp"

namespace tri::os {

inline std::int64_t now_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Not ordered with the loads and stores around it: bracket work of at least some tens of nanoseconds.
inline std::uint64_t ticks() {
#if defined(__x86_64__)
  return cycle_counter();
#else
  return static_cast<std::uint64_t>(now_ns());
#endif
}

struct clock_pair {
  std::uint64_t tick;
  std::int64_t ns;
};

// Both clocks at one moment.
clock_pair both_clocks();

// Nanoseconds of one tick. Within the first 5 ms of a process the first call waits until those are over, to compare the
// two clocks.
double ns_per_tick();

// A difference of two ticks() in nanoseconds.
inline double ticks_to_ns(std::uint64_t difference) { return static_cast<double>(difference) * ns_per_tick(); }

// The other way, for deadlines in ticks.
inline std::uint64_t ns_to_ticks(double ns) { return static_cast<std::uint64_t>(ns / ns_per_tick()); }

}  // namespace tri::os
