#include "arena/carved_runs.hpp"

#include <mutex>
#include <utility>

namespace tri::arena {
namespace {

constexpr std::array<std::uint32_t, size_class_count> blocks_of_run = [] {
  std::array<std::uint32_t, size_class_count> blocks{};
  for (unsigned each = 0; each < size_class_count; ++each)
    blocks[each] = static_cast<std::uint32_t>(spans_of_class(each) * span_bytes / size_of_class(each));
  return blocks;
}();

}  // namespace

void carved_runs::link(std::uint32_t run, unsigned size_class) {
  std::uint32_t& first = with_free_[size_class];
  run_record& record = heap_.record_of_run(run);
  record.previous = 0;
  record.next = first;
  if (first != 0) heap_.record_of_run(first).previous = run;
  first = run;
}

void carved_runs::unlink(std::uint32_t run, unsigned size_class) {
  const run_record& record = heap_.record_of_run(run);
  (record.previous != 0 ? heap_.record_of_run(record.previous).next : with_free_[size_class]) = record.next;
  if (record.next != 0) heap_.record_of_run(record.next).previous = record.previous;
}

// `blocks` of the run have become free, and are in its record except for the count.
void carved_runs::add(std::uint32_t run, unsigned size_class, std::uint32_t blocks) {
  run_record& record = heap_.record_of_run(run);
  if (record.free_count == 0) link(run, size_class);
  record.free_count += blocks;
  if (record.free_count < blocks_of_run[size_class]) return;
  unlink(run, size_class);
  heap_.release_run(heap_.address_of(run));
}

void carved_runs::put(free_block* chain) {
  if (chain == nullptr) return;
  const std::size_t window_bytes = heap_.own_window().bytes;
  std::lock_guard guard(lock_);
  while (chain != nullptr) {
    free_block* const block = std::exchange(chain, chain->next);
    const unsigned size_class = heap::entry_of(block, window_bytes).size_class;
    if (size_class == large_run) {
      heap_.release_run(block);
      continue;
    }
    const auto run = static_cast<std::uint32_t>(heap_.run_of(block));
    run_record& record = heap_.record_of_run(run);
    block->next = record.released;
    record.released = block;
    add(run, size_class, 1);
  }
}

void carved_runs::put_fresh(std::byte* first, std::byte* end, unsigned size_class) {
  const auto blocks = static_cast<std::uint32_t>(static_cast<std::size_t>(end - first) / size_of_class(size_class));
  if (blocks == 0) return;
  std::lock_guard guard(lock_);
  const auto run = static_cast<std::uint32_t>(heap_.run_of(first));
  heap_.record_of_run(run).never_used = blocks;
  add(run, size_class, blocks);
}

free_blocks carved_runs::take(unsigned size_class) {
  std::lock_guard guard(lock_);
  const std::uint32_t run = with_free_[size_class];
  if (run == 0) return {};
  unlink(run, size_class);
  run_record& record = heap_.record_of_run(run);
  std::byte* const start = heap_.address_of(run);
  const std::size_t size = size_of_class(size_class);
  const free_blocks taken{record.released, record.free_count - record.never_used,
                          start + (blocks_of_run[size_class] - record.never_used) * size,
                          start + blocks_of_run[size_class] * size};
  record = {};
  return taken;
}

void carved_runs::collect() {
  put(heap::returns_of(heap_.own_window().address, number_, heap_.own_window().bytes).take_all());
}

}  // namespace tri::arena
