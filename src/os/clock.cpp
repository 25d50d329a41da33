#include "os/clock.hpp"

#include <algorithm>
#include <limits>

namespace tri::os {

// Of several tries the one with the shortest bracket, so that a preemption between the two reads does not count.
clock_pair both_clocks() {
  clock_pair best{};
  std::uint64_t shortest = std::numeric_limits<std::uint64_t>::max();
  for (int i = 0; i < 16; ++i) {
    const std::uint64_t before = ticks();
    const std::int64_t ns = now_ns();
    const std::uint64_t bracket = ticks() - before;
    if (bracket < shortest) {
      shortest = bracket;
      best = {before + bracket / 2, ns};
    }
  }
  return best;
}

namespace {

// Read when the program starts, so that the first caller, some milliseconds later, need not wait.
const clock_pair& both_at_start() {
  static const clock_pair at_start = both_clocks();
  return at_start;
}
[[maybe_unused]] const clock_pair& start_of_program = both_at_start();

double calibrate() {
  constexpr std::int64_t calibration_ns = 5'000'000;
  const clock_pair begin = both_at_start();
  while (now_ns() - begin.ns < calibration_ns) {
  }
  const clock_pair end = both_clocks();
  return static_cast<double>(end.ns - begin.ns) /
         static_cast<double>(std::max<std::uint64_t>(end.tick - begin.tick, 1));
}

}  // namespace

double ns_per_tick() {
  static const double value = calibrate();
  return value;
}

}  // namespace tri::os
