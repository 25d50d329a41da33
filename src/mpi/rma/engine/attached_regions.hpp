// The memory that a rank has attached to a dynamic window, for all ranks to look up: the owner's address, and the
// address valid in all ranks. In shared memory; any rank reads it, only the owner changes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "arena/block_cache.hpp"
#include "arena/host_lock.hpp"

namespace tri::mpi {

struct attached_region {
  std::uintptr_t address = 0;  // in the owner's process
  std::size_t bytes = 0;
  std::byte* shared = nullptr;  // null: others cannot access it

  bool holds(std::uintptr_t first, std::size_t length) const {
    return first >= address && length <= bytes && first - address <= bytes - length;
  }
};

class attached_regions {
 public:
  /// The owner. `blocks` is its cache, always the same. Regions may overlap.
  void attach(arena::block_cache& blocks, const attached_region& region);
  /// The region that begins at `address`, the latest of several. False: there is none.
  bool detach(std::uintptr_t address);
  void release(arena::block_cache& blocks);

  /// A region with all of these bytes.
  std::optional<attached_region> find(std::uintptr_t first, std::size_t bytes);

 private:
  arena::host_lock lock_;            // over all that follows; a leaf
  attached_region* list_ = nullptr;  // by address; a block of the owner
  std::size_t count_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace tri::mpi
