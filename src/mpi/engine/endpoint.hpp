// What the processes of a host share of one rank: its mailbox, its matching, and whether it takes part in communication
// at the moment. In the arena; its address is the same in all processes.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

#include "arena/heap.hpp"
#include "arena/host_lock.hpp"
#include "mpi/engine/mailbox.hpp"
#include "mpi/matching/match_table.hpp"

namespace tri::mpi {

/// Written by the process that did it, each in its own endpoint; tests and reports read them.
struct endpoint_counters {
  std::atomic<std::uint64_t> in_cell{0};  // messages sent by their size
  std::atomic<std::uint64_t> in_block{0};
  std::atomic<std::uint64_t> rendezvous{0};
  std::atomic<std::uint64_t> kept{0};          // messages that came before their receive
  std::atomic<std::uint64_t> bytes_moved{0};   // of rendezvous that this process had matched, by itself
  std::atomic<std::uint64_t> bytes_helped{0};  // of those that others had matched
  std::atomic<std::uint64_t> helped_ranks{0};  // messages taken on behalf of ranks that were computing
  std::atomic<std::uint64_t> set_aside{0};     // left to the rank itself
  std::atomic<std::uint64_t> sleeps{0};

  // relaxed: nothing is ordered by a counter
  static void add(std::atomic<std::uint64_t>& counter, std::uint64_t by = 1) {
    counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }
};

struct endpoint {
  mailbox inbox;
  /// Over the reading side of the inbox and `matching`. Held for short; never while data of a rendezvous is moved.
  alignas(64) arena::host_lock lock;
  match_table matching;
  std::uint64_t kept_bytes = 0;  // with the lock: what messages that nobody has received take up
  /// So much is kept that senders hold their data back themselves, however small. Written with the lock.
  std::atomic<bool> is_full{false};
  pid_t process = 0;
  std::uint32_t number = 0;  // of the rank on its host
  alignas(64) endpoint_counters counters;
};

/// In the process's own window, for as long as the window is there. `ranks`: of the host.
endpoint* make_endpoint(arena::heap& from, std::uint32_t number, std::uint32_t ranks);

}  // namespace tri::mpi
