// The heap of one window: hands out runs of 64 KiB spans and remembers, in a table that every process of the host can
// read, which cache owns each span and how it is carved. Block caches (block_cache.hpp) do the fast work; the heap is
// entered under a lock only when a cache needs another span or a large block is wanted.
//
// Window layout: header page | span table | run table | one return stack per cache | spans ...
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "arena/core_dump_units.hpp"
#include "arena/host_lock.hpp"
#include "arena/size_class.hpp"
#include "arena/window.hpp"
#include "trireme/detail/arena/sanitizer_handover.hpp"

namespace tri::arena {

class cache_registry;

inline constexpr std::uint16_t guest_cache = most_local_pes;  ///< cache of the threads that are not PEs
inline constexpr std::uint8_t large_run = 0xfe;               ///< size class of a span run given out as one block
inline constexpr std::uint8_t permanent_run = 0xfd;           ///< never released: queues, boards, PE records

/// One row of the span table. Written by the owner process before a block of the span leaves it, so a thread that
/// received a block (by a message, hence ordered) may read it.
struct span_entry {
  std::uint16_t owner;      // cache number in the owner process
  std::uint8_t size_class;  // or large_run, permanent_run
  std::uint8_t offset;      // spans from the start of a carved run
  std::uint32_t spans;      // length of the run that starts here; 0 inside a run
};
static_assert(sizeof(span_entry) == 8);

/// A released block; lives in the block itself.
struct free_block {
  free_block* next;
};

/// One row of the run table, at the number of the first span of a run that is carved into small blocks: which of its
/// blocks are free. Used by the owner process, under the lock of carved_runs.hpp.
struct run_record {
  free_block* released;      // blocks that wait here
  std::uint32_t free_count;  // these, and those that were never used
  std::uint32_t never_used;  // the last ones of the run
  std::uint32_t next;        // in the list of runs of this cache and class with free blocks; span number, 0: none
  std::uint32_t previous;
};

/// Where other PEs and processes leave blocks that belong to one cache. A Treiber stack with take-all, hence no ABA.
struct alignas(cache_line_bytes) return_stack {
  std::atomic<free_block*> top{nullptr};

  void push_chain(free_block* first, free_block* last) {
    free_block* seen = top.load(std::memory_order_relaxed);  // relaxed: the exchange below decides
    do {
      last->next = seen;
      handed_over(this);
    } while (!top.compare_exchange_weak(seen, first, std::memory_order_release,
                                        std::memory_order_relaxed));  // pairs: return_stack.take
  }
  free_block* take_all() {
    if (top.load(std::memory_order_relaxed) == nullptr) return nullptr;           // relaxed: only a hint
    free_block* const newest = top.exchange(nullptr, std::memory_order_acquire);  // pairs: return_stack.take
    taken_over();
    return newest;
  }
};

/// First page of a window: checked by an attaching process before it trusts the rest.
struct window_header {
  static constexpr std::uint64_t expected_magic = 0x54524952454d4531;  // "TRIREME1"
  static constexpr std::uint32_t expected_version = 3;
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t number;  // window number = local rank of the owner
  std::uint64_t window_bytes;
  std::uint64_t root;  // address of the structure that the upper layer published, 0 before
  // For readers outside of the job (src/live).
  std::uint64_t live_page;     // its offset in the window, 0 before it is complete
  std::uint64_t spans_in_use;  // of the heap
  std::uint64_t limit_bytes;   // of the heap
};

class heap {
 public:
  /// Lays the owner's structures into a fresh window. `limit_bytes` bounds the memory in use.
  heap(window own, int number, std::size_t limit_bytes, error_hints what_to_do = {});
  ~heap();
  heap(const heap&) = delete;
  heap& operator=(const heap&) = delete;

  /// A run of spans for a cache to carve. Throws arena_exhausted.
  std::byte* take_spans(std::size_t spans, std::uint16_t owner, std::uint8_t size_class);
  /// Releases a run, given its start. Memory of large ones returns to the system at once, that of others when much of
  /// it is free.
  void release_run(void* address);
  /// Permanent zeroed memory for structures that live as long as the process, committed as it is used. Aligned to a
  /// span.
  void* reserve(std::size_t bytes);

  std::size_t bytes_in_use() const;
  /// The most that a cache (number of the PE in its process, or guest_cache) had for its blocks at a time.
  std::size_t most_bytes_of(std::uint16_t owner) const;
  /// Handed out by reserve(): address space, of which what was used has pages.
  std::size_t reserved_bytes() const;
  /// Whether the bookkeeping is consistent with itself and the span table; slow, for tests and debugging.
  bool is_valid() const;
  std::size_t limit_bytes() const { return limit_bytes_; }
  /// The caches of this heap, for access by others.
  cache_registry& caches() { return *caches_; }
  const window& own_window() const { return window_; }
  window_header& header() const { return *reinterpret_cast<window_header*>(window_.address); }
  /// Shows the live page, which is complete, to readers outside of the job; it lies in memory from `reserve`.
  void publish_live_page(const std::byte* page) {
    // release: a reader that finds the page finds all of it. pairs: window.live_page
    std::atomic_ref(header().live_page)
        .store(static_cast<std::uint64_t>(page - window_.address), std::memory_order_release);
  }

  // Facts that can be computed about any window of the host. A window is a power of two long: no division.
  static span_entry& entry_of(const void* block, std::size_t window_bytes) {
    const auto offset = reinterpret_cast<std::uintptr_t>(block) - base_address;
    return span_table(start_of_window(offset, window_bytes))[(offset & (window_bytes - 1)) / span_bytes];
  }
  static return_stack& returns_of(const void* block, std::uint16_t owner, std::size_t window_bytes) {
    std::byte* const start = start_of_window(reinterpret_cast<std::uintptr_t>(block) - base_address, window_bytes);
    return reinterpret_cast<return_stack*>(start + table_offset + tables_bytes(window_bytes))[owner];
  }
  /// Number of the first span of the carved run in which the block of our own window lies.
  std::size_t run_of(const void* block) const {
    const auto span = static_cast<std::size_t>(static_cast<const std::byte*>(block) - window_.address) / span_bytes;
    return span - span_table(window_.address)[span].offset;
  }
  std::byte* address_of(std::size_t span) const { return window_.address + span * span_bytes; }
  run_record& record_of_run(std::size_t first_span) const {
    return reinterpret_cast<run_record*>(window_.address + table_offset + table_bytes(window_.bytes))[first_span];
  }
  /// Checks the header of a peer's window; throws an exception that describes the error.
  static void validate(const window& peer, int number);

 private:
  static constexpr std::size_t table_offset = 4096;
  static constexpr std::size_t table_bytes(std::size_t window_bytes) {
    return window_bytes / span_bytes * sizeof(span_entry);
  }
  static constexpr std::size_t tables_bytes(std::size_t window_bytes) {
    return table_bytes(window_bytes) + window_bytes / span_bytes * sizeof(run_record);
  }
  static std::byte* start_of_window(std::uintptr_t offset, std::size_t window_bytes) {
    return reinterpret_cast<std::byte*>(base_address + (offset & ~(window_bytes - 1)));
  }
  static span_entry* span_table(std::byte* start) { return reinterpret_cast<span_entry*>(start + table_offset); }
  std::size_t first_span() const;
  std::size_t find_run(std::size_t spans);
  void check_capacity(std::size_t spans) const;
  [[noreturn]] void no_gap(std::size_t spans) const;
  void insert_free_run(std::size_t first, std::size_t spans);
  void erase_free_run(std::map<std::size_t, std::size_t>::iterator run);
  void use_spans(std::size_t first, std::size_t spans);
  void give_pages_back(std::size_t first, std::size_t spans);
  void trim();
  void count_spans(std::size_t in_use);

  window window_;
  std::size_t limit_bytes_;
  error_hints what_to_do_;
  mutable host_lock lock_;
  std::map<std::size_t, std::size_t> free_by_start_;        // first span -> spans; never two adjacent runs
  std::multimap<std::size_t, std::size_t> free_by_length_;  // spans -> first span
  std::size_t next_span_;                                   // everything from here on is free
  std::size_t never_used_;                                  // everything from here on is also still zero
  std::size_t spans_in_use_ = 0;
  std::size_t spans_reserved_ = 0;
  struct spans_of_owner {
    std::size_t now = 0;
    std::size_t most = 0;
  };
  std::vector<spans_of_owner> by_owner_;  // as many as have taken some
  std::vector<bool> warm_;                // spans that are free and may have pages
  std::size_t warm_spans_ = 0;
  std::size_t trim_at_;  // number of resident free spans
  core_dump_units dumped_;
  std::unique_ptr<cache_registry> caches_;
};

}  // namespace tri::arena
