// A range of a packed stream as segments of memory, for calls that take a list of them (process_vm_readv, writev):
// copies from and to memory that is not shared. Used by one thread; reads the layout, never the data.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <span>

#include "mpi/datatypes/layout/cursor.hpp"
#include "mpi/datatypes/layout/transfer.hpp"

namespace tri::mpi {

class memory_segments {
 public:
  /// The segments of [offset, offset + bytes) of the buffer's stream. The layout must outlive this object.
  memory_segments(const typed_buffer& buffer, std::uint64_t offset, std::uint64_t bytes);

  /// The next segments, in stream order, of at most `limit` bytes together; what touches is one segment. Returns how
  /// many of `found` are filled: 0 at the end only, or for a limit of 0.
  std::size_t next(std::span<iovec> found, std::uint64_t limit);

  /// Bytes not yet returned.
  std::uint64_t left() const { return left_; }

 private:
  cursor where_;
  std::uint64_t left_;
  std::uint64_t not_opened_;  // behind the current row
  portion row_ = {};
  std::uint64_t used_ = 0;  // of the first block of the row
};

}  // namespace tri::mpi
