#include "mpi/engine/data_move.hpp"

#include <sys/uio.h>

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

bool is_at_hand(const reachable_memory& memory, pid_t own) { return memory.process == 0 || memory.process == own; }

constexpr std::size_t piece_bytes = std::size_t{16} * 1024;  // half of a first-level cache (layout/transfer.cpp)

// Through a piece of our own memory that stays in the cache. `read` and `write` (offset, bytes, piece) may fail.
template <class Read, class Write>
bool in_pieces(std::size_t bytes, Read&& read, Write&& write) {
  std::array<std::byte, piece_bytes> piece;
  for (std::size_t at = 0; at < bytes; at += piece.size()) {
    const std::size_t length = std::min(piece.size(), bytes - at);
    if (!read(at, length, piece.data()) || !write(at, length, piece.data())) return false;
  }
  return true;
}

}  // namespace

bool move_bytes(const reachable_memory& to, const reachable_memory& from, std::size_t bytes, pid_t own) {
  const bool writable = is_at_hand(to, own);
  const bool readable = is_at_hand(from, own);
  if (writable && readable) {
    if (bytes > 0) std::memmove(to.address, from.address, bytes);
    return true;
  }
  if (writable) return kernel_copies(direction::read, from.process, from.address, to.address, bytes);
  if (readable) return kernel_copies(direction::write, to.process, to.address, from.address, bytes);
  // Both ends belong to other processes and neither is shared.
  return in_pieces(
      bytes,
      [&](std::size_t at, std::size_t length, std::byte* piece) {
        return kernel_copies(direction::read, from.process, from.address + at, piece, length);
      },
      [&](std::size_t at, std::size_t length, std::byte* piece) {
        return kernel_copies(direction::write, to.process, to.address + at, piece, length);
      });
}

bool move_data(const user_buffer& to, const user_buffer& from, std::size_t offset, std::size_t bytes, pid_t own) {
  const auto contiguous = [&](const user_buffer& side, std::size_t at) {
    return reachable_memory{side.address + offset + at, side.process};
  };
  if (bytes == 0) return true;
  if (to.type == nullptr && from.type == nullptr) return move_bytes(contiguous(to, 0), contiguous(from, 0), bytes, own);
  if (to.type != nullptr && from.type != nullptr) {
    copy(from.described(), to.described(), offset, bytes);
  } else if (to.type != nullptr) {
    if (is_at_hand(contiguous(from, 0), own)) {
      to.write(offset, bytes, from.address + offset);
    } else {
      return in_pieces(
          bytes,
          [&](std::size_t at, std::size_t length, std::byte* piece) {
            return move_bytes({piece, 0}, contiguous(from, at), length, own);
          },
          [&](std::size_t at, std::size_t length, std::byte* piece) {
            to.write(offset + at, length, piece);
            return true;
          });
    }
  } else if (is_at_hand(contiguous(to, 0), own)) {
    from.read(offset, bytes, to.address + offset);
  } else {
    return in_pieces(
        bytes,
        [&](std::size_t at, std::size_t length, std::byte* piece) {
          from.read(offset + at, length, piece);
          return true;
        },
        [&](std::size_t at, std::size_t length, std::byte* piece) {
          return move_bytes(contiguous(to, at), {piece, 0}, length, own);
        });
  }
  return true;
}

bool may_copy_between_processes(pid_t other, std::byte* sample) {
  std::byte here{};
  return kernel_copies(direction::read, other, sample, &here, 1) &&
         kernel_copies(direction::write, other, sample, &here, 1);
}

}  // namespace tri::mpi
