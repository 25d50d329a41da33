// Parallel regions on virtual threads: contexts with stacks, switched by the threads of the native runtime as the
// schedule (virtual_schedule.hpp) says. One region of several threads exists at a time; nested regions have one thread,
// and so have regions that other threads of the process start meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>

#include "omp/fibers/virtual_thread_state.hpp"
#include "omp/team_context.hpp"

namespace tri::omp {

struct region_start {
  void (*function)(void*) = nullptr;
  void* data = nullptr;
  unsigned threads = 0;                  // requested by the program; 0: from its control variables
  unsigned flags = 0;                    // for the native runtime
  const loop_start* combined = nullptr;  // the loop that the body is inside from its beginning, or null
  unsigned sections = 0;                 // the same for sections
};
/// False, with nothing done: there are no virtual threads.
bool run_on_virtual_threads(const region_start& start);

/// For loops that all threads of a region take.
std::uint32_t threads_here();

/// Until all threads of the region are here.
void wait_at_barrier(virtual_thread_state& state);
/// Sections begin; `count` of them.
void begin_sections(virtual_thread_state& state, unsigned count);

/// Critical sections and locks: a word in the program's storage, 0 while it is free.
void take_word(virtual_thread_state* state, std::uint32_t* word);
bool try_word(std::uint32_t* word);
void release_word(virtual_thread_state* state, std::uint32_t* word);
/// Lets others run: this thread may be polling for something that they provide.
void yield(virtual_thread_state* state);
/// Until it is the turn of the chunk that the thread works on.
void wait_for_turn(virtual_thread_state& state);
/// ... and then the next one's.
void pass_turn(virtual_thread_state& state);

/// Calls function(argument), on a new stack when this one is nearly full: tasks that run at once nest deeper than the
/// native runtime's.
void call_on_large_stack(virtual_thread_state& state, void (*function)(void*), void* argument);

void count_task(virtual_thread_state& state);

struct virtual_totals {
  std::uint64_t regions = 0;
  std::uint64_t of_one = 0;  // regions of one thread
  std::uint64_t contexts = 0;
  std::uint64_t stolen = 0;
  std::uint64_t suspended = 0;
  std::uint64_t tasks = 0;
};
virtual_totals counted_so_far();
void forget_totals();

}  // namespace tri::omp
