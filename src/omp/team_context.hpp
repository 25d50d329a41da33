// The drop-in's state of a team of threads that the native runtime started, and of each thread in it. A region exists
// from the call that starts a parallel region to its end, on the stack of the starting thread; a thread_context while a
// thread is in the program's part of the region, on that thread's stack. Threads without one, or inside a region that
// started in an unsupported way, leave loops to the native runtime.
#pragma once

#include <cstdint>

#include "omp/iteration_space.hpp"
#include "omp/loop_choice.hpp"
#include "omp/static_shares.hpp"
#include "schedules/loop_sequence.hpp"
#include "schedules/worksharing_loop.hpp"

namespace tri::omp {

struct team_context {
  schedules::loop_sequence loops;
  static_shares shares;
  team_context* next_spare = nullptr;
};

// A team for a region that begins now; afterwards it is kept for the next region of this thread.
class borrowed_team {
 public:
  borrowed_team();
  ~borrowed_team();
  borrowed_team(const borrowed_team&) = delete;
  borrowed_team& operator=(const borrowed_team&) = delete;
  team_context& get() { return *team_; }

 private:
  team_context* team_;
};

inline constexpr std::uint32_t unknown_thread = ~std::uint32_t{0};

struct thread_context {
  explicit thread_context(team_context& within, std::uint32_t number = unknown_thread);
  ~thread_context();
  thread_context(const thread_context&) = delete;
  thread_context& operator=(const thread_context&) = delete;

  team_context& of;
  thread_context* outer;
  std::uint32_t thread;         // number in the team; fetched when the first loop needs it
  std::uint32_t untracked = 0;  // nested regions that started in an unsupported way
  bool in_loop = false;         // the thread is in a loop that we have taken
  bool took_last = false;       // the last loop was taken
  bool doacross_next = false;   // the next loop has cross-iteration dependences
  schedules::loop_sequence::position in_sequence;
  schedules::fetch_position position;
  iteration_space space;
  static_share* in_static = nullptr;  // the static loop that it is in, if that is shared out by weights
  std::uint64_t static_since = 0;     // tick

  // The iterations of the taken loop to run next, if any.
  schedules::item_span next_items() {
    const schedules::item_span units = position.next();
    if (units.empty()) return {};
    return {units.first * space.unit, space.item_of(units.last)};
  }
};

// Of this thread. initial-exec: the library is loaded at the start, so its place is known and costs one instruction.
extern thread_local thread_context* this_thread [[gnu::tls_model("initial-exec")]];

// The context whose loops we may schedule, or null.
inline thread_context* followed() {
  thread_context* const context = this_thread;
  return context != nullptr && context->untracked == 0 ? context : nullptr;
}
// The context of a thread that is inside a taken loop, or null.
inline thread_context* in_taken_loop() {
  thread_context* const context = followed();
  return context != nullptr && context->in_loop ? context : nullptr;
}
// An unsupported region starts or ends on this thread.
inline void enter_untracked() {
  if (this_thread != nullptr) ++this_thread->untracked;
}
inline void leave_untracked() {
  if (this_thread != nullptr && this_thread->untracked > 0) --this_thread->untracked;
}

struct loop_start {
  const void* site = nullptr;    // return address of the call
  const char* source = nullptr;  // when libomp provides it
  bool monotonic = false;
  distribution shares = distribution::chosen;
  iteration_space space{};
};

// Enters a loop shared by all threads of the team. `threads()` is called once per loop.
void begin_loop(thread_context& context, const loop_start& loop, std::uint32_t (*threads)());

}  // namespace tri::omp
