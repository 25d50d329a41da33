// A process's real memory use by purpose: read from the kernel, not estimated (M12).
#pragma once

#include <cstddef>

#include "arena/heap.hpp"

namespace tri::arena {

struct memory_footprint {
  std::size_t resident_bytes;        ///< of the whole process: what `ps` calls RSS
  std::size_t arena_resident_bytes;  ///< the shared part (pages of the windows that this process has touched)
  std::size_t private_bytes;         ///< the rest
  std::size_t arena_in_use_bytes;    ///< handed out by this process's heap
};

/// Reads /proc/self/status. Throws std::runtime_error when that cannot be read.
memory_footprint measure_footprint(const heap& own);

}  // namespace tri::arena
