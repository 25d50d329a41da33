// malloc and its family, exported by the preload library in place of the C library's. C++'s operator new calls malloc.
//
// Every function first checks its caller: the C library and the dynamic linker keep their own heap (see c_library.hpp).

#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "mpi/heap/c_library.hpp"
#include "mpi/heap/user_heap.hpp"

#define TRIREME_EXPORT extern "C" [[gnu::visibility("default")]]

using tri::mpi::called_by_c_library;

namespace {

bool is_power_of_two(std::size_t number) { return number != 0 && (number & (number - 1)) == 0; }

// As in the C library: alignments that are not a power of two are rounded up to one.
void* aligned(std::size_t alignment, std::size_t bytes) {
  if (alignment > SIZE_MAX / 2 + 1) {
    errno = EINVAL;
    return nullptr;
  }
  std::size_t power = 16;
  while (power < alignment) power *= 2;
  return tri::mpi::heap_allocate_aligned(power, bytes);
}

}  // namespace

TRIREME_EXPORT void* malloc(std::size_t bytes) noexcept {
  if (called_by_c_library(__builtin_return_address(0))) [[unlikely]]
    return tri::mpi::behind.malloc(bytes);
  return tri::mpi::heap_allocate(bytes);
}

TRIREME_EXPORT void free(void* block) noexcept { tri::mpi::heap_release(block); }

TRIREME_EXPORT void* calloc(std::size_t count, std::size_t bytes) noexcept {
  if (called_by_c_library(__builtin_return_address(0))) [[unlikely]]
    return tri::mpi::behind.calloc(count, bytes);
  return tri::mpi::heap_allocate_zeroed(count, bytes);
}

TRIREME_EXPORT void* realloc(void* block, std::size_t bytes) noexcept {
  if (block == nullptr && called_by_c_library(__builtin_return_address(0))) return tri::mpi::behind.malloc(bytes);
  if (block != nullptr && bytes == 0) {
    tri::mpi::heap_release(block);
    return nullptr;
  }
  return tri::mpi::heap_reallocate(block, bytes);
}

TRIREME_EXPORT void* reallocarray(void* block, std::size_t count, std::size_t bytes) noexcept {
  std::size_t all = 0;
  if (__builtin_mul_overflow(count, bytes, &all)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(block, all);
}

TRIREME_EXPORT int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) noexcept {
  if (!is_power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  const int saved_errno = errno;  // the error is returned, not set
  void* const found = tri::mpi::heap_allocate_aligned(alignment, bytes);
  errno = saved_errno;
  if (found == nullptr) return ENOMEM;
  *block = found;
  return 0;
}

TRIREME_EXPORT void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  if (called_by_c_library(__builtin_return_address(0))) [[unlikely]]
    return tri::mpi::behind.memalign(alignment, bytes);
  return aligned(alignment, bytes);
}

TRIREME_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  if (called_by_c_library(__builtin_return_address(0))) [[unlikely]]
    return tri::mpi::behind.memalign(alignment, bytes);
  return aligned(alignment, bytes);
}

TRIREME_EXPORT void* valloc(std::size_t bytes) noexcept {
  return tri::mpi::heap_allocate_aligned(tri::mpi::page_bytes, bytes);
}

TRIREME_EXPORT void* pvalloc(std::size_t bytes) noexcept {
  const std::size_t pages = bytes / tri::mpi::page_bytes + (bytes % tri::mpi::page_bytes != 0 ? 1 : 0);
  if (pages > SIZE_MAX / tri::mpi::page_bytes) {
    errno = ENOMEM;
    return nullptr;
  }
  return tri::mpi::heap_allocate_aligned(tri::mpi::page_bytes, pages * tri::mpi::page_bytes);
}

TRIREME_EXPORT std::size_t malloc_usable_size(void* block) noexcept { return tri::mpi::heap_usable_bytes(block); }
