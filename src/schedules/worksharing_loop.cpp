#include "schedules/worksharing_loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <utility>

namespace tri::schedules {

void worksharing_measurement::open(const loop_layout& layout, std::uint64_t now) {
  times_.reshape(layout.items, static_cast<std::uint32_t>(layout.ranges.size()));
  owners_.assign(layout.tasklets, no_owner);
  began_ = now;
  ended_.store(0, std::memory_order_relaxed);  // relaxed: published with the loop
}

void worksharing_loop::free_lines::operator()(board::claim_line* lines) const {
  ::operator delete(lines, std::align_val_t{alignof(board::claim_line)});
}

void worksharing_loop::reserve(std::uint32_t participants) {
  if (participants <= capacity_) return;
  const std::size_t count = participants + std::size_t{1};
  void* const memory = ::operator new(count * sizeof(board::claim_line), std::align_val_t{alignof(board::claim_line)});
  auto* const lines = static_cast<board::claim_line*>(memory);
  for (std::size_t line = 0; line < count; ++line) new (lines + line) board::claim_line{};
  lines_.reset(lines);
  capacity_ = participants;
}

void worksharing_loop::arm(loop_layout&& layout) {
  const std::size_t participants = layout.ranges.size();
  if (participants == 0 || participants > most_worksharing_threads) {
    throw std::invalid_argument(fmt::format("loop: the layout has ranges for {} participants; it must be 1 to {}",
                                            participants, most_worksharing_threads));
  }
  reserve(static_cast<std::uint32_t>(participants));
  if (participants != participants_) {
    ring_ = std::make_unique<std::uint32_t[]>(2 * participants);
    for (std::size_t entry = 0; entry < 2 * participants; ++entry) {
      ring_[entry] = static_cast<std::uint32_t>(entry % participants);
    }
  }
  participants_ = static_cast<std::uint32_t>(participants);
  layout_ = std::move(layout);
  chunks_ = layout_.chunks();
  shares_last_ = std::ranges::any_of(
      layout_.ranges, [](const board::participant_range& range) { return range.kept != range.last - range.first; });
  board::task_spec spec;
  spec.participants = participants_;
  spec.owner = layout_.owner;
  spec.thief = layout_.thief;
  spec.least = layout_.least;
  spec.order = layout_.steal;
  spec.pool = layout_.pool;
  spec.pool_step = layout_.pool_step;
  spec.owners_come = true;
  rule_ = board::rule_of(spec);
  arm_again();
}

void worksharing_loop::measure(std::uint64_t now) {
  if (measurement_ == nullptr) measurement_ = std::make_unique<worksharing_measurement>();
  measurement_->open(layout_, now);
  measures_ = true;
}

void worksharing_loop::arm_again() {
  if (measures_) measures_ = false;
  // All lines but one come from other cores: prefetch them together.
  for (std::uint32_t line = 0; line < participants_; ++line) __builtin_prefetch(&lines_[line], 1);
  board::task_spec spec;
  spec.participants = participants_;
  spec.ranges = layout_.ranges;
  spec.pool = layout_.pool;
  board::fill_lines(spec, chunks_, lines().lines);
  if (shares_last_)
    last_taken().store(chunks_ > 0 ? 0 : 1, std::memory_order_relaxed);  // relaxed: published with the loop
}

// One contiguous chunk of the pending ones.
item_span fetch_position::hand_out() {
  const loop_layout& layout = loop_->layout_;
  was_last_ = false;
  while (!pending_.empty()) {
    board::chunk_span chunks{};
    if (layout.in_order()) {
      chunks = std::exchange(pending_, {});
    } else {
      const std::uint32_t chunk = layout.chunk_of(pending_.first++);
      chunks = {chunk, chunk + 1};
      while (!pending_.empty() && layout.chunk_of(pending_.first) == chunks.last) {
        ++chunks.last;
        ++pending_.first;
      }
    }
    if (chunks.last == loop_->chunks_) {
      held_ = !loop_->shares_last_;
      --chunks.last;
    }
    if (measurement_ != nullptr) [[unlikely]]
      remember_owner(chunks);
    if (!chunks.empty()) return {layout.first_item(chunks.first), layout.last_item(chunks.last - 1)};
  }
  return fetch();
}

void fetch_position::measure(worksharing_measurement& into, std::uint32_t participant) {
  into.times().clear(participant);
  measurement_ = &into;
  participant_ = participant;
}

item_span fetch_position::next_at(std::uint64_t now) {
  if (!running_.empty()) {
    measurement_->times().record_between(participant_, running_.first, running_.last, running_since_, now);
  }
  running_ = fetch();
  running_since_ = now;  // so the claim counts as part of its chunk
  if (running_.empty()) {
    measurement_->ended();
    measurement_ = nullptr;
  }
  return running_;
}

void fetch_position::remember_owner(board::chunk_span chunks) {
  const std::span<std::uint32_t> owners = measurement_->tasklet_owners();
  if (owners.empty()) return;
  for (std::uint32_t chunk = chunks.first; chunk < chunks.last; ++chunk) {
    const std::uint32_t tasklet = chunk - loop_->layout_.first_tasklet;  // wraps for chunks before
    if (tasklet < owners.size()) owners[tasklet] = participant_;
  }
}

item_span fetch_position::last_chunk() {
  held_ = false;
  was_last_ = true;
  const std::uint32_t chunk = loop_->chunks_ - 1;
  if (measurement_ != nullptr) [[unlikely]]
    remember_owner({chunk, chunk + 1});
  return {loop_->layout_.first_item(chunk), loop_->layout_.last_item(chunk)};
}

}  // namespace tri::schedules
