// Annotations for the thread sanitizer, which sees one process. When thread A passes a block to another process and
// that process passes it on to our thread B, the sanitizer does not see the hand-overs in between, and reports A's and
// B's accesses as a race. So we declare: data received from another process happens after everything passed to one.
// That is more order than exists, so only hand-overs that leave the process count: a job of one process, and every test
// without an arena, is checked in full. In plain builds both functions are empty.
#pragma once

#include "trireme/detail/os/sanitizer.hpp"

#pragma GCC visibility push(default)

namespace tri::arena {

struct window;

namespace detail {
void annotate_handed_over();
void annotate_taken_over();
/// Of this process's heap; no bytes while there is none.
void set_own_window(const window& own);
void forget_own_window(const window& own);
}  // namespace detail

/// Whether `place` is in a window of the arena other than our own. False for memory outside of the arena, and for
/// everything while this process has no heap.
bool belongs_to_another_process(const void* place);

/// The calling thread has written to `place`. If that is in the window of another process, all earlier actions of the
/// thread are released to that process.
inline void handed_over(const void* place) {
  if constexpr (os::under_thread_sanitizer)
    if (belongs_to_another_process(place)) detail::annotate_handed_over();
}

/// The calling thread has published state to which another process reacts by acting on our memory, such as a count that
/// reports that we are done. Not for state read only by our own process.
inline void published_to_another_process() {
  if constexpr (os::under_thread_sanitizer) detail::annotate_handed_over();
}

/// The calling thread continues with data that another process may have passed.
inline void taken_over() {
  if constexpr (os::under_thread_sanitizer) detail::annotate_taken_over();
}

}  // namespace tri::arena

#pragma GCC visibility pop
