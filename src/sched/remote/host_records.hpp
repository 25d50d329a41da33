// What the processes of a host know of each other: records in the arena, written at start-up by their owner, found by
// everybody through the root of the owner's window.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "arena/window.hpp"
#include "sched/idle_listener.hpp"
#include "sched/inbox.hpp"
#include "sched/live_figures.hpp"
#include "sched/node_queue.hpp"
#include "sched/remote/host_creations.hpp"
#include "sched/seeds/seed_deque.hpp"
#include "sched/seeds/seed_hints.hpp"
#include "trireme/detail/sched/counters.hpp"

namespace tri::sched {

/// One PE as its host sees it.
struct pe_record {
  inbox_shared* inbox;
  counter_block counters;
  /// Requests that this PE keeps until it can serve them (of a layer above); changed by its thread.
  std::atomic<std::uint32_t> early_requests{0};
  /// In a replay (order/ordered_step.cpp): 0 while this PE runs, else what it waits for.
  std::atomic<std::uint64_t> replay_waits_for{0};
  pe_figures live;
  /// Objects made without a place that have not begun; this PE pushes, any PE of the host takes.
  seed_deque seeds;
};

/// A number that several threads of a process add to: figures that tests and reports read.
class shared_figure {
 public:
  // relaxed, all: nothing is concluded from it about other memory
  void add() { value_.fetch_add(1, std::memory_order_relaxed); }
  void raise_to(std::uint64_t value) {
    std::uint64_t before = read();
    while (before < value && !value_.compare_exchange_weak(before, value, std::memory_order_relaxed)) {
    }
  }
  std::uint64_t read() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// Messages between hosts with which protocols do their work: those that a process sent, and those that it took.
struct protocol_figures {
  shared_figure counting;            // for quiescence and the stall report (global_counts.hpp)
  shared_figure counting_rounds;     // begun by PEs of this process
  shared_figure reduction_parts;     // taken; those of hosts, not of single elements
  shared_figure held_for_creations;  // messages that waited for creations here before they left
  shared_figure kept_for_creations;  // messages that waited for creations here when they had come
  shared_figure creations;           // with acknowledgements and notifications (creation_fence.hpp)
  shared_figure low_water_marks;     // of broadcasts (objects/collectives/subtree_marks.hpp)
  shared_figure team_messages;       // of collectives of teams
  shared_figure answers;             // large ones to other hosts: requests that took a slot
  shared_figure postponed_requests;  // for want of one, or behind such a one
  shared_figure most_answers;        // slots in use at the same time
};

/// One process as its host sees it; the root of its window.
struct process_record {
  static constexpr std::uint32_t expected_version = 4;
  static constexpr int idle_words = arena::most_local_pes / 64;

  std::uint32_t version;
  std::uint32_t pes;
  std::uint32_t has_checked_blocks;  // --tri-allocator=checked: its blocks have notes, which all processes must know
  pe_record* pe[arena::most_local_pes];
  node_queue* nodes;
  counter relayed;  // messages for all hosts passed on; by the thread that makes progress on the wire, one at a time
  protocol_figures between_hosts;
  std::uint64_t wire_wakeup;  // name of the wakeup socket on which its poller sleeps; where there are several hosts
  /// Bit i: local PE i sleeps or is about to. A hint of which PE to wake; the inbox decides whether it really sleeps.
  alignas(64) std::atomic<std::uint64_t> idle_pes[idle_words];

  /// Rings up to `count` PEs that sleep or are about to: called after new work for any PE of the process was made
  /// visible. Returns how many it rang. A PE that was rung already and has not got up yet does not count: it may have
  /// been woken for something long, and another one would sleep on beside the new work.
  std::uint32_t wake(std::uint32_t count) {
    std::uint32_t rung = 0;
    for (int word = 0; word < idle_words; ++word) {
      // seq_cst: after the push of the work; the sleeper sets its bit before it looks for work. pairs: idle.announce
      std::uint64_t idle = idle_pes[word].load(std::memory_order_seq_cst);
      for (; idle != 0 && rung < count; idle &= idle - 1)
        rung += pe[word * 64 + __builtin_ctzll(idle)]->inbox->wake_if_asleep() ? 1 : 0;
    }
    return rung;
  }
};

/// Shared by all processes of a host; lies in the window of local rank 0.
struct host_record {
  alignas(64) std::atomic<std::uint32_t> next_collection{0};
  alignas(64) idle_listener listener;
  std::byte* board_memory = nullptr;
  std::size_t board_bytes = 0;
  /// Which PEs have such objects.
  seed_hints seeds;
  /// Trees over hosts that began on this one; turns them (host_tree.hpp).
  alignas(64) std::atomic<std::uint32_t> trees_begun{0};
  /// How often this host has chosen a PE of the job to hand multicasts on, then how often a host to hand them on to
  /// further hosts (trireme/detail/objects/inner_vertices.hpp). Null where there is only one host.
  std::atomic<std::uint64_t>* chosen = nullptr;
  host_creations<> creations;
  /// Of the layer above; null before its first use.
  std::atomic<void*> array_directory{nullptr};
  /// How many creations of each other host lie in the inboxes of this one. Null where there is only one host.
  std::atomic<std::uint32_t>* creations_in_inboxes = nullptr;
};

/// The root that each process publishes: its own record, and (local rank 0) the host's.
struct window_root {
  process_record* process;
  host_record* host;  // null except in the window of local rank 0
};

}  // namespace tri::sched
