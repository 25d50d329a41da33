// Moving the bytes of a message from the sender's buffer to the receiver's, by any process of the host: plain copies
// where memory is shared, and the system calls that copy between processes where it is not. Large moves lie on the
// board while they run, so that idle ranks take parts of them (CAB-MPI, Ouyang 2022, chapter 2).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "board/board_pe.hpp"

namespace tri::mpi {

/// A range of memory as a process of the host may get at it. `process` 0: everybody reaches it at this address;
/// otherwise the address is valid in that process alone, and the kernel copies.
struct reachable_memory {
  std::byte* address = nullptr;
  pid_t process = 0;
};

/// Copies; `own` is the calling process. False when the kernel refused; then what arrived is not defined.
[[nodiscard]] bool move_bytes(const reachable_memory& to, const reachable_memory& from, std::size_t bytes, pid_t own);

/// Can this process copy from and to memory of that one without sharing it? Tries it on `sample`, a readable and
/// writable byte there.
bool may_copy_between_processes(pid_t other, std::byte* sample);

/// From which size on a move is worth to be shared, and in which pieces (Ouyang 2022, 2.4.3: smaller pieces for smaller
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

/// The task for the board; the caller posts and finishes it. `operation` has to call `move_part`. `purpose` is in
/// shared memory; `purpose_of` gives it back.
board::task_spec shared_move(board::operation_id operation, const reachable_memory& to, const reachable_memory& from,
                             std::size_t bytes, std::uint32_t poster, void* purpose);
/// The bytes [first, last) of such a task, by whatever process. False when the kernel refused.
[[nodiscard]] bool move_part(const board::task_view& task, std::uint64_t first, std::uint64_t last) noexcept;
inline void* purpose_of(const board::task_view& task) { return reinterpret_cast<void*>(task.arguments[4]); }

}  // namespace tri::mpi
