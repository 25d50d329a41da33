// Checks of a task before it is posted.
#include "board/divisible_task.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace tri::board {
namespace {

template <class... Values>
[[noreturn]] void refuse(fmt::format_string<Values...> text, Values&&... values) {
  throw std::invalid_argument("divisible task: " + fmt::format(text, std::forward<Values>(values)...));
}

void check_ranges(const task_spec& spec, const board_limits& limits) {
  const std::uint64_t chunks = chunk_count(spec.total, spec.chunk);
  if (spec.ranges.size() != spec.participants) {
    refuse("{} ranges are given for {} participants; it must be one each", spec.ranges.size(), spec.participants);
  }
  std::uint64_t held = spec.pool.count();
  for (std::size_t index = 0; index < spec.ranges.size(); ++index) {
    const participant_range& range = spec.ranges[index];
    if (range.first > range.last || range.last > chunks) {
      refuse("range {} is chunks {} to {}; it must lie within 0 to {}", index, range.first, range.last, chunks);
    }
    if (range.static_share > range.last - range.first || range.kept > range.last - range.first) {
      refuse("range {} of {} chunks has a static share of {} and keeps {}; neither can be more than the range", index,
             range.last - range.first, range.static_share, range.kept);
    }
    held += range.last - range.first;
  }
  if (held != chunks || spec.pool.last > chunks) {
    refuse("ranges and pool hold {} chunks, up to number {}; the task has {}", held, spec.pool.last, chunks);
  }
  // Every participant may overshoot the end of the pool once (take_shared).
  if (!spec.pool.empty() && spec.pool.last + std::uint64_t{limits.pe_count} * spec.pool_step > most_chunks) {
    refuse("the pool ends at chunk {} and {} PEs take {} at a time; the sum must stay below {}", spec.pool.last,
           limits.pe_count, spec.pool_step, most_chunks);
  }
}

}  // namespace

claim_rule rule_of(const task_spec& spec) {
  claim_rule rule;
  rule.first_participant = static_cast<std::uint16_t>(spec.first_participant);
  rule.participants = static_cast<std::uint16_t>(spec.participants);
  rule.owner_step = spec.owner.step;
  rule.owner_shift = spec.owner.shift;
  rule.thief_step = spec.thief.step;
  rule.thief_shift = spec.thief.shift;
  rule.pool_step = spec.pool.empty() ? 0 : spec.pool_step;
  rule.least = spec.least;
  rule.order = spec.order;
  rule.owners_come = spec.owners_come;
  return rule;
}

void fill_lines(const task_spec& spec, std::uint32_t chunks, std::span<claim_line> lines) {
  const std::uint64_t static_q32 = fraction_q32(spec.static_fraction);
  for (std::uint32_t index = 0; index < spec.participants; ++index) {
    claim_line& line = lines[spec.first_participant + index];
    if (spec.ranges.empty()) {
      const chunk_span range = range_of(chunks, index, spec.participants);
      line.begin = range.first;
      line.end = range.last;
      line.static_share = share_of(range.count(), static_q32);
      line.kept_before = range.first;
    } else {
      const participant_range& range = spec.ranges[index];
      line.begin = range.first;
      line.end = range.last;
      line.static_share = range.static_share;
      line.kept_before = range.first + range.kept;
    }
    line.owner_left.store(0, std::memory_order_relaxed);                    // relaxed: as the next
    line.claim.store(pack_claim(line.range()), std::memory_order_relaxed);  // relaxed: open_slot publishes it
  }
  if (!spec.pool.empty()) {
    claim_line& pool = lines.back();
    pool.begin = spec.pool.first;
    pool.end = spec.pool.last;
    pool.claim.store(pack_claim(spec.pool), std::memory_order_relaxed);  // relaxed: as above
  }
}

void check_task(const task_spec& spec, const board_limits& limits) {
  if (spec.chunk == 0) refuse("chunk is 0 items; it must be at least 1");
  if (chunk_count(spec.total, spec.chunk) > most_chunks) {
    refuse("{} items in chunks of {} are {} chunks; at most {} are possible, so chunks of at least {}", spec.total,
           spec.chunk, chunk_count(spec.total, spec.chunk), most_chunks, chunk_count(spec.total, most_chunks));
  }
  if (spec.participants == 0) refuse("participants is 0; at least one PE must own a range");
  if (spec.first_participant >= limits.pe_count || spec.participants > limits.pe_count - spec.first_participant) {
    refuse("participants are PEs {} to {}; the board has PEs 0 to {}", spec.first_participant,
           std::uint64_t{spec.first_participant} + spec.participants - 1, limits.pe_count - 1);
  }
  if (!(spec.static_fraction >= 0.0 && spec.static_fraction <= 1.0)) {
    refuse("static_fraction is {}; it must lie between 0 and 1", spec.static_fraction);
  }
  if (spec.owner.step == 0) refuse("owner.step is 0 chunks; it must be at least 1");
  if (spec.thief.step == 0) refuse("thief.step is 0 chunks; it must be at least 1");
  if (spec.pool_step == 0) refuse("pool_step is 0 chunks; it must be at least 1");
  if (!spec.ranges.empty() || !spec.pool.empty()) check_ranges(spec, limits);
  if (spec.process < any_process || spec.process >= static_cast<std::int32_t>(limits.process_count)) {
    refuse("process is {}; it must be any_process (-1) or 0 to {}", spec.process, limits.process_count - 1);
  }
}

}  // namespace tri::board
