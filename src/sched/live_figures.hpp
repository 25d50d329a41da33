// What a process of the objects' runtime shows of its PEs to readers outside of the job (live/format.hpp): all counters
// of each PE, its idle time, its queues. Written where the figures are already, so publishing costs the PEs nothing.
#pragma once

#include <atomic>
#include <cstdint>

namespace tri::arena {
class heap;
}  // namespace tri::arena

namespace tri::sched {

class process_runtime;
struct process_record;

/// Figures of a PE beside its counters; written by its thread.
struct alignas(64) pe_figures {
  std::atomic<std::uint64_t> idle{0};       // live/idle_word.hpp
  std::atomic<std::uint64_t> overhead{0};   // ticks of the scheduler between handlers, estimated from samples
  std::atomic<std::uint64_t> own_queue{0};  // messages to itself and with a priority that wait; at the last sample
};

/// Once, when `own` and its PEs' records are laid out.
void publish_live_page(arena::heap& heap, const process_record& own, const process_runtime& job, int first_pid);

}  // namespace tri::sched
