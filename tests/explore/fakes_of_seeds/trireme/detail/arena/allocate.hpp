// In place of the arena: memory whose accesses are checked (interleavings.hpp).
#pragma once

#include <cstddef>

#include "explore/interleavings.hpp"

namespace tri::arena {

[[maybe_unused]] static void* allocate(std::size_t bytes) { return explore::watched_allocate(bytes); }
[[maybe_unused]] static void release(void* block) { explore::watched_release(block); }

}  // namespace tri::arena
