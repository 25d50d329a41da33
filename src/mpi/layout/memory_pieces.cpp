#include "mpi/layout/memory_pieces.hpp"

#include <algorithm>

namespace tri::mpi {

memory_pieces::memory_pieces(const typed_buffer& buffer, std::uint64_t offset, std::uint64_t bytes)
    : where_(*buffer.type, buffer.count, buffer.base, offset), left_(bytes), not_opened_(bytes) {
  row_.columns = 0;
}

std::size_t memory_pieces::next(std::span<iovec> found, std::uint64_t limit) {
  std::size_t pieces = 0;
  for (limit = std::min(limit, left_); limit > 0;) {
    if (row_.columns == 0) {
      where_.next_row(not_opened_, row_);
      not_opened_ -= row_.bytes;
    }
    const std::uintptr_t here = row_.place + used_;
    const std::uint64_t bytes = std::min(limit, row_.length - used_);
    if (pieces > 0 && reinterpret_cast<std::uintptr_t>(found[pieces - 1].iov_base) + found[pieces - 1].iov_len == here)
      found[pieces - 1].iov_len += bytes;
    else if (pieces < found.size())
      found[pieces++] = {reinterpret_cast<void*>(here), bytes};
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
  return pieces;
}

}  // namespace tri::mpi
