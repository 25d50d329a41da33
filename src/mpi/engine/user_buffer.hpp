// Where the data of a message comes from or goes to, in the memory of one rank: contiguous bytes, or what a layout
// describes. Trivially copyable, in records that all processes of the host read.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "mpi/datatypes/layout/transfer.hpp"

namespace tri::mpi {

struct user_buffer {
  std::byte* address = nullptr;  // of the first byte; of the layout's origin, where there is one
  std::uint64_t bytes = 0;       // packed
  // Null: the data is contiguous. Otherwise in memory visible to all processes of the host, until the operation is
  // complete.
  const layout* type = nullptr;
  std::uint64_t count = 0;  // of the layout
  // 0: all ranks of the host can access the data. Otherwise the address is valid in that process alone: the kernel can
  // copy from and to it, unless it has a layout; then no other process can read or write it.
  pid_t process = 0;

  bool is_shared() const { return process == 0; }
  /// With the kernel's help or without.
  bool is_for_everybody(bool kernel_copies) const { return is_shared() || (kernel_copies && type == nullptr); }

  /// The memory from the first byte of the data to the last.
  std::byte* first_touched() const {
    return type == nullptr ? address : moved(std::min<std::int64_t>(0, last()) + lower());
  }
  std::size_t bytes_touched() const {
    if (type == nullptr || bytes == 0) return bytes;
    return static_cast<std::size_t>(std::max(last(), -last()) + type->true_extent);
  }
  void move_by(std::ptrdiff_t distance) { address = moved(distance); }

  /// The bytes [offset, offset + length) of the packed data, from and to contiguous memory. In a process that reaches
  /// it.
  void read(std::size_t offset, std::size_t length, void* to) const {
    if (length == 0) return;
    if (type == nullptr)
      std::memcpy(to, address + offset, length);
    else
      pack(described(), offset, length, to);
  }
  void write(std::size_t offset, std::size_t length, const void* from) const {
    if (length == 0) return;
    if (type == nullptr)
      std::memcpy(address + offset, from, length);
    else
      unpack(described(), offset, length, from);
  }
  typed_buffer described() const { return {type, count, address}; }

 private:
  // The base of absolute displacements is null.
  std::byte* moved(std::ptrdiff_t distance) const {
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(address) +
                                        static_cast<std::uintptr_t>(distance));
  }
  std::int64_t lower() const { return type->true_lower_bound; }
  // From the first element to the last.
  std::int64_t last() const { return count == 0 ? 0 : static_cast<std::int64_t>(count - 1) * type->extent; }
};

}  // namespace tri::mpi
