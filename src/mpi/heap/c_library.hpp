// The C library's own allocator, by names that our exported malloc does not hide, and detection of calls from inside
// the C library.
//
// What the C library and the dynamic linker allocate for themselves (streams, thread tables, link maps) stays in the C
// library's heap: in a forked child they access it before any fork handler runs, while the window is still the
// parent's.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
}

namespace tri::mpi {

struct code_range {
  std::uintptr_t first = 0;
  std::uintptr_t bytes = 0;
  bool holds(const void* address) const { return reinterpret_cast<std::uintptr_t>(address) - first < bytes; }
};
extern code_range c_library_code;
extern code_range dynamic_linker_code;

/// Finds the two ranges. Until then no caller is found to be inside them.
void find_c_library();

inline bool called_by_c_library(const void* return_address) {
  return c_library_code.holds(return_address) || dynamic_linker_code.holds(return_address);
}

/// The next allocator after ours: the C library's, or that of another loaded library (then there is no shared heap).
struct next_allocator {
  void* (*malloc)(std::size_t) = &__libc_malloc;
  void* (*calloc)(std::size_t, std::size_t) = &__libc_calloc;
  void* (*realloc)(void*, std::size_t) = &__libc_realloc;
  void* (*memalign)(std::size_t, std::size_t) = &__libc_memalign;
  void (*free)(void*) = &__libc_free;
};
extern next_allocator behind;

/// Looks for other allocators. Returns the file that defines one before or after ours, or nullptr. `behind` is set
/// either way.
const char* find_other_allocator();

/// malloc_usable_size of the allocator behind ours.
std::size_t usable_bytes_behind(void* block);

}  // namespace tri::mpi
