// A divisible task as its poster describes it, and its form in a slot of the board. The slot permanently belongs to one
// PE, which writes it while it is closed; all participants read it while inside (slot_state.hpp). If a process dies
// anywhere here the job ends (crash rule); no other process reads a torn task, because the slot opens only after the
// last field is written.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "board/claim_word.hpp"
#include "board/operation_table.hpp"
#include "board/slot_state.hpp"

namespace tri::board {

inline constexpr std::int32_t any_process = -1;
inline constexpr std::uint32_t slots_per_pe = 4;
inline constexpr std::uint64_t most_chunks = 0xffffffffu;

// The range of one participant, in chunks.
struct participant_range {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::uint32_t static_share = 0;  // that the owner claims in one step when it arrives
  std::uint32_t kept = 0;          // at its beginning, never stolen once the owner has come
};

// The victims of a participant whose own range is exhausted.
enum class steal_order : std::uint8_t {
  nearest,     // the PE's victim order: by distance on the machine
  neighbours,  // the participants next to it on both sides, the one with more left first, then the next but one, ...
               // (Kale, chapter 5); the first and the last participant are neighbours
  neighbours_clipped  // the first has none to its left, the last none to its right
};

struct task_spec {
  operation_id operation = no_operation;
  std::array<std::uint64_t, argument_words> arguments{};
  std::uint64_t total = 0;              // items
  std::uint64_t chunk = 1;              // items per chunk, at most 2^32-1 chunks
  std::uint32_t first_participant = 0;  // PEs [first, first + participants) own a range each, in order
  std::uint32_t participants = 1;
  double static_fraction = 0.0;  // of its range that an owner claims in one step when it arrives
  claim_size owner{};            // every later claim of the owner
  claim_size thief{};            // a claim of any other participant
  std::uint32_t least = 0;       // chunks in a range below which its owner, once it came, is left alone
  steal_order order = steal_order::nearest;
  std::int32_t process = any_process;  // or the only process whose PEs may run it
  // Unequal ranges, one per participant; then static_fraction does not count. Together with the pool they must hold
  // every chunk once. Empty: equal ranges and no pool. Read by post() only.
  std::span<const participant_range> ranges{};
  chunk_span pool{};            // chunks without an owner: taken from its front, after the own range
  std::uint32_t pool_step = 1;  // chunks at a time
  bool owners_come = false;     // every participant is sure to come, so its reserved chunks are its own from the start
};

struct board_limits {
  std::uint32_t pe_count = 0;
  std::uint32_t process_count = 0;
};

// Throws std::invalid_argument naming the field, its value and what would be right. The operation is checked by the
// table.
void check_task(const task_spec& spec, const board_limits& limits);

struct claim_line;
struct claim_rule;
claim_rule rule_of(const task_spec& spec);
// Writes the lines of a checked task: lines[PE] of each participant, and the pool's behind them.
void fill_lines(const task_spec& spec, std::uint32_t chunks, std::span<claim_line> lines);

constexpr std::uint64_t chunk_count(std::uint64_t total, std::uint64_t chunk) {
  return total / chunk + (total % chunk != 0 ? 1 : 0);
}

// A fraction as parts of 2^32, and its share of `chunks` rounded to the nearest.
constexpr std::uint64_t fraction_q32(double fraction) {
  // NOLINTNEXTLINE(bugprone-incorrect-roundings): a fraction is never negative, and lround is not constexpr
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

// All data of a claim is in one line. The poster writes the fields behind the word before the slot opens.
struct alignas(64) claim_line {
  std::atomic<std::uint64_t> claim;
  std::uint32_t begin;
  std::uint32_t end;
  std::uint32_t static_share;
  std::uint32_t kept_before;              // a chunk number
  std::atomic<std::uint32_t> owner_left;  // went before its range was done
  std::atomic<std::uint32_t> user_word;   // for the owner of the lines; the board neither reads nor writes it

  chunk_span range() const { return {begin, end}; }
};

// How the participants of a task divide its chunks; the other data of a claim is in the claim lines.
struct claim_rule {
  std::uint16_t first_participant = 0;
  std::uint16_t participants = 1;
  std::uint32_t owner_step = 1;
  std::uint32_t thief_step = 1;
  std::uint32_t pool_step = 0;  // 0: no pool
  std::uint32_t least = 0;
  std::uint8_t owner_shift = no_share;
  std::uint8_t thief_shift = no_share;
  steal_order order = steal_order::nearest;
  bool owners_come = false;

  // Wraps for PEs below the first: then it is not less either.
  bool is_participant(std::uint32_t pe) const { return pe - first_participant < participants; }
  owner_steps owner_of(const claim_line& line) const {
    return {line.begin, line.static_share, {owner_step, owner_shift}};
  }
  thief_steps thief_of(const claim_line& line) const {
    return {line.begin, line.kept_before, {thief_step, thief_shift}, least, owners_come};
  }
};

struct alignas(64) task_slot {
  // line 0: read by a helper when it enters; the poster polls the state while it waits
  std::atomic<std::uint64_t> state;
  std::uint64_t total;
  std::uint64_t chunk;
  operation_id operation;
  std::int32_t process;
  std::uint32_t chunks;
  std::uint32_t poster;
  claim_rule rule;
  // lines 1 and 2: read by the operation
  alignas(64) std::uint64_t arguments[argument_words];
  // line 3: touched by the poster only
  alignas(64) std::uint64_t generation;  // counts posts, so that an outdated handle is recognised
  std::uint32_t finished_by_poster;
  std::uint32_t in_use;

  task_view view() const { return {arguments, total, chunk, poster}; }
  // The place whose line a PE takes its own chunks from. A poster that is not a participant uses the first one's place:
  // two PEs may have one place and then share its range from the front.
  std::uint32_t place_of(std::uint32_t pe) const {
    return pe == poster && !rule.is_participant(pe) ? rule.first_participant : pe;
  }
};

static_assert(sizeof(claim_line) == 64 && sizeof(task_slot) == 256);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace tri::board
