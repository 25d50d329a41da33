// What the processes of a host share of one rank: its inbox, its matching, and whether it currently makes progress. In
// the arena, at the same address in all processes.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "arena/heap.hpp"
#include "arena/host_lock.hpp"
#include "matching/match_table.hpp"
#include "mpi/engine/numa_help_policy.hpp"
#include "mpi/engine/rank_inbox.hpp"

namespace tri::mpi {

using message_matching = matching::match_table<matching::by_source>;

/// Written by the process that did it, each in its own endpoint; tests and reports read them.
struct endpoint_counters {
  std::atomic<std::uint64_t> inlined{0};  // messages sent, by protocol
  std::atomic<std::uint64_t> eager{0};
  std::atomic<std::uint64_t> rendezvous{0};
  std::atomic<std::uint64_t> unexpected{0};     // messages that came before their receive
  std::atomic<std::uint64_t> bytes_copied{0};   // of rendezvous to this rank, by itself
  std::atomic<std::uint64_t> bytes_helped{0};   // of those to others
  std::atomic<std::uint64_t> chunks_shared{0};  // of copies that this process posted on the board
  std::atomic<std::uint64_t> chunks_copied{0};  // as bytes_copied, of copies on the board
  std::atomic<std::uint64_t> chunks_helped{0};
  std::atomic<std::uint64_t> chunks_far{0};           // of these: of a message to another NUMA domain
  std::atomic<std::uint64_t> refused{0};              // polls that left work of another domain alone
  std::atomic<std::uint64_t> helped_ranks{0};         // times that it read the inbox of a rank that was computing
  std::atomic<std::uint64_t> received_for_others{0};  // messages that found their receive then
  std::atomic<std::uint64_t> staged{0};               // left to the rank itself
  std::atomic<std::uint64_t> pieces_sent{0};          // of large messages between hosts: by their own rank
  std::atomic<std::uint64_t> pieces_sent_for_others{0};
  std::atomic<std::uint64_t> pieces_received{0};
  std::atomic<std::uint64_t> pieces_received_for_others{0};
  std::atomic<std::uint64_t> offers{0};  // messages that it has offered to another host
  std::atomic<std::uint64_t> sleeps{0};
  std::atomic<std::uint64_t> woken_helpers{0};  // sleeping ranks that it woke for a large copy
  std::atomic<std::uint64_t> waited_ticks{0};   // these three only where engine_options::measures_time
  std::atomic<std::uint64_t> helped_ticks{0};
  std::atomic<std::uint64_t> slept_ticks{0};
  std::atomic<std::uint64_t> idle{0};  // live/idle_word.hpp

  // relaxed: nothing is ordered by a counter
  static void add(std::atomic<std::uint64_t>& counter, std::uint64_t by = 1) {
    counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }
};

/// Written by the holder of the endpoint's lock.
struct received_counters {
  std::atomic<std::uint64_t> by_itself{0};  // messages that the rank matched
  std::atomic<std::uint64_t> by_others{0};
  std::atomic<std::uint64_t> rendezvous_bytes{0};
};

struct endpoint {
  rank_inbox inbox;
  /// Over the reading side of the inbox and `matching`. Held for short; never while data of a rendezvous is copied.
  alignas(64) arena::host_lock lock;
  received_counters received;
  message_matching matching;
  std::uint64_t unexpected_bytes = 0;  // with the lock: bytes of unexpected messages
  /// There are too many unexpected messages: senders keep their data, however small. Rarely written, under the lock;
  /// read by the sender of each message, so nothing that changes with messages may share this line.
  alignas(64) std::atomic<bool> is_full{false};
  pid_t process = 0;
  std::uint32_t number = 0;  // of the rank on its host
  std::int32_t domain = no_domain;
  alignas(64) std::atomic<activity> now{activity::busy};
  alignas(64) endpoint_counters counters;
};

/// In the process's own window, for as long as the window is there. `ranks`: of the host.
endpoint* make_endpoint(arena::heap& from, std::uint32_t number, std::uint32_t ranks, std::int32_t domain = no_domain);

/// The other ranks in the order in which `number` polls them: nearest first.
std::vector<std::uint32_t> order_of_ranks(std::span<endpoint* const> endpoints, std::uint32_t number);

}  // namespace tri::mpi
