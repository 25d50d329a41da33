// A preload library that is nothing but the user heap, and a few functions by which the programs under test look into
// it.
#include <sys/stat.h>

#include <cstring>

#include "mpi/heap/core_dumps.hpp"
#include "mpi/heap/fork_copy.hpp"
#include "mpi/heap/heap_parts.hpp"
#include "mpi/heap/heap_window.hpp"
#include "mpi/heap/static_data.hpp"
#include "mpi/heap/user_heap.hpp"

#define TEST_EXPORT extern "C" [[gnu::visibility("default")]]

TEST_EXPORT int heap_test_in_window(const void* address, std::size_t bytes) {
  const auto& heap = tri::mpi::user_heap();
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(address) - heap.window);
  return heap.window != nullptr && offset < heap.window_bytes && bytes <= heap.window_bytes - offset ? 1 : 0;
}
TEST_EXPORT const char* heap_test_reason() { return tri::mpi::user_heap().reason; }
TEST_EXPORT int heap_test_slot() { return tri::mpi::user_heap().slot; }
TEST_EXPORT long heap_test_phase() { return static_cast<long>(tri::mpi::user_heap().phase); }
TEST_EXPORT int heap_test_file() { return tri::mpi::user_heap().file; }
TEST_EXPORT int heap_test_slot_file() { return tri::mpi::user_heap().slot_file; }
TEST_EXPORT std::size_t heap_test_window_bytes() { return tri::mpi::user_heap().window_bytes; }
TEST_EXPORT std::size_t heap_test_in_use() { return tri::mpi::use_of_user_heap().pages.in_use_bytes; }
TEST_EXPORT std::uint64_t heap_test_outside() { return tri::mpi::use_of_user_heap().blocks_outside; }
TEST_EXPORT std::uint64_t heap_test_fork_copies() { return tri::mpi::use_of_fork_copies().copies; }
TEST_EXPORT std::uint64_t heap_test_fork_bytes() { return tri::mpi::use_of_fork_copies().copied_bytes; }
TEST_EXPORT std::uint64_t heap_test_fork_views() { return tri::mpi::use_of_fork_copies().views; }
TEST_EXPORT int heap_test_valid() { return tri::mpi::heap_pages.is_valid() ? 1 : 0; }
TEST_EXPORT void heap_test_trim() { tri::mpi::trim_user_heap(); }
TEST_EXPORT std::size_t heap_test_resident() {
  struct stat status {};
  return fstat(tri::mpi::user_heap().file, &status) == 0 ? static_cast<std::size_t>(status.st_blocks) * 512 : 0;
}
TEST_EXPORT void heap_test_keep_core_dumps_small() { tri::mpi::keep_core_dumps_small(); }
TEST_EXPORT int heap_test_map_peer(unsigned slot, int file, std::size_t bytes) {
  return tri::mpi::map_peer_heap(slot, file, bytes);
}
TEST_EXPORT void* heap_test_shared_address(const void* address, std::size_t bytes) {
  return tri::mpi::shared_address_of(address, bytes);
}
TEST_EXPORT int heap_test_owns_descriptors() { return tri::mpi::owns_heap_descriptors() ? 1 : 0; }
TEST_EXPORT long heap_test_check_static_data() { return tri::mpi::check_static_data() ? 1 : 0; }
