// Runs as much of an open task as one participant may: first its own range from the front, then the ranges of the
// others from the back, in its victim order. Called by the poster, or by a helper that is inside the slot. `again()` is
// asked before every claim after the first; false ends the portion early.
#pragma once

#include <cstdint>
#include <span>

#include "board/divisible_task.hpp"

namespace tri::board {

struct portion {
  std::uint32_t chunks = 0;  // that were run
  bool exhausted = false;    // every range of the task was seen empty, and ranges never grow
};

struct open_task {
  const task_slot& slot;
  std::span<claim_line> ranges;  // by PE
  chunk_function operation;
};

inline void run_chunks(const open_task& task, const task_view& view, chunk_span chunks, std::uint32_t pe) {
  const std::uint64_t first = chunks.first * view.chunk;
  const std::uint64_t last = chunks.last == task.slot.chunks ? view.total : chunks.last * view.chunk;
  task.operation(view, first, last, static_cast<int>(pe));
}

// The own range only. `exhausted` speaks of that range.
template <class Again>
portion run_own_range(const open_task& task, std::uint32_t pe, Again&& again) {
  portion done;
  const chunk_span range = task.slot.range_of_pe(pe);
  if (range.empty()) return {0, true};
  const owner_steps steps{range.first, share_of(range.count(), task.slot.static_q32), task.slot.owner_step};
  const task_view view = task.slot.view();
  for (;;) {
    const chunk_span claimed = take_front(task.ranges[pe].claim, steps);
    if (claimed.empty()) return {done.chunks, true};
    run_chunks(task, view, claimed, pe);
    done.chunks += claimed.count();
    if (!again()) return done;
  }
}

// The ranges of the others.
template <class Again>
portion steal_ranges(const open_task& task, std::uint32_t pe, std::span<const std::uint32_t> order, Again&& again) {
  portion done;
  const task_view view = task.slot.view();
  for (const std::uint32_t victim : order) {
    if (!task.slot.is_participant(victim)) continue;
    for (;;) {
      const chunk_span claimed = take_back(task.ranges[victim].claim, task.slot.steal_step);
      if (claimed.empty()) break;
      run_chunks(task, view, claimed, pe);
      done.chunks += claimed.count();
      if (!again()) return done;
    }
  }
  done.exhausted = true;
  return done;
}

}  // namespace tri::board
