// A heap whose contents can be saved and put back: a model that lives in it, with all that it has allocated, returns to
// an earlier state by one memcpy instead of a copy that allocates everything anew. Pointers stay valid, because all of
// it is at its old address again. Replaces operator new of the program that it is linked into. One thread.
//
// Invariant: all state of the heap (its free lists too) is in the bytes that are saved.
#pragma once

#include <cstddef>

namespace tri::explore::snapshot_heap {

/// What the thread allocates while one of these exists comes from this heap. It may be freed at any time.
class inside {
 public:
  inside();
  ~inside();
  inside(const inside&) = delete;
  inside& operator=(const inside&) = delete;
};

/// What a snapshot has.
std::size_t bytes();
void save(std::byte* to);
/// What was allocated since is forgotten.
void restore(const std::byte* from, std::size_t bytes);
/// Everything is forgotten.
void clear();

}  // namespace tri::explore::snapshot_heap
