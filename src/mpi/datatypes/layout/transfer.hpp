// Moves data that datatypes describe: any range [offset, offset + bytes) of the packed stream of `count` instances at
// `base`. Ranges that do not overlap may be moved concurrently by different processes, in any order and of any sizes;
// nothing outside the range is written. Ranges must be inside the stream: offset + bytes <= count * size.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi/datatypes/layout/layout.hpp"

namespace tri::mpi {

/// The location of data in a program's memory. The layout may be in the memory of another process.
struct typed_buffer {
  const layout* type = nullptr;
  std::uint64_t count = 0;
  void* base = nullptr;  // only read where it is a source
  std::uint64_t bytes() const { return count * type->size; }
};

void pack(const typed_buffer& from, std::uint64_t offset, std::uint64_t bytes, void* packed);
void unpack(const typed_buffer& to, std::uint64_t offset, std::uint64_t bytes, const void* packed);

/// From one layout to the other: block by block where both sides have the same geometry or long enough rows, otherwise
/// in bundles through a scratch buffer that stays in the first-level cache.
void copy(const typed_buffer& from, const typed_buffer& to, std::uint64_t offset, std::uint64_t bytes);

}  // namespace tri::mpi
