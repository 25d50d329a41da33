// Allocation and release of arena blocks. The allocator is block_cache.hpp; the arena itself is opened once per process
// (arena.hpp).
#pragma once

#include <cstddef>
#include <stdexcept>

#pragma GCC visibility push(default)

namespace tri::arena {

/// The arena has no room left for a request; the message has the bytes requested, used and allowed.
struct arena_exhausted : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A block of at least `bytes` of the arena, aligned to 16 bytes, and to a cache line from 64 bytes on; any thread of
/// any process of the host may `release` it. From the calling PE's own cache; other threads share one under a lock.
/// Throws arena_exhausted, std::logic_error when no arena is open.
void* allocate(std::size_t bytes);
void release(void* block) noexcept;

}  // namespace tri::arena

#pragma GCC visibility pop
