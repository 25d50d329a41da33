// The arena as the rest of the process sees it: opened once per process by the runtime, then `allocate` and `release`
// from any thread. PEs have a cache of their own (`cache_guard`); other threads share one under a lock.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "arena/block_cache.hpp"
#include "arena/checked_cache.hpp"
#include "arena/heap.hpp"
#include "arena/window.hpp"
#include "config/configuration.hpp"
#include "trireme/detail/arena/allocate.hpp"
#include "trireme/detail/os/function_ref.hpp"

namespace tri::arena {

/// One cache per PE; for comparison one for all under a lock; or one per PE that looks for errors (checked_cache.hpp).
using config::allocator_kind;

struct arena_options {
  std::size_t window_bytes = config::default_arena_window_bytes;
  std::size_t limit_bytes = 0;  ///< 0: automatic_limit
  allocator_kind allocator = allocator_kind::caches;
  error_hints what_to_do = {};
  /// Of the window of local rank 0, the same in all processes: two arenas of one process, of the MPI drop-in and of a
  /// program that uses it, have different windows.
  int first_window = 0;
};

/// The limit of a process when none is given: three quarters of the memory of the machine or container, divided by the
/// processes of the host, and at most its window. `root` replaces "/" in tests.
std::size_t automatic_limit(std::size_t window_bytes, std::size_t processes, const std::string& root = "");

/// The process's arena. At most one exists at a time; it outlives every PE.
class arena_space {
 public:
  /// `files[i]` is the window file of local rank i, ours `files[local_rank]`; they stay the caller's and open.
  /// `wait_for_all` is called between writing the own window's header and reading those of the others.
  arena_space(const arena_options& options, const std::vector<int>& files, int local_rank,
              os::function_ref<void()> wait_for_all);
  ~arena_space();
  arena_space(const arena_space&) = delete;
  arena_space& operator=(const arena_space&) = delete;

  arena::heap& heap() { return *heap_; }
  std::size_t window_bytes() const { return options_.window_bytes; }
  int local_rank() const { return local_rank_; }
  /// The file of the own window.
  int own_file() const { return files_[static_cast<std::size_t>(local_rank_)]; }
  int windows() const { return static_cast<int>(windows_.size()); }
  /// The structure published by the process with that local rank (see publish), or null.
  void* root_of(int local_rank) const {
    return reinterpret_cast<void*>(
        reinterpret_cast<window_header*>(windows_[static_cast<std::size_t>(local_rank)].address)->root);
  }
  /// Publishes the own root structure; the caller orders this before its peers' root_of (a barrier).
  void publish(void* root) { heap_->header().root = reinterpret_cast<std::uint64_t>(root); }

 private:
  friend class cache_guard;
  friend class guests;
  void close();
  arena_options options_;
  int local_rank_;
  std::vector<int> files_;
  std::vector<window> windows_;
  std::unique_ptr<arena::heap> heap_;
  std::unique_ptr<block_cache> guests_;            // the thread that uses it holds its use()
  std::unique_ptr<checked_cache> checked_guests_;  // on top of it, if asked for
};

/// The open arena, or null before and after.
arena_space* current();

namespace detail {
inline thread_local block_cache* this_cache = nullptr;  // null also where the PE has a checked one
}

/// Gives the calling thread the cache `number` (its PE number within the process) as long as the guard lives.
class cache_guard {
 public:
  explicit cache_guard(int number);
  ~cache_guard();
  cache_guard(const cache_guard&) = delete;
  cache_guard& operator=(const cache_guard&) = delete;

 private:
  std::unique_ptr<block_cache> cache_;
  std::unique_ptr<checked_cache> checked_;
};

/// Called by an idle PE: blocks of others that it still holds go home, and it holds less for itself.
inline void settle() {
  if (detail::this_cache != nullptr) detail::this_cache->settle();
}

/// While it lives the calling PE neither allocates nor releases: it sleeps, and others may empty its cache.
class unused_cache_guard {
 public:
  unused_cache_guard() {
    if (detail::this_cache != nullptr) detail::this_cache->use().unlock();
  }
  ~unused_cache_guard() {
    if (detail::this_cache != nullptr) detail::this_cache->use().lock();
  }
  unused_cache_guard(const unused_cache_guard&) = delete;
  unused_cache_guard& operator=(const unused_cache_guard&) = delete;
};

}  // namespace tri::arena
