#include "omp/run_schedule.hpp"

#include <algorithm>
#include <atomic>

#include "omp/fibers/virtual_region.hpp"
#include "omp/settings.hpp"

namespace tri::omp {
namespace {

// omp_sched_t
constexpr std::uint32_t static_kind = 1;
constexpr std::uint32_t monotonic_bit = 0x80000000u;

std::atomic<bool> program_sets{false};

}  // namespace

void note_program_sets_schedule() {
  program_sets.store(true, std::memory_order_relaxed);  // relaxed: a thread sees its own stores
}

run_schedule run_schedule_here(schedule_getter getter) {
  int kind = 0;
  int chunk = 0;
  const virtual_thread_state* const state = current_state();
  if (state != nullptr && state->control.has_schedule) {
    kind = state->control.schedule_kind;
    chunk = state->control.schedule_chunk;
  } else {
    // relaxed: a thread sees its own store, and what its team was given before the region by the fork
    if (!the_settings().standard_schedule && !program_sets.load(std::memory_order_relaxed)) return {};
    getter(&kind, &chunk);
  }
  run_schedule asked;
  asked.chunk = static_cast<std::uint64_t>(std::max(chunk, 1));
  asked.monotonic = (static_cast<std::uint32_t>(kind) & monotonic_bit) != 0;
  if ((static_cast<std::uint32_t>(kind) & ~monotonic_bit) == static_kind) {
    asked.shares = chunk > 0 ? distribution::static_chunks : distribution::static_blocks;
  }
  return asked;
}

}  // namespace tri::omp
