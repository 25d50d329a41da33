#include "trireme/detail/arena/sanitizer_handover.hpp"

#include <cstdint>

#include "arena/window.hpp"

extern "C" {
void __tsan_acquire(void*);  // NOLINT: the sanitizer's names
void __tsan_release(void*);  // NOLINT
}

namespace tri::arena {
namespace {
[[maybe_unused]] char other_processes;  // only its address counts
window own_window;
}  // namespace

namespace detail {
void annotate_handed_over() {
  if constexpr (os::under_thread_sanitizer) __tsan_release(&other_processes);
}
void annotate_taken_over() {
  if constexpr (os::under_thread_sanitizer) __tsan_acquire(&other_processes);
}
void set_own_window(const window& own) { own_window = own; }
void forget_own_window(const window& own) {
  if (own_window.address == own.address) own_window = {};
}
}  // namespace detail

bool belongs_to_another_process(const void* place) {
  const auto offset = reinterpret_cast<std::uintptr_t>(place) - reinterpret_cast<std::uintptr_t>(own_window.address);
  return own_window.bytes != 0 && in_arena(place) && offset >= own_window.bytes;
}

}  // namespace tri::arena
