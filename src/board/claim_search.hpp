// Which chunks of a task a participant runs next: its own range from the front, then the pool, then it steals from the
// ranges of the others, from the back. Used by the poster, by a helper that is inside the slot, and, without any slot,
// by threads that fetch the chunks of a loop one after the other (src/loops). Never waits.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "board/divisible_task.hpp"

namespace tri::board {

// The lines of a task, by PE, and the pool behind them. `place` is the line the participant owns (task_slot::place_of).
struct claim_lines {
  const claim_rule& rule;
  std::span<claim_line> lines;  // one per PE, then the pool's

  claim_line& of(std::uint32_t pe) const { return lines[pe]; }
  claim_line& pool() const { return lines.back(); }
};

// The state of a participant's search. Ranges never grow, so those seen empty need not be checked again.
class claim_search {
 public:
  // `order`: the other PEs, nearest first. It must outlive this.
  claim_search(std::uint32_t place, std::span<const std::uint32_t> order) : order_(order), place_(place) {}

  // The next chunks to run, or none: then no range had chunks left that this participant may take.
  chunk_span next(const claim_lines& task) {
    if (const chunk_span own = next_own(task); !own.empty()) return own;
    if (in_pool_) {
      if (task.rule.pool_step > 0) {
        const chunk_span shared = take_shared(task.pool().claim, task.rule.pool_step, pool_expects_more_);
        pool_expects_more_ = !shared.empty();
        if (pool_expects_more_) return shared;
      }
      in_pool_ = false;
    }
    return task.rule.order == steal_order::nearest ? next_of_nearest(task) : next_of_neighbours(task);
  }
  // From the own range only.
  chunk_span next_own(const claim_lines& task) {
    if (!in_own_) return {};
    if (task.rule.is_participant(place_)) {
      claim_line& line = task.of(place_);
      const chunk_span own = take_front(line.claim, task.rule.owner_of(line));
      if (!own.empty()) return own;
    }
    in_own_ = false;
    return {};
  }
  bool own_is_dry() const { return !in_own_; }
  // Before leaving early. False: chunks are left in the own range that all others left to this participant, so it must
  // continue.
  bool may_leave(const claim_lines& task) const {
    if (!in_own_ || !task.rule.is_participant(place_)) return true;
    claim_line& line = task.of(place_);
    return board::may_leave(line.claim, line.owner_left, task.rule.thief_of(line));
  }

 private:
  static chunk_span steal(const claim_lines& task, std::uint32_t victim) {
    claim_line& line = task.of(victim);
    return take_back(line.claim, line.owner_left, task.rule.thief_of(line));
  }
  chunk_span next_of_nearest(const claim_lines& task) {
    for (; searched_ < order_.size(); ++searched_) {
      const std::uint32_t victim = order_[searched_];
      if (victim == place_ || !task.rule.is_participant(victim)) continue;
      if (const chunk_span stolen = steal(task, victim); !stolen.empty()) return stolen;
    }
    return {};
  }
  // Left and right neighbour, fuller first, then the next pair; round the ring by comparing and adding (Kale 5, K70),
  // or only as far as there are neighbours (K71).
  chunk_span next_of_neighbours(const claim_lines& task) {
    const std::uint32_t count = task.rule.participants;
    if (!task.rule.is_participant(place_)) return next_of_nearest(task);
    const std::uint32_t own = place_ - task.rule.first_participant;
    const bool ring = task.rule.order == steal_order::neighbours;
    if (searched_ == 0) searched_ = 1;
    for (; searched_ <= (ring ? count / 2 : count - 1); ++searched_) {
      const auto distance = static_cast<std::uint32_t>(searched_);
      const std::uint32_t left = own >= distance ? own - distance : own + count - distance;
      const std::uint32_t right = own + distance < count ? own + distance : own + distance - count;
      std::uint32_t first = task.rule.first_participant + (ring || left < own ? left : right);
      std::uint32_t second = task.rule.first_participant + (ring || right > own ? right : left);
      if (!ring && left > own && right < own) return {};
      if (first != second && left_of(task, second) > left_of(task, first)) std::swap(first, second);
      if (const chunk_span stolen = steal(task, first); !stolen.empty()) return stolen;
      if (first == second) continue;
      if (const chunk_span stolen = steal(task, second); !stolen.empty()) return stolen;
    }
    return {};
  }
  static std::uint32_t left_of(const claim_lines& task, std::uint32_t victim) {
    const claim_line& line = task.of(victim);
    // relaxed: only chooses where to start
    return task.rule.thief_of(line)
        .stealable(unpack_claim(line.claim.load(std::memory_order_relaxed)),
                   line.owner_left.load(std::memory_order_relaxed) != 0)
        .count();
  }

  std::span<const std::uint32_t> order_;
  std::uint32_t place_;
  std::size_t searched_ = 0;  // victims (or pairs of neighbours) seen empty
  bool in_own_ = true;
  bool in_pool_ = true;
  bool pool_expects_more_ = false;
};

// Chunks reserved for a participant that is sure to come are waited for; but that participant may be waiting for us. So
// after a while the poster declares that the absent ones have left early: their ranges are open to all, and to
// themselves if they come after all. The word is set before the poster searches for chunks again, and the poster is a
// thief like any other: every chunk is claimed. range.left, pairs: take_back.
inline void release_reserved_ranges(const claim_lines& task) {
  if (!task.rule.owners_come) return;
  for (std::uint32_t index = 0; index < task.rule.participants; ++index) {
    claim_line& line = task.of(task.rule.first_participant + index);
    const chunk_span open = unpack_claim(line.claim.load(std::memory_order_relaxed));  // relaxed: it only shrinks
    if (!open.empty() && open.first == line.begin) line.owner_left.store(1, std::memory_order_seq_cst);
  }
}

struct open_task {
  const task_slot& slot;
  claim_lines claims;
  chunk_function operation;
};

inline void run_chunks(const open_task& task, const task_view& view, chunk_span chunks, std::uint32_t pe) {
  const std::uint64_t first = chunks.first * view.chunk;
  const std::uint64_t last = chunks.last == task.slot.chunks ? view.total : chunks.last * view.chunk;
  task.operation(view, first, last, static_cast<int>(pe));
}

struct portion {
  std::uint32_t chunks = 0;  // that were run
  bool exhausted = false;    // this task need not be found any more: nothing is left, and ranges never grow
};

// An owner is sure to come for chunks reserved for it, and must be able to find them.
inline bool awaits_owners(const claim_lines& task) {
  if (!task.rule.owners_come) return false;
  for (std::uint32_t index = 0; index < task.rule.participants; ++index) {
    const claim_line& line = task.of(task.rule.first_participant + index);
    const chunk_span open = unpack_claim(line.claim.load(std::memory_order_relaxed));  // relaxed: it only shrinks
    if (!open.empty() && open.first == line.begin) return true;
  }
  return false;
}

// The own range only. `again()` is called after every claim; false ends the portion early.
template <class Again>
portion run_own_range(const open_task& task, claim_search& search, std::uint32_t pe, Again&& again) {
  portion done;
  const task_view view = task.slot.view();
  for (;;) {
    const chunk_span claimed = search.next_own(task.claims);
    if (claimed.empty()) return {done.chunks, true};
    run_chunks(task, view, claimed, pe);
    done.chunks += claimed.count();
    if (!again() && search.may_leave(task.claims)) return done;
  }
}

// The rest of the own range, the pool and the ranges of the others.
template <class Again>
portion run_everywhere(const open_task& task, claim_search& search, std::uint32_t pe, Again&& again) {
  portion done;
  const task_view view = task.slot.view();
  for (;;) {
    const chunk_span claimed = search.next(task.claims);
    if (claimed.empty()) return {done.chunks, !awaits_owners(task.claims)};
    run_chunks(task, view, claimed, pe);
    done.chunks += claimed.count();
    if (!again() && search.may_leave(task.claims)) return done;
  }
}

}  // namespace tri::board
