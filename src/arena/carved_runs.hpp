// The runs of spans that the caches of one number have carved into small blocks, and which blocks of each are free. A
// cache keeps its working set of blocks in its own lists; surplus blocks come here, each to its run, and a complete run
// returns to the heap, for any size and any cache.
//
// It outlives the caches of its number, whose blocks may still return afterwards. Thread-safe: the cache enters for a
// batch of blocks at a time, others when they are short of memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "arena/heap.hpp"
#include "arena/host_lock.hpp"

namespace tri::arena {

/// Free blocks of one class.
struct free_blocks {
  free_block* first = nullptr;  // linked
  std::uint32_t count = 0;      // of these
  std::byte* fresh = nullptr;   // never used ones, one after the other
  std::byte* fresh_end = nullptr;
};

class carved_runs {
 public:
  carved_runs(heap& from, std::uint16_t number) : heap_(from), number_(number) {}
  carved_runs(const carved_runs&) = delete;
  carved_runs& operator=(const carved_runs&) = delete;

  /// Linked blocks of runs of this number, of any class; large runs among them go to the heap.
  void put(free_block* chain);
  /// Blocks of a run from `first` to its end that were never used.
  void put_fresh(std::byte* first, std::byte* end, unsigned size_class);
  /// All free blocks of one run, or none.
  free_blocks take(unsigned size_class);
  /// Collects blocks that other PEs and processes have left on the return stack. Called by the cache, or by others in
  /// its place.
  void collect();

 private:
  void link(std::uint32_t run, unsigned size_class);
  void unlink(std::uint32_t run, unsigned size_class);
  void add(std::uint32_t run, unsigned size_class, std::uint32_t blocks);

  heap& heap_;
  const std::uint16_t number_;
  host_lock lock_;                                           // before that of the heap
  std::array<std::uint32_t, size_class_count> with_free_{};  // first of the runs with free blocks; 0: none
};

}  // namespace tri::arena
