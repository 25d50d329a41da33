#include "arena/block_cache.hpp"

#include <sys/mman.h>
#include <algorithm>
#include <mutex>
#include <utility>

#include "arena/cache_registry.hpp"
#include "trireme/detail/arena/allocate.hpp"

namespace tri::arena {
namespace {
constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::size_t most_spans_kept = 4 * mib / span_bytes;       // larger runs go straight back to the heap
constexpr std::size_t most_spans_sent_warm = 8 * mib / span_bytes;  // larger ones go to other processes without pages
constexpr std::size_t most_held_by_sleeper = 4 * mib;               // of one class
constexpr std::size_t page_bytes = 4096;
constexpr std::int64_t blocks_given_at_once = 512;
}  // namespace

// A 64th of the memory: plenty for steady traffic, and small compared with the limit.
std::size_t block_cache::most_held_bytes(std::size_t limit_bytes) {
  return std::clamp(limit_bytes / 64, largest_small_block, 16 * mib);
}

block_cache::block_cache(heap& from, std::uint16_t number)
    : heap_(from), runs_(from.caches().runs_of(number)), window_bytes_(from.own_window().bytes), number_(number) {
  for (unsigned size_class = 0; size_class < size_class_count; ++size_class)
    lists_[size_class].room = most_blocks_[size_class] =
        static_cast<std::int64_t>(most_held_bytes(from.limit_bytes()) / size_of_class(size_class));
  use_.lock();
  from.caches().add(*this);
}

block_cache::~block_cache() {
  heap_.caches().remove(*this);
  flush();
  runs_.collect();
  release_retained_runs();
  release_all();
}

void* block_cache::take_listed(unsigned size_class) {
  auto& of_class = lists_[size_class];
  free_block* const block = of_class.free;
  if (block == nullptr) return nullptr;
  of_class.free = block->next;
  ++of_class.room;
  return block;
}

void* block_cache::carve(unsigned size_class) {
  auto& of_class = lists_[size_class];
  const std::size_t size = size_of_class(size_class);
  if (static_cast<std::size_t>(of_class.fresh_end - of_class.fresh) < size) return nullptr;
  return std::exchange(of_class.fresh, of_class.fresh + size);
}

// The list is empty, and so is the span being carved.
bool block_cache::refill(unsigned size_class) {
  const free_blocks found = runs_.take(size_class);
  auto& of_class = lists_[size_class];
  of_class.free = found.first;
  of_class.room -= found.count;
  of_class.fresh = found.fresh;
  of_class.fresh_end = found.fresh_end;
  return found.count != 0 || found.fresh != found.fresh_end;
}

void* block_cache::allocate_slowly(unsigned size_class) {
  if (collect_returned())
    if (void* const block = take_listed(size_class)) return block;
  if (void* const block = carve(size_class)) return block;
  if (!refill(size_class)) {
    auto& of_class = lists_[size_class];
    const std::size_t spans = spans_of_class(size_class);
    const auto take = [&] {
      of_class.fresh = heap_.take_spans(spans, number_, static_cast<std::uint8_t>(size_class));
      of_class.fresh_end = of_class.fresh + spans * span_bytes;
    };
    try {
      take();
    } catch (const arena_exhausted&) {
      release_all();
      heap_.caches().reclaim(*this);
      if (!refill(size_class)) take();
    }
  }
  void* const block = take_listed(size_class);
  return block != nullptr ? block : carve(size_class);
}

void* block_cache::allocate_large(std::size_t bytes) {
  collect_returned();
  const std::size_t spans = spans_for(bytes);
  if (void* const retained = take_retained(spans)) return retained;
  try {
    return heap_.take_spans(spans, number_, large_run);
  } catch (const arena_exhausted&) {
    release_all();
    heap_.caches().reclaim(*this);
    return heap_.take_spans(spans, number_, large_run);
  }
}

void* block_cache::take_retained(std::size_t spans) {
  for (auto& retained : retained_runs_)
    if (retained.spans == spans)
      if (void* const run =
              retained.address.exchange(nullptr, std::memory_order_acquire))  // pairs: block_cache.retained
        return run;
  return nullptr;
}

void block_cache::release_retained_runs() {
  for (auto& retained : retained_runs_)
    if (void* const run = retained.address.exchange(nullptr, std::memory_order_acquire))  // pairs: block_cache.retained
      heap_.release_run(run);
}

void block_cache::keep_large(free_block* block) {
  const std::size_t spans = heap::entry_of(block, window_bytes_).spans;
  if (spans > most_spans_kept) {
    heap_.release_run(block);
    return;
  }
  auto& retained = retained_runs_[next_retained_++ % retained_runs_.size()];
  retained.spans = spans;
  // acq_rel: the thread that takes the run sees all accesses to its memory as past, and so do we for the one that we
  // displace. pairs: block_cache.retained
  if (void* const displaced = retained.address.exchange(block, std::memory_order_acq_rel)) heap_.release_run(displaced);
}

void block_cache::return_to_owner(free_block* block, span_entry entry) {
  if (entry.size_class == large_run) {
    if (is_own(block) && entry.spans > most_spans_kept) {  // its owner would do the same, some time
      heap_.release_run(block);
      return;
    }
    // The owner may collect it much later. Its first page holds the link.
    if (!is_own(block) && entry.spans > most_spans_sent_warm)
      madvise(reinterpret_cast<std::byte*>(block) + page_bytes, entry.spans * span_bytes - page_bytes, MADV_REMOVE);
  }
  return_stack& home = heap::returns_of(block, entry.owner, window_bytes_);
  if (outgoing_to_ != &home) flush();
  outgoing_to_ = &home;
  block->next = outgoing_first_;
  outgoing_first_ = block;
  if (outgoing_last_ == nullptr) outgoing_last_ = block;
  // A large run must not wait: the owner may be short of exactly this memory.
  if (++outgoing_count_ == longest_chain || entry.size_class == large_run) flush();
}

void block_cache::flush() {
  if (outgoing_first_ == nullptr) return;
  outgoing_to_->push_chain(outgoing_first_, outgoing_last_);
  outgoing_first_ = outgoing_last_ = nullptr;
  outgoing_count_ = 0;
}

bool block_cache::collect_returned() {
  free_block* block = heap::returns_of(heap_.own_window().address, number_, window_bytes_).take_all();
  if (block == nullptr) return false;
  while (block != nullptr) {
    free_block* const next = block->next;
    keep(block, heap::entry_of(block, window_bytes_).size_class);
    block = next;
  }
  return true;
}

// The first `blocks` of the list, or all if there are fewer, return to their runs.
void block_cache::shorten(unsigned size_class, std::int64_t blocks) {
  auto& of_class = lists_[size_class];
  free_block* const first = of_class.free;
  free_block* last = first;
  std::int64_t count = 1;
  for (; count < blocks && last->next != nullptr; ++count) last = last->next;
  of_class.free = std::exchange(last->next, nullptr);
  of_class.room += count;
  runs_.put(first);
}

// The list is longer than it may be.
void block_cache::release_some(unsigned size_class) {
  shorten(size_class, std::min(blocks_given_at_once, most_blocks_[size_class] / 2 + 1));
}

void block_cache::settle() {
  flush();
  collect_returned();
  for (unsigned size_class = 0; size_class < size_class_count; ++size_class) {
    const auto held = static_cast<std::size_t>(most_blocks_[size_class] - lists_[size_class].room);
    const std::size_t size = size_of_class(size_class);
    if (held * size > most_held_by_sleeper)
      shorten(size_class, static_cast<std::int64_t>(held - most_held_by_sleeper / size));
  }
}

// Called by the thread that holds `use()`.
void block_cache::release_all() {
  flush();
  release_retained_runs();
  for (unsigned size_class = 0; size_class < size_class_count; ++size_class) {
    auto& of_class = lists_[size_class];
    of_class.room = most_blocks_[size_class];
    runs_.put(std::exchange(of_class.free, nullptr));
    runs_.put_fresh(of_class.fresh, of_class.fresh_end, size_class);
    of_class.fresh = of_class.fresh_end = nullptr;
  }
}

void block_cache::give_to_others() {
  release_retained_runs();
  if (!use_.try_lock()) return;
  const std::lock_guard guard(use_, std::adopt_lock);
  release_all();
}

}  // namespace tri::arena
