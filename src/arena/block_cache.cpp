#include "arena/block_cache.hpp"

#include <utility>

namespace tri::arena {
namespace {
constexpr std::size_t most_spans_kept =
    (std::size_t{4} << 20) / span_bytes;  // larger runs go straight back to the heap
}

void* block_cache::allocate_slowly(unsigned size_class) {
  auto& of_class = lists_[size_class];
  if (collect_returned() && of_class.free != nullptr) {
    free_block* const block = of_class.free;
    of_class.free = block->next;
    return block;
  }
  const std::size_t size = size_of_class(size_class);
  if (of_class.fresh == nullptr || static_cast<std::size_t>(of_class.fresh_end - of_class.fresh) < size) {
    const std::size_t spans = spans_of_class(size_class);
    of_class.fresh = take_spans(spans, static_cast<std::uint8_t>(size_class));
    of_class.fresh_end = of_class.fresh + spans * span_bytes;
  }
  std::byte* const block = of_class.fresh;
  of_class.fresh += size;
  return block;
}

void* block_cache::allocate_large(std::size_t bytes) {
  collect_returned();
  const std::size_t spans = spans_for(bytes);
  for (auto& kept : kept_runs_)
    if (kept.address != nullptr && kept.spans == spans) {
      void* const address = kept.address;
      kept.address = nullptr;
      return address;
    }
  return take_spans(spans, large_run);
}

std::byte* block_cache::take_spans(std::size_t spans, std::uint8_t size_class) {
  try {
    return heap_.take_spans(spans, number_, size_class);
  } catch (const arena_exhausted&) {
    release_kept_runs();  // what we keep for speed may be what is missing
    return heap_.take_spans(spans, number_, size_class);
  }
}

void block_cache::release_kept_runs() {
  for (auto& kept : kept_runs_)
    if (kept.address != nullptr) heap_.release_run(std::exchange(kept.address, nullptr));
}

block_cache::~block_cache() {
  flush();
  collect_returned();
  release_kept_runs();
}

void block_cache::keep_large(free_block* block) {
  const std::size_t spans = heap::entry_of(block, window_bytes_).spans;
  if (spans > most_spans_kept) {
    heap_.release_run(block);
    return;
  }
  auto& place = kept_runs_[next_kept_++ % kept_runs_.size()];
  if (place.address != nullptr) heap_.release_run(place.address);
  place = {block, spans};
}

void block_cache::send_home(free_block* block, span_entry entry) {
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

}  // namespace tri::arena
