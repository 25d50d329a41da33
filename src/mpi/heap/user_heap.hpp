// The user heap: memory that malloc and its family return to the program, in the window of this process, so that every
// process of the job on the host can access it at the same address. Started by the first allocation, before main. Where
// there is no shared heap (no MPI job, limits, no room), the C library's own allocator serves everything and `reason`
// explains it.
//
// Blocks that the C library handed out (before the start, or when the window is full) go back to the C library.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi/heap/addresses.hpp"
#include "mpi/heap/page_runs.hpp"

namespace tri::mpi {

enum class heap_phase : std::uint8_t {
  untouched,     ///< nothing was allocated yet
  starting,      ///< the C library's allocator serves until the start is complete
  shared,        ///< the heap is in the window
  private_copy,  ///< in a forked child: a private copy of the parent's heap, at the same addresses
  off            ///< the C library's allocator serves; see `reason`
};

/// State for the rest of the drop-in. Fixed once the heap has started, except for `phase` in a forked child.
struct user_heap_state {
  heap_phase phase = heap_phase::untouched;
  int slot = -1;       ///< -1: none was claimed
  int slot_file = -1;  ///< holds the lock that is the slot (slot_claim.hpp)
  int file = -1;       ///< the window's memory file, for the peers
  std::byte* window = nullptr;
  std::size_t window_bytes = 0;
  const char* job = "";
  const char* reason = "";  ///< one line; empty while there is a shared heap
  const char* static_data_reason =
      "";  ///< one line, when static data was not moved into the window though there is some
};
const user_heap_state& user_heap();

/// Starts the heap if no allocation did it before. May be called any number of times.
void start_user_heap();

/// Whether slot_file and file are still the files that the start opened: a program may have closed all descriptors, and
/// then the slot may belong to another process. For MPI_Init; without them there is no sharing.
bool owns_heap_descriptors();

struct user_heap_use {
  page_use pages;
  std::uint64_t blocks_outside = 0;  ///< blocks served by the C library because the window was full
};
user_heap_use use_of_user_heap();

/// Returns free memory to the system (malloc_trim): all pages without a block in use, also those whose free blocks only
/// this thread caches. Other threads keep their caches.
void trim_user_heap();

// The allocator behind the C functions. None sets errno except to ENOMEM with a nullptr.
void* heap_allocate(std::size_t bytes);
void* heap_allocate_zeroed(std::size_t count, std::size_t bytes);
void* heap_allocate_aligned(std::size_t alignment, std::size_t bytes);  ///< alignment: a power of two
void* heap_reallocate(void* block, std::size_t bytes);
void heap_release(void* block);
std::size_t heap_usable_bytes(void* block);

}  // namespace tri::mpi
