#include "mpi/engine/data_copy.hpp"

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

bool is_at_hand(const user_buffer& data, pid_t own) { return data.process == 0 || data.process == own; }

// Between two places that this process can access; they may overlap when neither has a layout.
void copy_at_hand(const user_buffer& to, const user_buffer& from, std::size_t offset, std::size_t bytes) {
  if (to.type != nullptr && from.type != nullptr)
    copy(from.described(), to.described(), offset, bytes);
  else if (to.type != nullptr)
    to.write(offset, bytes, from.address + offset);
  else if (from.type != nullptr)
    from.read(offset, bytes, to.address + offset);
  else
    std::memmove(to.address + offset, from.address + offset, bytes);
}

bool read_data(const user_buffer& from, std::size_t offset, std::size_t bytes, std::byte* to, pid_t own) {
  if (!is_at_hand(from, own)) return kernel_copies(direction::read, from.process, from.address + offset, to, bytes);
  from.read(offset, bytes, to);
  return true;
}

bool write_data(const user_buffer& to, std::size_t offset, std::size_t bytes, std::byte* from, pid_t own) {
  if (!is_at_hand(to, own)) return kernel_copies(direction::write, to.process, to.address + offset, from, bytes);
  to.write(offset, bytes, from);
  return true;
}

}  // namespace

bool copy_data(const user_buffer& to, const user_buffer& from, std::size_t offset, std::size_t bytes, pid_t own) {
  if (bytes == 0) return true;
  const bool writable = is_at_hand(to, own);
  const bool readable = is_at_hand(from, own);
  if (writable && readable) {
    copy_at_hand(to, from, offset, bytes);
    return true;
  }
  if (writable && to.type == nullptr) return read_data(from, offset, bytes, to.address + offset, own);
  if (readable && from.type == nullptr) return write_data(to, offset, bytes, from.address + offset, own);
  // Through a buffer of our own that stays in the cache: half of one of 32 KiB, as in datatypes/layout/transfer.cpp.
  std::array<std::byte, std::size_t{16} * 1024> piece;
  for (std::size_t at = 0; at < bytes; at += piece.size()) {
    const std::size_t length = std::min(piece.size(), bytes - at);
    if (!read_data(from, offset + at, length, piece.data(), own) ||
        !write_data(to, offset + at, length, piece.data(), own))
      return false;
  }
  return true;
}

bool may_copy_between_processes(pid_t other, std::byte* sample) {
  std::byte here{};
  return kernel_copies(direction::read, other, sample, &here, 1) &&
         kernel_copies(direction::write, other, sample, &here, 1);
}

}  // namespace tri::mpi
