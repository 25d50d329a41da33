#include "objects/balance/work_rate.hpp"

#include <algorithm>
#include <cstdint>

namespace tri::objects {

// A chain of dependent steps: its time is that of the core alone, whatever lies in the caches.
double measured_work_rate(os::task_clock& clock) {
  constexpr int runs = 5;
  constexpr std::uint64_t steps = 8192;
  std::uint64_t best = ~std::uint64_t{0};
  for (int run = 0; run < runs; ++run) {
    const std::uint64_t before = clock.read();
    std::uint64_t value = before;
    for (std::uint64_t step = 0; step < steps; ++step) {
      value = value * 0x5851f42d4c957f2du + step;
      asm volatile("" : "+r"(value));  // each step is really done
    }
    best = std::min(best, clock.read() - before);
  }
  return static_cast<double>(steps) / std::max(1.0, os::ticks_to_ns(best));
}

}  // namespace tri::objects
