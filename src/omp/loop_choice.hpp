// The layout of one loop of the program under the chosen schedule, keeping what the program was promised.
#pragma once

#include <cstdint>

#include "loops/loop_layout.hpp"

namespace tri::omp {

struct loop_facts {
  std::uint64_t units = 0;  // pieces that stay together: chunks that the program names, or iterations
  std::uint64_t unit = 1;   // iterations in one
  std::uint32_t threads = 1;
  bool monotonic = false;  // every thread must get its iterations in rising order
};

// The items of the layout are units.
loops::loop_layout choose_layout(const loops::schedule& schedule, const loop_facts& loop);

// Nobody can get an iteration that comes before one it already had.
bool is_monotonic(const loops::loop_layout& layout);

}  // namespace tri::omp
