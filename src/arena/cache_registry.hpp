// The caches of a heap, so that memory which one of them holds and does not use can be had by another (README.md, "When
// memory ends").
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "arena/carved_runs.hpp"
#include "arena/heap.hpp"

namespace tri::arena {

class block_cache;

class cache_registry {
 public:
  explicit cache_registry(heap& of) : heap_(of) {}
  cache_registry(const cache_registry&) = delete;
  cache_registry& operator=(const cache_registry&) = delete;

  carved_runs& runs_of(std::uint16_t number);
  /// Adds a fully constructed cache: from here on other threads may take its memory.
  void add(block_cache& cache);
  /// Before a cache is destroyed. Afterwards only its own thread accesses it.
  void remove(block_cache& cache);
  /// Returns to the heap what can be taken from all other caches without their threads.
  void reclaim(const block_cache& asking);

 private:
  heap& heap_;
  std::mutex lock_;  // before all others of the arena, but for those of caches in use
  std::vector<block_cache*> caches_;
  std::array<std::unique_ptr<carved_runs>, guest_cache + 1> runs_;
};

}  // namespace tri::arena
