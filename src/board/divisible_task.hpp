// A divisible task as its poster describes it, and as it lies in a slot of the board.
// The slot belongs to one PE for ever; that PE writes it while it is closed, and everybody reads it while inside
// (slot_state.hpp). If a process dies anywhere here the job ends (crash rule); no other process reads a torn task,
// because the slot opens only after the last field is written.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "board/claim_word.hpp"
#include "board/operation_table.hpp"
#include "board/slot_state.hpp"

namespace tri::board {

inline constexpr std::int32_t any_process = -1;
inline constexpr std::uint32_t slots_per_pe = 4;
inline constexpr std::uint64_t most_chunks = 0xffffffffu;

struct task_spec {
  operation_id operation = no_operation;
  std::array<std::uint64_t, argument_words> arguments{};
  std::uint64_t total = 0;              // items
  std::uint64_t chunk = 1;              // items per chunk, at most 2^32-1 chunks
  std::uint32_t first_participant = 0;  // PEs [first, first + participants) own a range each, in order
  std::uint32_t participants = 1;
  double static_fraction = 0.0;        // of its range that an owner claims in one step when it arrives
  std::uint32_t owner_step = 1;        // chunks of every later claim of the owner
  std::uint32_t steal_step = 1;        // chunks a helper takes from a range at a time
  std::int32_t process = any_process;  // or the only process whose PEs may run it
};

struct board_limits {
  std::uint32_t pe_count = 0;
  std::uint32_t process_count = 0;
};

// Throws std::invalid_argument naming the field, its value and what would be right. The operation is checked by the
// table.
void check_task(const task_spec& spec, const board_limits& limits);

constexpr std::uint64_t chunk_count(std::uint64_t total, std::uint64_t chunk) {
  return total / chunk + (total % chunk != 0 ? 1 : 0);
}

// A fraction as parts of 2^32, and its share of `chunks` rounded to the nearest.
constexpr std::uint64_t fraction_q32(double fraction) {
  return static_cast<std::uint64_t>(fraction * 4294967296.0 + 0.5);
}
constexpr std::uint32_t share_of(std::uint32_t chunks, std::uint64_t q32) {
  return static_cast<std::uint32_t>((chunks * q32 + (std::uint64_t{1} << 31)) >> 32);
}

// Range of participant `index` of `participants`: floor(chunks * i / n); lengths differ by at most one.
constexpr chunk_span range_of(std::uint32_t chunks, std::uint32_t index, std::uint32_t participants) {
  const std::uint64_t all = chunks;
  return {static_cast<std::uint32_t>(all * index / participants),
          static_cast<std::uint32_t>(all * (index + std::uint64_t{1}) / participants)};
}

struct alignas(64) claim_line {
  std::atomic<std::uint64_t> claim;
};

struct alignas(64) task_slot {
  // line 0: read by a helper when it enters; the poster polls the state while it waits
  std::atomic<std::uint64_t> state;
  std::uint64_t total;
  std::uint64_t chunk;
  std::uint64_t static_q32;
  operation_id operation;
  std::int32_t process;
  std::uint32_t chunks;
  std::uint32_t poster;
  std::uint32_t first_participant;
  std::uint32_t participants;
  std::uint32_t owner_step;
  std::uint32_t steal_step;
  // line 1: read by the operation
  alignas(64) std::uint64_t arguments[argument_words];
  // line 2: touched by the poster only
  alignas(64) std::uint64_t generation;  // counts posts, so that an outdated handle is recognised
  std::uint32_t finished_by_poster;
  std::uint32_t in_use;

  chunk_span range_of_pe(std::uint32_t pe) const {
    const std::uint32_t index = pe - first_participant;  // wraps for PEs below: then it is not < participants
    return index < participants ? range_of(chunks, index, participants) : chunk_span{};
  }
  bool is_participant(std::uint32_t pe) const { return pe - first_participant < participants; }
  task_view view() const { return {arguments, total, chunk, poster}; }
};

static_assert(sizeof(claim_line) == 64 && sizeof(task_slot) == 192);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace tri::board
