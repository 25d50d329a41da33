// What the thread sanitizer cannot see by itself. It watches one process. When thread A hands a block to another
// process and that process hands it on to our thread B, the hand-overs in between are made where it does not look, and
// A's and B's accesses look like a race. So we tell it: what comes from another process comes after everything that was
// handed to one. That is more order than there is, hence only hand-overs that do leave the process count: a job of one
// process, and every test without an arena, is watched in full. In plain builds both functions are empty.
#pragma once

#include <cstddef>

#include "arena/window.hpp"
#include "os/sanitizer.hpp"

extern "C" {
void __tsan_acquire(void*);  // NOLINT: the sanitizer's names
void __tsan_release(void*);  // NOLINT
}

namespace tri::arena {
namespace detail {
inline char other_processes;     // only its address counts
inline window own_window_place;  // of this process's heap; no bytes while there is none
}  // namespace detail

/// Whether `place` lies in a window of the arena, but not in our own. Memory outside of the arena, and everything while
/// this process has no heap, is nobody else's.
inline bool belongs_to_another_process(const void* place) {
  const window& own = detail::own_window_place;
  const auto offset = reinterpret_cast<std::uintptr_t>(place) - reinterpret_cast<std::uintptr_t>(own.address);
  return own.bytes != 0 && in_arena(place) && offset >= own.bytes;
}

/// The calling thread has put something at `place`. If that lies in the window of another process, then everything that
/// the thread did so far is what that process is now given.
inline void handed_over(const void* place) {
  if constexpr (host::under_thread_sanitizer)
    if (belongs_to_another_process(place)) __tsan_release(&detail::other_processes);
}

/// The calling thread has published what another process draws conclusions from and acts upon towards us, such as a
/// count that tells it that we are done. Not for what our own process alone reads.
inline void published_to_another_process() {
  if constexpr (host::under_thread_sanitizer) __tsan_release(&detail::other_processes);
}

/// The calling thread goes on with something that another process may have given.
inline void taken_over() {
  if constexpr (host::under_thread_sanitizer) __tsan_acquire(&detail::other_processes);
}

}  // namespace tri::arena
