// Counts what a program takes from the heap while a `counting` exists, by what the allocator sets aside for it.
// Replaces operator new of the program that it is linked into; one thread.
#pragma once

#include <cstdint>

namespace tri::flow {

struct counting {
  counting();
  ~counting();
  counting(const counting&) = delete;
  counting& operator=(const counting&) = delete;
};

/// Bytes in use, of allocations that were counted; wherever they are freed.
std::int64_t counted();
std::int64_t most_counted();
/// From now on; blocks that were counted before must not be freed later.
void reset_count();

}  // namespace tri::flow
