#include "mpi/rma/remote_elements.hpp"

#include <unistd.h>

#include <array>

#include "mpi/datatypes/layout/memory_segments.hpp"
#include "mpi/engine/data_copy.hpp"

namespace tri::mpi {
namespace {

// `body(address there, offset in the packed form, bytes)` for every segment of memory; ends with the first false.
template <class Body>
bool for_segments(const typed_memory& there, Body&& body) {
  if (there.bytes() == 0) return true;
  if (there.type->is_plain) return body(there.start(), std::size_t{0}, there.bytes());
  memory_segments segments({there.type->shape.get(), there.count, there.address}, 0, there.bytes());
  std::array<iovec, 64> found;
  std::size_t at = 0;
  while (const std::size_t count = segments.next(found, there.bytes())) {
    for (std::size_t i = 0; i < count; ++i) {
      if (!body(static_cast<std::byte*>(found[i].iov_base), at, found[i].iov_len)) return false;
      at += found[i].iov_len;
    }
  }
  return true;
}

user_buffer memory_of(pid_t process, std::byte* address, std::size_t bytes) {
  return {.address = address, .bytes = bytes, .process = process};
}

}  // namespace

bool can_be_copied_by_kernel(const typed_memory& there) { return there.type->is_plain || there.type->shape != nullptr; }

bool read_remote(const typed_memory& there, pid_t process, std::byte* packed) {
  return for_segments(there, [&](std::byte* address, std::size_t at, std::size_t bytes) {
    return copy_data({packed + at, bytes}, memory_of(process, address, bytes), 0, bytes, getpid());
  });
}

bool write_remote(const std::byte* packed, const typed_memory& there, pid_t process) {
  return for_segments(there, [&](std::byte* address, std::size_t at, std::size_t bytes) {
    return copy_data(memory_of(process, address, bytes), {const_cast<std::byte*>(packed) + at, bytes}, 0, bytes,
                     getpid());
  });
}

}  // namespace tri::mpi
