#include "omp/loop_choice.hpp"

#include <algorithm>

namespace tri::omp {
namespace {

using loops::loop_layout;
using loops::schedule;
using loops::schedule_kind;

// Half of every thread's block in one piece, the rest in pieces that shrink while it works through them; a neighbour
// that has nothing left takes a quarter of the rest from the far end.
loop_layout automatic_layout(const loop_facts& loop) {
  constexpr std::uint64_t half = std::uint64_t{1} << 31;  // as q32
  constexpr std::uint64_t pieces_per_thread = 64;
  loop_layout layout;
  layout.items = loop.units;
  layout.chunk = std::max(std::uint64_t{1}, board::chunk_count(loop.units, board::most_chunks));
  const std::uint32_t chunks = layout.chunks();
  const auto step = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, chunks / (pieces_per_thread * loop.threads)));
  layout.owner = {step, 1};
  layout.thief = {step, 2};
  layout.steal = board::steal_order::neighbours;
  layout.ranges.reserve(loop.threads);
  for (std::uint32_t thread = 0; thread < loop.threads; ++thread) {
    const board::chunk_span range = board::range_of(chunks, thread, loop.threads);
    const std::uint32_t share = loop.threads == 1 ? range.count() : board::share_of(range.count(), half);
    layout.ranges.push_back({range.first, range.last, share, 0});
  }
  return layout;
}

// A chunk of the schedule is a number of iterations.
schedule in_units(schedule which, const loop_facts& loop) {
  if (which.chunk > 0) which.chunk = board::chunk_count(which.chunk, loop.unit);
  return which;
}

}  // namespace

bool is_monotonic(const loop_layout& layout) {
  if (!layout.order.empty()) return false;
  for (const board::participant_range& range : layout.ranges) {
    if (range.first == range.last) continue;
    if (range.kept != range.last - range.first) return false;  // others may take its end, then turn to another range
    if (!layout.pool.empty() && (!layout.in_order() || layout.pool.first < range.last)) return false;
  }
  return true;
}

loop_layout choose_layout(const schedule& which, const loop_facts& loop) {
  if (which.kind == schedule_kind::automatic && !loop.monotonic) return automatic_layout(loop);
  if (which.kind != schedule_kind::automatic) {
    loop_layout layout = loops::layout_of(in_units(which, loop), loop.units, loop.threads);
    if (!loop.monotonic || is_monotonic(layout)) return layout;
  }
  schedule rising;  // blocks, then a pool that is handed out from its front
  rising.kind = schedule_kind::hybrid;
  rising.static_fraction = which.static_fraction;
  rising.chunk = which.chunk;
  return loops::layout_of(in_units(rising, loop), loop.units, loop.threads);
}

}  // namespace tri::omp
