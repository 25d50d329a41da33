// System calls that change mappings, bypassing the C library. Communication libraries replace its mmap, munmap and
// madvise to watch memory they have registered, and their replacements allocate: with locks of the heap held, that
// would deadlock. Only for memory that no library can have seen.
#pragma once

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

namespace tri::mpi {

inline void* kernel_mmap(void* place, std::size_t bytes, int protection, int flags, int file, long offset) {
  return reinterpret_cast<void*>(syscall(SYS_mmap, place, bytes, protection, flags, file, offset));
}
inline int kernel_munmap(void* place, std::size_t bytes) { return static_cast<int>(syscall(SYS_munmap, place, bytes)); }
inline void* kernel_mremap(void* place, std::size_t bytes, void* to) {
  return reinterpret_cast<void*>(syscall(SYS_mremap, place, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to));
}
inline int kernel_madvise(void* place, std::size_t bytes, int advice) {
  return static_cast<int>(syscall(SYS_madvise, place, bytes, advice));
}

/// Private memory that counts only when it is touched.
inline void* map_private(void* place, std::size_t bytes, int more_flags) {
  return kernel_mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | more_flags, -1,
                     0);
}

}  // namespace tri::mpi
