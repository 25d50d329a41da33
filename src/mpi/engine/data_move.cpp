#include "mpi/engine/data_move.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace tri::mpi {
namespace {

enum class direction : std::uint8_t { read, write };

// The kernel copies at most about 2 GiB in one call, and may stop early.
bool kernel_copies(direction way, pid_t other, std::byte* there, std::byte* here, std::size_t bytes) {
  while (bytes > 0) {
    const iovec local{here, bytes};
    const iovec remote{there, bytes};
    const ssize_t done = way == direction::read ? process_vm_readv(other, &local, 1, &remote, 1, 0)
                                                : process_vm_writev(other, &local, 1, &remote, 1, 0);
    if (done <= 0) {
      if (done < 0 && errno == EINTR) continue;
      return false;
    }
    here += done;
    there += done;
    bytes -= static_cast<std::size_t>(done);
  }
  return true;
}

// Both ends belong to other processes and neither is shared: through a piece of our own memory that stays in the cache.
bool through_own_memory(const reachable_memory& to, const reachable_memory& from, std::size_t bytes) {
  std::array<std::byte, std::size_t{16} * 1024> piece;
  for (std::size_t at = 0; at < bytes; at += piece.size()) {
    const std::size_t length = std::min(piece.size(), bytes - at);
    if (!kernel_copies(direction::read, from.process, from.address + at, piece.data(), length) ||
        !kernel_copies(direction::write, to.process, to.address + at, piece.data(), length))
      return false;
  }
  return true;
}

}  // namespace

bool move_bytes(const reachable_memory& to, const reachable_memory& from, std::size_t bytes, pid_t own) {
  const bool writable = to.process == 0 || to.process == own;
  const bool readable = from.process == 0 || from.process == own;
  if (writable && readable) {
    if (bytes > 0) std::memmove(to.address, from.address, bytes);
    return true;
  }
  if (writable) return kernel_copies(direction::read, from.process, from.address, to.address, bytes);
  if (readable) return kernel_copies(direction::write, to.process, to.address, from.address, bytes);
  return through_own_memory(to, from, bytes);
}

bool may_copy_between_processes(pid_t other, std::byte* sample) {
  std::byte here{};
  return kernel_copies(direction::read, other, sample, &here, 1) &&
         kernel_copies(direction::write, other, sample, &here, 1);
}

board::task_spec shared_move(board::operation_id operation, const reachable_memory& to, const reachable_memory& from,
                             std::size_t bytes, std::uint32_t poster, void* purpose) {
  board::task_spec spec;
  spec.operation = operation;
  spec.arguments = {reinterpret_cast<std::uint64_t>(to.address), static_cast<std::uint64_t>(to.process),
                    reinterpret_cast<std::uint64_t>(from.address), static_cast<std::uint64_t>(from.process),
                    reinterpret_cast<std::uint64_t>(purpose)};
  spec.total = bytes;
  spec.chunk = sharing_sizes::chunk_of(bytes);
  spec.first_participant = poster;
  return spec;
}

bool move_part(const board::task_view& task, std::uint64_t first, std::uint64_t last) noexcept {
  const std::uint64_t* const a = task.arguments;
  const reachable_memory to{reinterpret_cast<std::byte*>(a[0]) + first, static_cast<pid_t>(a[1])};
  const reachable_memory from{reinterpret_cast<std::byte*>(a[2]) + first, static_cast<pid_t>(a[3])};
  return move_bytes(to, from, last - first, getpid());
}

}  // namespace tri::mpi
