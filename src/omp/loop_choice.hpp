// The layout of one loop of the program under the chosen schedule, within OpenMP's guarantees, using what was learned
// of that loop before.
#pragma once

#include <cstdint>
#include <string>

#include "schedules/loop_layout.hpp"
#include "schedules/loop_memory.hpp"
#include "schedules/loop_sequence.hpp"
#include "schedules/worksharing_loop.hpp"

namespace tri::omp {

// How the iterations go to the threads. Requests by the standard's means are honoured to the iteration: programs may
// rely on static loops with the same bounds giving each thread the same iterations.
enum class distribution : std::uint8_t {
  chosen,         // by our schedule
  static_blocks,  // one block for each thread, the first ones longer by one: as both native runtimes and gcc's own code
                  // do
  static_chunks   // units in turn
};

struct loop_facts {
  std::uint64_t units = 0;  // chunks that stay together: chunks that the program names, or iterations
  std::uint64_t unit = 1;   // iterations in one
  std::uint32_t threads = 1;
  bool monotonic = false;  // every thread must get its iterations in increasing order
  distribution shares = distribution::chosen;
};

// The key under which a loop is remembered. Iteration counts with the same power of two give the same key, so that a
// loop that gets a little shorter each time is recognized.
schedules::loop_key key_of(const void* site, const loop_facts& loop);

// Arms a record that was found for this key.
void arm_loop(schedules::worksharing_loop& record, const schedules::loop_key& key, schedules::held_before held);

// The schedule for a loop: chunks in units, and another kind where iterations must rise and its own would not.
schedules::schedule schedule_of(const schedules::schedule& wanted, const loop_facts& loop);
// The items of the layout are units.
schedules::loop_layout choose_layout(const schedules::schedule& wanted, const loop_facts& loop);

// No thread can get an iteration before one that it already had.
bool is_monotonic(const schedules::loop_layout& layout);

// What was learned of the loops of this call site, as text; empty when nothing was.
std::string learned_of(const void* site);
// A line of such a text.
std::string learned_line(const schedules::loop_key& key, const std::string& what);

}  // namespace tri::omp
