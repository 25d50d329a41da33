#include "arena/arena.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <bit>
#include <mutex>

#include "os/cgroup.hpp"

namespace tri::arena {
namespace {
arena_space* open_arena = nullptr;
thread_local checked_cache* this_checked_cache = nullptr;

}  // namespace

std::size_t automatic_limit(std::size_t window_bytes, std::size_t processes, const std::string& root) {
  const auto machine =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t memory = std::min(machine, os::memory_limit(root).value_or(machine));
  return std::min(window_bytes, memory / 4 * 3 / processes);
}

arena_space* current() { return open_arena; }

arena_space::arena_space(const arena_options& options, const std::vector<int>& files, int local_rank,
                         os::function_ref<void()> wait_for_all)
    : options_(options), local_rank_(local_rank), files_(files) {
  if (open_arena != nullptr) throw std::logic_error("arena: this process already has one open");
  if (!std::has_single_bit(options_.window_bytes) || options_.window_bytes < (std::size_t{64} << 20))
    throw std::runtime_error(
        fmt::format("arena: a window of {} bytes was asked for; it must be a power of two of at least 64 MiB",
                    options_.window_bytes));
  const int most = most_windows(options_.window_bytes) - options_.first_window;
  if (static_cast<int>(files.size()) > most)
    throw std::runtime_error(fmt::format(
        "arena: {} processes on this host; there are addresses for the windows of {}, each of {} MiB: start "
        "fewer processes with more PEs each (--pes), or choose a smaller --tri-arena-window-bytes",
        files.size(), most, options_.window_bytes >> 20));
  if (options_.limit_bytes == 0) options_.limit_bytes = automatic_limit(options_.window_bytes, files.size());
  const auto own = static_cast<std::size_t>(local_rank);
  try {
    for (std::size_t i = 0; i < files.size(); ++i)
      windows_.push_back(map_window(files[i], options_.first_window + static_cast<int>(i), options_.window_bytes,
                                    i == own, options_.what_to_do));
    heap_ = std::make_unique<arena::heap>(windows_[own], local_rank, options_.limit_bytes, options_.what_to_do);
    guests_ = std::make_unique<block_cache>(*heap_, guest_cache);
    if (options_.allocator == allocator_kind::checked)
      checked_guests_ = std::make_unique<checked_cache>(*guests_, static_cast<std::uint16_t>(local_rank), guest_cache);
    guests_->use().unlock();
    install_fork_guard(files, options_.window_bytes, options_.first_window);
    wait_for_all();
    for (std::size_t i = 0; i < windows_.size(); ++i) heap::validate(windows_[i], static_cast<int>(i));
  } catch (...) {
    close();
    throw;
  }
  open_arena = this;
}

void arena_space::close() {
  checked_guests_.reset();
  guests_.reset();
  install_fork_guard({}, options_.window_bytes);
  for (const window& mapped : windows_) munmap(mapped.address, mapped.bytes);
  windows_.clear();
}

arena_space::~arena_space() {
  open_arena = nullptr;
  close();
}

cache_guard::cache_guard(int number) {
  if (open_arena == nullptr) throw std::logic_error("arena: not open");
  if (open_arena->options_.allocator == allocator_kind::locked) return;  // all threads share the guests' cache
  cache_ = std::make_unique<block_cache>(open_arena->heap(), static_cast<std::uint16_t>(number));
  if (open_arena->options_.allocator == allocator_kind::checked) {
    checked_ = std::make_unique<checked_cache>(*cache_, static_cast<std::uint16_t>(open_arena->local_rank_),
                                               static_cast<std::uint16_t>(number));
    this_checked_cache = checked_.get();
    return;
  }
  detail::this_cache = cache_.get();
}

cache_guard::~cache_guard() {
  detail::this_cache = nullptr;
  this_checked_cache = nullptr;
}

// Threads that are not PEs, and PEs whose allocator is not the usual one. Separate functions keep them out of the usual
// code path.
class guests {
 public:
  [[gnu::noinline]] static void* allocate(std::size_t bytes);
  [[gnu::noinline]] static void release(void* block) noexcept;
};

void* allocate(std::size_t bytes) {
  block_cache* const own = detail::this_cache;
  return own != nullptr ? own->allocate(bytes) : guests::allocate(bytes);
}

void* guests::allocate(std::size_t bytes) {
  if (this_checked_cache != nullptr) return this_checked_cache->allocate(bytes);
  if (open_arena == nullptr)
    throw std::logic_error("arena: memory asked for while no arena is open (before tri::run or after it)");
  std::lock_guard guard(open_arena->guests_->use());
  if (open_arena->checked_guests_ != nullptr) return open_arena->checked_guests_->allocate(bytes);
  return open_arena->guests_->allocate(bytes);
}

void release(void* block) noexcept {
  if (block_cache* const own = detail::this_cache)
    own->release(block);
  else
    guests::release(block);
}

void guests::release(void* block) noexcept {
  if (this_checked_cache != nullptr) {
    this_checked_cache->release(block);
    return;
  }
  if (open_arena == nullptr) return;  // the whole arena is gone, and the block with it
  std::lock_guard guard(open_arena->guests_->use());
  if (open_arena->checked_guests_ != nullptr)
    open_arena->checked_guests_->release(block);
  else
    open_arena->guests_->release(block);
  open_arena->guests_->flush();  // a guest may never come back
}

}  // namespace tri::arena
