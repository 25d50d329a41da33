// The global arrays that PEs of this host have met, in the arena: for each where the pieces of the host's PEs are. It
// grows with these arrays and with the PEs of the host, not with the hosts of the job (Farreras 2008, 5.2.2, the shared
// variable directory, without its partition for each thread).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "arena/host_lock.hpp"
#include "trireme/detail/arrays/local_array.hpp"

namespace tri::arrays {

struct host_pieces {
  array_id id;
  host_pieces* next;     // in its chain; under the lock of the directory
  std::uint32_t users;   // PEs that have the array in their table; under the lock
  std::uint64_t digest;  // of its shape
  array_shape shape;     // as the PE gave it that came first
  static std::size_t bytes_for(std::uint32_t pes) {
    return sizeof(host_pieces) + pes * sizeof(std::atomic<std::byte*>);
  }
  std::atomic<std::byte*>* pieces() { return reinterpret_cast<std::atomic<std::byte*>*>(this + 1); }
};
static_assert(sizeof(host_pieces) % alignof(std::atomic<std::byte*>) == 0);

/// Any thread of any process of the host. Zeros are an empty directory.
class host_directory {
 public:
  /// The record of an array, made if there is none; counts the caller as a user. Throws arena_exhausted, and
  /// std::logic_error when another PE of the host has given it another shape.
  host_pieces& join(array_id id, std::uint32_t pes, std::uint64_t digest, const array_shape& shape);
  /// The last user releases it.
  void leave(host_pieces& record);

 private:
  static constexpr std::size_t chains = 256;
  host_pieces*& chain_of(array_id id);
  arena::host_lock lock_;
  std::array<host_pieces*, chains> chain_{};
};

}  // namespace tri::arrays
