// Detects that a rank polls a window's memory instead of working: it reads the same small value at the same address
// again and again. Such a rank should yield its core to the one it waits for. Private memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tri::mpi {

class repeated_reads {
 public:
  void read(const void* address, const void* value, std::size_t bytes) {
    if (bytes > seen_.size() || bytes == 0) {
      in_a_row_ = 0;
      bytes_ = 0;
      return;
    }
    const bool is_same = address == address_ && bytes == bytes_ && std::memcmp(seen_.data(), value, bytes) == 0;
    in_a_row_ = is_same ? in_a_row_ + 1 : 0;
    if (is_same) return;
    address_ = address;
    bytes_ = bytes;
    std::memcpy(seen_.data(), value, bytes);
  }
  std::uint32_t in_a_row() const { return in_a_row_; }

 private:
  const void* address_ = nullptr;
  std::size_t bytes_ = 0;
  std::array<std::byte, 64> seen_{};  // larger values are data
  std::uint32_t in_a_row_ = 0;
};

}  // namespace tri::mpi
