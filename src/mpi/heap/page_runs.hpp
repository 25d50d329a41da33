// The pages of one window, handed out in runs: large blocks, and spans that are carved into small blocks. Good fit
// among free runs, coalescing, and unused pages go back to the system (holes are punched into the memory file).
//
// All bookkeeping is in private memory outside the window, so a forked child gets it by the kernel's own copy-on-write,
// and no peer can damage it. One lock; every function may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arena/host_lock.hpp"
#include "mpi/heap/size_classes.hpp"

namespace tri::mpi {

/// The content of a page, one byte per page: nothing that can be freed, blocks of small class k (k + 1), or the start
/// of a large block.
using page_kind = std::uint8_t;
inline constexpr page_kind not_allocated = 0;
inline constexpr page_kind large_block = 255;

/// A run of pages. In use, the owner of the run may keep its own notes in the fields below the line.
struct page_run {
  enum class state_kind : std::uint8_t { unused, in_use, dirty, clean, purging };
  std::uint32_t first = 0;
  std::uint32_t pages = 0;
  std::uint32_t next = 0;      // in the list of its bin, while free
  std::uint32_t previous = 0;  // (0 ends a list: run 0 is never handed out)
  std::uint32_t newer = 0;     // in the list of dirty runs by age, while dirty
  std::uint32_t older = 0;
  state_kind state = state_kind::unused;
  // ---- notes of the small blocks, guarded by the lock of their class
  bool listed = false;
  std::uint16_t capacity = 0;     ///< blocks
  std::uint16_t carved = 0;       ///< blocks that were ever handed out; behind them memory is untouched
  std::uint16_t outstanding = 0;  ///< blocks that are out
  void* free_blocks = nullptr;    ///< linked through their first word
};

struct page_use {
  std::size_t in_use_bytes = 0;    ///< handed out
  std::size_t dirty_bytes = 0;     ///< free, and kept for the next request
  std::size_t reach_bytes = 0;     ///< from the start of the window to the highest page that was ever handed out
  std::uint64_t purged_bytes = 0;  ///< given back to the system so far
};

class page_runs {
 public:
  /// The window is used from the start; `bookkeeping_bytes_for` it are reserved, and touched only as far as pages are.
  /// False: the kernel refused (errno).
  bool open(std::byte* window, std::size_t bytes);
  void close();

  /// Where an allocation ends: `heap_bytes` for all, `block_bytes` for one.
  void set_limits(std::size_t heap_bytes, std::size_t block_bytes);

  enum class refusal { none, beyond_limits, window_full };
  struct allocation {
    std::byte* address = nullptr;
    std::uint32_t run = 0;
    bool zero = false;  ///< the memory was never used or is a hole: it reads as zeros
    refusal why = refusal::none;
  };
  allocation allocate(std::size_t pages, std::size_t alignment_pages, page_kind kind);
  void release(std::uint32_t run);

  /// A run that is not the program's by malloc, and counts to no limit. Never released.
  void set_aside(std::uint32_t run);

  /// Takes pages from behind the run, or releases its last ones. False: there are not enough free pages behind it.
  bool resize(std::uint32_t run, std::size_t pages);

  /// Gives all free pages back to the system.
  void purge_all();

  // For any address inside the window:
  page_kind kind_of(const void* address) const { return kinds_[page_of(address)]; }
  std::uint32_t run_of(const void* address) const { return run_of_page_[page_of(address)]; }
  page_run& run(std::uint32_t number) { return runs_[number]; }
  const page_kind* kinds() const { return kinds_; }
  std::byte* address_of(const page_run& run) const { return window_ + std::size_t{run.first} * page_bytes; }

  /// Makes every page of a span refer to it. Called by the thread that allocated it, before any block of it is handed
  /// out.
  void describe_span(std::uint32_t run);

  page_use use();

  /// For fork: the child's window is private memory, where holes are made differently, and may be shorter. Holes that
  /// show a file read what the parent writes there, until this process writes them itself.
  enum class holes : std::uint8_t { read_as_zeros, show_a_file };
  void lock_for_fork() { lock_.lock(); }
  void unlock_after_fork() { lock_.unlock(); }
  void window_is_private_now(std::size_t bytes, holes of_window);
  std::size_t reach_bytes() const { return reach_ * page_bytes; }  ///< the lock must be held

  /// Calls visit(first byte, bytes) for each range of pages that are handed out. The lock must be held
  /// (lock_for_fork).
  template <typename Visitor>
  void for_each_range_in_use(Visitor&& visit) const {
    std::size_t begin = 0;
    std::size_t end = 0;
    for (std::size_t page = 0; page < reach_; page += runs_[run_of_page_[page]].pages) {
      const page_run& here = runs_[run_of_page_[page]];
      if (here.state != page_run::state_kind::in_use) continue;
      if (page != end) {
        if (begin != end) visit(window_ + begin * page_bytes, (end - begin) * page_bytes);
        begin = page;
      }
      end = page + here.pages;
    }
    if (begin != end) visit(window_ + begin * page_bytes, (end - begin) * page_bytes);
  }

  /// Checks the invariants; for tests. Takes the lock.
  bool is_valid();

  static std::size_t bookkeeping_bytes_for(std::size_t window_bytes);

 private:
  static constexpr unsigned bins = 25 * 8;  // eight per doubling
  struct bin_set {
    std::uint32_t head[bins];
    std::uint64_t occupied[(bins + 63) / 64];
  };
  using state_kind = page_run::state_kind;

  std::size_t page_of(const void* address) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(address) - window_) / page_bytes;
  }
  bin_set& bins_of(state_kind state) { return state == state_kind::dirty ? dirty_ : clean_; }
  std::uint32_t take_number();
  void describe(std::uint32_t number, std::size_t first, std::size_t pages, state_kind state);
  void insert_free(std::uint32_t number, state_kind state);
  void remove_free(std::uint32_t number);
  std::uint32_t find(bin_set& set, std::size_t pages, std::size_t alignment, int most_looks) const;
  bool fits(std::uint32_t number, std::size_t pages, std::size_t alignment) const;
  std::uint32_t take_untouched(std::size_t pages, std::size_t alignment);
  std::uint32_t cut(std::uint32_t number, std::size_t pages, std::size_t alignment, state_kind state);
  bool within_limits(std::size_t more_pages);
  void purge_down_to(std::size_t keep_pages);
  std::size_t kept_pages() const;
  void grow_reach(std::size_t reach);

  arena::host_lock lock_;
  bool private_window_ = false;
  holes holes_ = holes::read_as_zeros;
  std::byte* window_ = nullptr;
  page_kind* kinds_ = nullptr;
  std::uint32_t* run_of_page_ = nullptr;
  page_run* runs_ = nullptr;
  std::size_t window_pages_ = 0;
  std::size_t most_runs_ = 0;
  std::size_t bookkeeping_bytes_ = 0;
  std::size_t runs_described_ = 1;  // run 0 means none
  std::uint32_t unused_runs_ = 0;   // descriptions that were given up, linked by `next`
  std::size_t reach_ = 0;           // pages from here on were never handed out
  std::size_t dumped_ = 0;          // pages up to here are part of core dumps
  std::size_t in_use_ = 0;          // pages
  std::size_t set_aside_ = 0;       // pages in use that are not counted in in_use_
  std::size_t dirty_pages_ = 0;
  std::uint64_t purged_pages_ = 0;
  std::uint32_t oldest_dirty_ = 0;
  std::uint32_t newest_dirty_ = 0;
  std::size_t most_pages_ = ~std::size_t{0};
  std::size_t most_block_pages_ = ~std::size_t{0};
  std::size_t approved_pages_ = 0;  // within the resource limits, when they were looked at last
  bin_set dirty_{};
  bin_set clean_{};
};

}  // namespace tri::mpi
