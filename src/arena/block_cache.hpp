// The message allocator of one thread: free lists per size class, filled from the heap's spans. A block that is
// released by another thread or process goes home through the owner's return stack; on the way it waits in a small
// outgoing chain so that a stream of released blocks costs one atomic operation per sixteen.
// Thread-safety: one thread at a time (the arena facade gives each PE its own).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "arena/heap.hpp"

namespace tri::arena {

class block_cache {
 public:
  block_cache(heap& from, std::uint16_t number)
      : heap_(from), window_bytes_(from.own_window().bytes), number_(number) {}
  block_cache(const block_cache&) = delete;
  block_cache& operator=(const block_cache&) = delete;
  /// Sends home what is not ours and gives large runs back; memory carved into small blocks stays with the window.
  ~block_cache();

  /// A block of at least `bytes`, aligned to 16 bytes, and to a cache line from 64 bytes on. Throws arena_exhausted.
  void* allocate(std::size_t bytes) {
    if (bytes <= largest_small_block) [[likely]] {
      auto& of_class = lists_[size_class_of(bytes)];
      if (free_block* const block = of_class.free) [[likely]] {
        of_class.free = block->next;
        return block;
      }
      return allocate_slowly(size_class_of(bytes));
    }
    return allocate_large(bytes);
  }

  /// Releases any block of the arena, whoever allocated it.
  void release(void* address) {
    const span_entry entry = heap::entry_of(address, window_bytes_);
    auto* const block = static_cast<free_block*>(address);
    if (entry.owner == number_ && is_own(address)) [[likely]]
      keep(block, entry.size_class);
    else
      send_home(block, entry);
  }

  /// Sends the outgoing chain home; an idle thread calls this so that nobody waits for its blocks.
  void flush();

  /// Usable size of a block, in bytes.
  static std::size_t size_of(const void* address, std::size_t window_bytes) {
    const span_entry entry = heap::entry_of(address, window_bytes);
    return entry.size_class < size_class_count ? size_of_class(entry.size_class)
                                               : std::size_t{entry.spans} * span_bytes;
  }

 private:
  struct class_list {
    free_block* free = nullptr;
    std::byte* fresh = nullptr;  // never used memory of the newest span run
    std::byte* fresh_end = nullptr;
  };
  bool is_own(const void* address) const {
    return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(heap_.own_window().address) <
           window_bytes_;
  }
  void keep(free_block* block, std::uint8_t size_class) {
    if (size_class < size_class_count) [[likely]] {
      block->next = lists_[size_class].free;
      lists_[size_class].free = block;
    } else {
      keep_large(block);
    }
  }
  void* allocate_slowly(unsigned size_class);
  void* allocate_large(std::size_t bytes);
  std::byte* take_spans(std::size_t spans, std::uint8_t size_class);
  void release_kept_runs();
  void keep_large(free_block* block);
  void send_home(free_block* block, span_entry entry);
  bool collect_returned();

  heap& heap_;
  const std::size_t window_bytes_;
  const std::uint16_t number_;
  std::array<class_list, size_class_count> lists_{};

  static constexpr unsigned longest_chain = 16;
  return_stack* outgoing_to_ = nullptr;
  free_block* outgoing_first_ = nullptr;
  free_block* outgoing_last_ = nullptr;
  unsigned outgoing_count_ = 0;

  // A few large runs that were just released: the usual pattern is to ask for the same size again.
  struct kept_run {
    void* address;
    std::size_t spans;
  };
  std::array<kept_run, 8> kept_runs_{};
  unsigned next_kept_ = 0;
};

}  // namespace tri::arena
