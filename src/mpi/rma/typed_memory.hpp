// Elements of a datatype in memory that this process reaches, and copies between two of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi/datatypes/datatypes.hpp"

namespace tri::mpi {

struct typed_memory {
  void* address = nullptr;
  std::uint64_t count = 0;
  const buffer_type* type = nullptr;

  std::size_t bytes() const { return static_cast<std::size_t>(count) * type->bytes; }  // packed
  std::byte* start() const { return static_cast<std::byte*>(address); }
};

/// The bytes that the elements touch, from the address on: [first, end). Empty without data.
struct touched_bytes {
  std::int64_t first = 0;
  std::int64_t end = 0;
};
touched_bytes bytes_touched(std::uint64_t count, const buffer_type& type);

/// Whether elements of the type have bytes that begin where the buffer does. Those of a type made of absolute addresses
/// begin elsewhere, and are given with MPI_BOTTOM, which is null.
bool begins_at_buffer(const buffer_type& type);
/// A null buffer with elements to read or write: MPI_ERR_BUFFER in the MPI libraries.
inline bool is_missing(const void* buffer, MPI_Count count, const buffer_type& type) {
  return buffer == nullptr && count > 0 && begins_at_buffer(type);
}

/// All elements, to and from their packed form.
void pack(const typed_memory& from, std::byte* to);
void unpack(const std::byte* from, const typed_memory& to);
/// Copies the smaller of both packed sizes. The two may be the same memory, but must not overlap otherwise.
void copy_elements(const typed_memory& from, const typed_memory& to);

}  // namespace tri::mpi
