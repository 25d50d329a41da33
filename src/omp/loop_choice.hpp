// The layout of one loop of the program under the chosen schedule, keeping what the program was promised.
#pragma once

#include <cstdint>

#include "loops/loop_layout.hpp"

namespace tri::omp {

struct loop_facts {
  std::uint64_t items = 0;
  std::uint32_t threads = 1;
  std::uint64_t chunk = 1;  // that the program named, 1 if it named none; pieces are made of whole chunks
  bool monotonic = false;   // every thread must get its iterations in rising order
};

loops::loop_layout choose_layout(const loops::schedule& schedule, const loop_facts& loop);

// Nobody can get an iteration that comes before one it already had.
bool is_monotonic(const loops::loop_layout& layout);

}  // namespace tri::omp
