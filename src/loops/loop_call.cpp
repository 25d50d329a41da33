#include "loops/loop_call.hpp"

#include <sched.h>

#include "board/cpu.hpp"
#include "board/operation_table.hpp"

namespace tri::loops {
namespace {

// What a helper does with chunks of a loop: items when all chunks are equal, claim numbers when there is a table.
void run_loop_chunks(const board::task_view& task, std::uint64_t first, std::uint64_t last, int pe) noexcept {
  loop_call& call = *reinterpret_cast<loop_call*>(task.arguments[0]);
  const std::uint32_t place = static_cast<std::uint32_t>(pe) - call.first_pe;  // wraps for PEs below
  call.run_claimed(first, last, place < call.participants ? static_cast<int>(place) : 0);
}

const board::operation_id loop_operation = board::operation_table::of_process().chunks.add("loop", run_loop_chunks);

}  // namespace

void loop_call::run_claimed(std::uint64_t first, std::uint64_t last, int number) noexcept {
  if (layout == nullptr) {
    run(first, last, number);
    return;
  }
  const board::chunk_span claims{static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last)};
  layout->for_each_block(claims, [&](std::uint64_t begin, std::uint64_t end) { run(begin, end, number); });
  if (tasklet_owners == nullptr) return;
  for (std::uint32_t claim = claims.first; claim < claims.last; ++claim) {
    const std::uint32_t tasklet = layout->chunk_of(claim) - layout->first_tasklet;  // wraps for chunks before
    if (tasklet < layout->tasklets) tasklet_owners[tasklet] = static_cast<std::uint32_t>(number);
  }
}

board::task_handle post_loop(crew_member& me, loop_call& call, const loop_layout& layout, bool strict_owners) {
  call.first_pe = me.first();
  call.participants = me.participants();
  board::task_spec spec = task_of(layout);
  const bool table = !layout.bounds.empty() || !layout.in_order();
  call.layout = table ? &layout : nullptr;
  spec.operation = loop_operation;
  spec.least = layout.least;
  spec.arguments[0] = reinterpret_cast<std::uint64_t>(&call);
  spec.first_participant = me.first();
  spec.process = static_cast<std::int32_t>(me.board().process());
  spec.owners_come = strict_owners && me.others_always_come();
  const board::post_result posted = me.board().post(spec);
  // What is kept for its owners needs every one of them, not just anybody.
  const std::uint32_t wanted = spec.owners_come ? me.participants() - 1 : posted.useful_helpers;
  if (posted.handle && wanted > 0) me.wake(wanted);
  return posted.handle;
}

void finish_loop(crew_member& me, board::task_handle posted) {
  ++me.depth;
  std::uint32_t looks = 0;
  me.board().finish(posted, [&] {
    // Others are in their last chunks. If one of them has lost its core, it may be waiting for this one.
    if (++looks % 1024 == 0)
      sched_yield();
    else
      board::cpu_relax();
  });
  --me.depth;
}

}  // namespace tri::loops
