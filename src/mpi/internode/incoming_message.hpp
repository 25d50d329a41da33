// A message from another host, in shared memory until it is received whole.
#pragma once

#include <atomic>
#include <cstdint>

#include "mpi/engine/records.hpp"
#include "mpi/internode/message_header.hpp"

namespace tri::mpi {

struct host_messages;

/// As a record of the engine it is matched like any other. Its block belongs to whichever rank receives the last piece.
/// All but `receive` is under the lock of its owner.
struct incoming_message : send_record {
  message_header header;           // its request
  host_messages* owner = nullptr;  // of its receiver
  incoming_message* next = nullptr;
  int puller = -1;                // number of the rank that asks for its pieces
  std::uint32_t next_piece = 0;   // the first that no rank has asked for
  std::uint64_t waits_since = 0;  // tick at which its receiver has first seen that no rank pulls it; 0: it has not
  std::atomic<receive_record*> receive{nullptr};
  std::atomic<std::uint32_t>* matched = nullptr;  // the owner's count

  /// By the rank that has matched it. Whichever rank pulls it reads the receive.
  void match(receive_record& to) {
    std::atomic<std::uint32_t>& count = *matched;   // afterwards the message may be gone
    receive.store(&to, std::memory_order_release);  // pairs: incoming.receive
    count.fetch_add(1, std::memory_order_relaxed);  // relaxed: a hint
  }
};

}  // namespace tri::mpi
