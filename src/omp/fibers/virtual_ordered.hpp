// Ordered loops on virtual threads, whose turns a context can wait for. Chunks are taken one after the other, by the
// program's chunk; static ones stay where the program may expect them.
#pragma once

#include "omp/fibers/virtual_thread_state.hpp"
#include "omp/iteration_space.hpp"

namespace tri::omp {

enum class ordered_kind : std::uint8_t { in_turn, static_chunks, static_blocks };

/// By each thread of the region; `site` is the place in the program, for the report.
void begin_ordered_loop(virtual_thread_state& state, const void* site, const iteration_space& space, ordered_kind kind);

struct ordered_chunk {
  bool any = false;
  std::uint64_t first = 0;  // items
  std::uint64_t last = 0;
};
/// The next chunk of this thread; passes on the turn of the previous one, once it has it.
ordered_chunk next_ordered_chunk(virtual_thread_state& state);

/// The thread is through with a loop (ordered or not) or sections, and waits for the others if it has to.
void end_work(virtual_thread_state& state, bool waits);

}  // namespace tri::omp
