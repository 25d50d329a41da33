#include "omp/fibers/virtual_ordered.hpp"

#include <algorithm>
#include <mutex>

#include "omp/team.hpp"
#include "omp/fibers/virtual_region.hpp"

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

void begin_ordered_loop(virtual_place& place, const iteration_space& space, ordered_kind kind) {
  place.ordered_number = place.ordered_loops++;
  place.has_chunk = false;
  place.chunks = 0;
  place.in_static_chunks = kind == ordered_kind::static_chunks;
  const std::lock_guard held(place.share->guard);
  std::unique_ptr<ordered_loop>& loop = place.share->ordered[place.ordered_number];
  if (loop == nullptr) {
    loop = std::make_unique<ordered_loop>(place.threads, space, kind == ordered_kind::static_blocks);
  }
  place.ordered = loop.get();
}

ordered_chunk next_ordered_chunk(virtual_place& place) {
  ordered_loop& loop = *place.ordered;
  if (place.has_chunk) {
    wait_for_turn(place);
    pass_turn(place);
    place.has_chunk = false;
  }
  ordered_chunk got;
  if (loop.in_blocks) {
    if (place.chunks++ > 0) return {};
    place.chunk = place.thread;
    got = block_of(loop.space.items, place.thread, place.threads);
  } else {
    place.chunk = place.in_static_chunks ? place.thread + place.chunks++ * place.threads
                                         // relaxed: the turns order the chunks
                                         : loop.next_unit.fetch_add(1, std::memory_order_relaxed);
    if (place.chunk >= loop.space.units()) return {};
    got = {true, loop.space.item_of(place.chunk), loop.space.item_of(place.chunk + 1)};
  }
  place.has_chunk = got.any;
  return got;
}

void end_work(virtual_place& place, bool waits) {
  if (place.ordered != nullptr) {
    const std::lock_guard held(place.share->guard);
    if (++place.ordered->left == place.threads) place.share->ordered.erase(place.ordered_number);
    place.ordered = nullptr;
  }
  if (thread_context* const loops = this_thread) loops->in_loop = false;
  if (waits) wait_at_barrier(place);
}

}  // namespace tri::omp
