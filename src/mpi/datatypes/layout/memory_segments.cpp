#include "mpi/datatypes/layout/memory_segments.hpp"

#include <algorithm>

namespace tri::mpi {

memory_segments::memory_segments(const typed_buffer& buffer, std::uint64_t offset, std::uint64_t bytes)
    : where_(*buffer.type, buffer.count, buffer.base, offset), left_(bytes), not_opened_(bytes) {
  row_.columns = 0;
}

std::size_t memory_segments::next(std::span<iovec> found, std::uint64_t limit) {
  std::size_t segments = 0;
  for (limit = std::min(limit, left_); limit > 0;) {
    if (row_.columns == 0) {
      where_.next_row(not_opened_, row_);
      not_opened_ -= row_.bytes;
    }
    const std::uintptr_t here = row_.place + used_;
    const std::uint64_t bytes = std::min(limit, row_.length - used_);
    if (segments > 0 &&
        reinterpret_cast<std::uintptr_t>(found[segments - 1].iov_base) + found[segments - 1].iov_len == here)
      found[segments - 1].iov_len += bytes;
    else if (segments < found.size())
      found[segments++] = {reinterpret_cast<void*>(here), bytes};
    else
      break;
    limit -= bytes;
    left_ -= bytes;
    used_ += bytes;
    if (used_ == row_.length) {
      used_ = 0;
      row_.place += static_cast<std::uintptr_t>(row_.column_stride);
      --row_.columns;
    }
  }
  return segments;
}

}  // namespace tri::mpi
