// What the thread sanitizer cannot see by itself. It watches one process. When thread A hands a block to another
// process and that process hands it on to our thread B, the hand-overs in between are made where it does not look, and
// A's and B's accesses look like a race. So we tell it: what comes from another process comes after everything that was
// handed to one. That is more order than there is, hence only hand-overs that do leave the process count: a job of one
// process, and every test without an arena, is watched in full. In plain builds both functions are empty.
#pragma once

#include "trireme/detail/os/sanitizer.hpp"

#pragma GCC visibility push(default)

namespace tri::arena {

struct window;

namespace detail {
void tell_sanitizer_handed_over();
void tell_sanitizer_taken_over();
/// Of this process's heap; no bytes while there is none.
void set_own_window(const window& own);
void forget_own_window(const window& own);
}  // namespace detail

/// Whether `place` lies in a window of the arena, but not in our own. Memory outside of the arena, and everything while
/// this process has no heap, is nobody else's.
bool belongs_to_another_process(const void* place);

/// The calling thread has put something at `place`. If that lies in the window of another process, then everything that
/// the thread did so far is what that process is now given.
inline void handed_over(const void* place) {
  if constexpr (host::under_thread_sanitizer)
    if (belongs_to_another_process(place)) detail::tell_sanitizer_handed_over();
}

/// The calling thread has published what another process draws conclusions from and acts upon towards us, such as a
/// count that tells it that we are done. Not for what our own process alone reads.
inline void published_to_another_process() {
  if constexpr (host::under_thread_sanitizer) detail::tell_sanitizer_handed_over();
}

/// The calling thread goes on with something that another process may have given.
inline void taken_over() {
  if constexpr (host::under_thread_sanitizer) detail::tell_sanitizer_taken_over();
}

}  // namespace tri::arena

#pragma GCC visibility pop
