#include "omp/fibers/virtual_ordered.hpp"

#include <algorithm>
#include <mutex>

#include "omp/call_sites.hpp"
#include "omp/fibers/virtual_region.hpp"
#include "omp/team_context.hpp"

namespace tri::omp {
namespace {

// Blocks of a static loop without a chunk, as compilers and runtimes deal them out: the first ones have one more.
ordered_chunk block_of(std::uint64_t items, std::uint64_t thread, std::uint64_t threads) {
  const std::uint64_t each = items / threads;
  const std::uint64_t more = items % threads;
  const std::uint64_t first = thread * each + std::min(thread, more);
  const std::uint64_t last = first + each + (thread < more ? 1 : 0);
  return {first != last, first, last};
}

}  // namespace

void begin_ordered_loop(virtual_thread_state& state, const void* site, const iteration_space& space,
                        ordered_kind kind) {
  state.ordered_number = state.ordered_loops++;
  state.has_chunk = false;
  state.chunks = 0;
  state.in_static_chunks = kind == ordered_kind::static_chunks;
  const std::lock_guard held(state.share->guard);
  std::unique_ptr<ordered_loop>& loop = state.share->ordered[state.ordered_number];
  if (loop == nullptr) {
    loop = std::make_unique<ordered_loop>(state.threads, space, kind == ordered_kind::static_blocks);
    count_taken(site);
  }
  state.ordered = loop.get();
}

ordered_chunk next_ordered_chunk(virtual_thread_state& state) {
  ordered_loop& loop = *state.ordered;
  if (state.has_chunk) {
    wait_for_turn(state);
    pass_turn(state);
    state.has_chunk = false;
  }
  ordered_chunk got;
  if (loop.in_blocks) {
    if (state.chunks++ > 0) return {};
    state.chunk = state.thread;
    got = block_of(loop.space.items, state.thread, state.threads);
  } else {
    state.chunk = state.in_static_chunks ? state.thread + state.chunks++ * state.threads
                                         // relaxed: the turns order the chunks
                                         : loop.next_unit.fetch_add(1, std::memory_order_relaxed);
    if (state.chunk >= loop.space.units()) return {};
    got = {true, loop.space.item_of(state.chunk), loop.space.item_of(state.chunk + 1)};
  }
  state.has_chunk = got.any;
  return got;
}

void end_work(virtual_thread_state& state, bool waits) {
  if (state.ordered != nullptr) {
    const std::lock_guard held(state.share->guard);
    if (++state.ordered->left == state.threads) state.share->ordered.erase(state.ordered_number);
    state.ordered = nullptr;
  }
  if (thread_context* const loops = this_thread) loops->in_loop = false;
  if (waits) wait_at_barrier(state);
}

}  // namespace tri::omp
