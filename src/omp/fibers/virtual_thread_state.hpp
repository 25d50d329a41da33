// The state of a virtual thread: one record for each enclosing region, on the thread's stack or in its context. The
// source for omp_get_thread_num and the like, with the counters of a region's constructs. Threads outside of every
// region have none.
//
// The current record belongs to the thread of the native runtime and changes when it switches contexts. Code that may
// be suspended reads it once, on entry, and continues with the pointer: a compiler may keep the address of a
// thread-local variable across a call from which another thread returns.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>

#include "omp/fibers/virtual_turns.hpp"
#include "omp/iteration_space.hpp"
#include "omp/spin_lock.hpp"

namespace tri::omp {

class virtual_context;

// One ordered loop, shared by the team.
struct ordered_loop {
  ordered_loop(std::uint32_t threads, const iteration_space& loop, bool blocks)
      : turns(threads), space(loop), in_blocks(blocks) {}
  chunk_turns<spin_lock> turns;
  iteration_space space;  // in units of the program's chunk
  bool in_blocks;         // static without a chunk: one block for each thread
  std::atomic<std::uint64_t> next_unit{0};
  std::uint32_t left = 0;  // threads that are through; under team_share::guard
};

// The shared state of a region's threads, besides their loops.
struct team_share {
  std::atomic<std::uint64_t> singles{0};  // taken by some thread
  std::atomic<void*> copied{nullptr};     // copyprivate: where the values of the last single are
  spin_lock guard;                        // for what follows
  std::map<std::uint64_t, std::unique_ptr<ordered_loop>> ordered;  // by number, while in use
};

// Internal control variables, which every task has its own of.
struct control_variables {
  int threads = 1;  // wanted for the next region
  bool dynamic = false;
  bool has_schedule = false;  // set inside a region: not the runtime's
  int schedule_kind = 1;      // static
  int schedule_chunk = 0;
};

struct virtual_thread_state {
  const virtual_thread_state* outer = nullptr;
  virtual_context* context = nullptr;  // null: a region of one thread, outside of every larger one
  team_share* share = nullptr;
  std::uint32_t thread = 0;
  std::uint32_t threads = 1;
  std::uint32_t level = 1;
  std::uint32_t active_level = 0;
  control_variables control;
  bool in_final = false;  // a final task

  // Constructs that this thread has met in this region.
  std::uint64_t singles = 0;
  std::uint64_t ordered_loops = 0;
  ordered_loop* ordered = nullptr;  // the thread is inside
  std::uint64_t ordered_number = 0;
  std::uint64_t chunk = 0;   // that the thread works on
  std::uint64_t chunks = 0;  // that it has had
  bool has_chunk = false;
  bool in_static_chunks = false;
  std::uint64_t section = 0;  // next one of those claimed
  std::uint64_t last_section = 0;
};

extern thread_local virtual_thread_state* state_of_thread [[gnu::tls_model("initial-exec")]];

inline virtual_thread_state* current_state() { return state_of_thread; }
/// A function call, so that it reads the state of the thread that resumes, not of the one that was here before.
void go_to(virtual_thread_state* state);

}  // namespace tri::omp
