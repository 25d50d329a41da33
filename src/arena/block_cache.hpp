// The message allocator of one thread: free lists per size class, filled from the heap's spans. A block released by
// another thread or process returns through the owner's return stack; on the way it waits in a small outgoing chain so
// that a stream of released blocks costs one atomic operation per sixteen.
//
// Unused memory in a cache is bounded and available to others that are short of memory: lists of blocks have a maximum
// length, and the rest returns to its runs (carved_runs.hpp); large runs that are retained for the next of their size
// can be taken by any thread; from a cache that is currently not in use, everything.
//
// Thread-safety: one thread at a time, which holds `use()`, initially the creator. No thread holds it while its PE
// sleeps.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "arena/carved_runs.hpp"
#include "arena/heap.hpp"
#include "arena/host_lock.hpp"

namespace tri::arena {

class block_cache {
 public:
  block_cache(heap& from, std::uint16_t number);
  block_cache(const block_cache&) = delete;
  block_cache& operator=(const block_cache&) = delete;
  /// Returns foreign blocks to their owners and releases free memory.
  ~block_cache();

  /// A block of at least `bytes`, aligned to 16 bytes, and to a cache line from 64 bytes on. Throws arena_exhausted.
  void* allocate(std::size_t bytes) {
    if (bytes <= largest_small_block) [[likely]] {
      auto& of_class = lists_[size_class_of(bytes)];
      if (free_block* const block = of_class.free) [[likely]] {
        of_class.free = block->next;
        ++of_class.room;
        return block;
      }
      return allocate_slowly(size_class_of(bytes));
    }
    return allocate_large(bytes);
  }

  /// Releases any block of the arena, regardless of which PE allocated it.
  void release(void* address) {
    const span_entry entry = heap::entry_of(address, window_bytes_);
    auto* const block = static_cast<free_block*>(address);
    if (entry.owner == number_ && is_own(address)) [[likely]]
      keep(block, entry.size_class);
    else
      return_to_owner(block, entry);
  }

  /// Returns the blocks of the outgoing chain to their owners.
  void flush();

  /// Before the thread idles: sends the outgoing chain, collects returned blocks, and trims the cache.
  void settle();

  /// Held by the thread that uses the cache.
  host_lock& use() { return use_; }

  /// Any thread of the process that is short of memory: the retained runs go to the heap; from a cache not in use,
  /// everything that is free.
  void give_to_others();

  /// How much of one class a cache holds at most, in bytes, given the limit of its heap.
  static std::size_t most_held_bytes(std::size_t limit_bytes);

  /// Usable size of a block, in bytes.
  static std::size_t size_of(const void* address, std::size_t window_bytes) {
    const span_entry entry = heap::entry_of(address, window_bytes);
    return entry.size_class < size_class_count ? size_of_class(entry.size_class)
                                               : std::size_t{entry.spans} * span_bytes;
  }

 private:
  struct class_list {
    free_block* free = nullptr;
    std::int64_t room = 0;       // how many more blocks `free` may hold
    std::byte* fresh = nullptr;  // never used memory of the newest span run
    std::byte* fresh_end = nullptr;
  };
  bool is_own(const void* address) const {
    return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(heap_.own_window().address) <
           window_bytes_;
  }
  void keep(free_block* block, std::uint8_t size_class) {
    if (size_class < size_class_count) [[likely]] {
      auto& of_class = lists_[size_class];
      block->next = of_class.free;
      of_class.free = block;
      if (--of_class.room < 0) [[unlikely]]
        release_some(size_class);
    } else {
      keep_large(block);
    }
  }
  void* allocate_slowly(unsigned size_class);
  void* take_listed(unsigned size_class);
  void* carve(unsigned size_class);
  bool refill(unsigned size_class);
  void* allocate_large(std::size_t bytes);
  void* take_retained(std::size_t spans);
  void release_retained_runs();
  void keep_large(free_block* block);
  void return_to_owner(free_block* block, span_entry entry);
  bool collect_returned();
  void release_some(unsigned size_class);
  void shorten(unsigned size_class, std::int64_t blocks);
  void release_all();

  heap& heap_;
  carved_runs& runs_;
  const std::size_t window_bytes_;
  const std::uint16_t number_;
  std::array<class_list, size_class_count> lists_{};
  std::array<std::int64_t, size_class_count> most_blocks_{};  // in a list

  static constexpr unsigned longest_chain = 16;
  return_stack* outgoing_to_ = nullptr;
  free_block* outgoing_first_ = nullptr;
  free_block* outgoing_last_ = nullptr;
  unsigned outgoing_count_ = 0;

  // A few large runs that were just released: the usual pattern is to request the same size again. The user of the
  // cache puts them here, and the thread that exchanges one for null owns it.
  struct retained_run {
    std::atomic<void*> address{nullptr};
    std::size_t spans = 0;  // of the last one that was put here; for the user of the cache alone
  };
  std::array<retained_run, 8> retained_runs_{};
  unsigned next_retained_ = 0;

  host_lock use_;
};

}  // namespace tri::arena
