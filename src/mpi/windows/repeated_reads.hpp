// Tells a rank that polls memory of a window from one that gets on with its work: the same small value found at the
// same place again and again. Such a rank should give its core to the one it waits for. Private memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tri::mpi {

class repeated_reads {
 public:
  void read(const void* place, const void* value, std::size_t bytes) {
    std::uint64_t seen = 0;
    if (bytes > sizeof seen || bytes == 0) {
      in_a_row_ = 0;
      return;
    }
    std::memcpy(&seen, value, bytes);
    in_a_row_ = place == place_ && seen == seen_ ? in_a_row_ + 1 : 0;
    place_ = place;
    seen_ = seen;
  }
  std::uint32_t in_a_row() const { return in_a_row_; }

 private:
  const void* place_ = nullptr;
  std::uint64_t seen_ = 0;
  std::uint32_t in_a_row_ = 0;
};

}  // namespace tri::mpi
