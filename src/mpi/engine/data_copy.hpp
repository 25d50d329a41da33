// Copying the bytes of a message from the sender's buffer to the receiver's, by any process of the host: plain copies
// where memory is shared, otherwise the system calls that copy between processes. Ranges can be copied independently,
// so idle ranks take parts of large messages (CAB-MPI, Ouyang 2022, chapter 2).
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "mpi/engine/user_buffer.hpp"

namespace tri::mpi {

/// The bytes [offset, offset + bytes) of packed data from one place to the other; several processes may move different
/// ranges at once. `own` is the calling process. It must be able to access buffers with a layout directly. False when
/// the kernel refused; then the destination is undefined.
[[nodiscard]] bool copy_data(const user_buffer& to, const user_buffer& from, std::size_t offset, std::size_t bytes,
                             pid_t own);

/// Whether this process can copy from and to that one's memory without sharing it. Tries it on `sample`, a readable and
/// writable byte there.
bool may_copy_between_processes(pid_t other, std::byte* sample);

/// From which size on a copy is worth sharing, and in which chunks (Ouyang 2022, 2.4.3: smaller chunks for smaller
/// messages).
struct sharing_sizes {
  static constexpr std::size_t KiB = 1024;
  std::size_t from = 32 * KiB;
  static std::size_t chunk_of(std::size_t bytes) {
    if (bytes < 96 * KiB) return 16 * KiB;
    if (bytes < 512 * KiB) return 32 * KiB;
    return 64 * KiB;
  }
};

}  // namespace tri::mpi
