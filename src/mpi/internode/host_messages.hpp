// What the ranks of a host share of the messages between it and others: for each rank, the large messages that it
// sends, and those that have come for it and are not received whole. In the arena, at the same address in all
// processes. Everything is under the lock, but for hints.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "arena/heap.hpp"
#include "arena/host_lock.hpp"
#include "mpi/internode/incoming_message.hpp"

namespace tri::mpi {

inline constexpr std::uint32_t no_slot = ~std::uint32_t{0};

/// A large message on its way out. The generation is odd while there is one.
struct outgoing_message {
  std::uint32_t generation = 0;
  std::uint32_t next_piece = 0;  // the first that no rank has sent
  std::uint32_t sent = 0;        // pieces whose data is free again
  int offered_by = -1;           // number of the rank that waits and has said so to the receiver's host
  std::uint64_t changed = 0;     // tick of the last change of the above
  std::uint32_t offers = 0;      // made so far
  std::uint32_t next_free = no_slot;
  send_record* record = nullptr;
  message_header request;

  bool is_open() const { return generation % 2 != 0; }
  // A small one only waits for room at its receiver. There may be very many.
  bool is_small = false;
  bool is(std::uint32_t generation_of_header) const { return is_open() && generation == generation_of_header; }
};

struct host_messages {
  alignas(64) arena::host_lock lock;
  // Those that the engine knows, the oldest first: what a receiver asks for is mostly near the beginning.
  incoming_message* incoming = nullptr;
  incoming_message* last_incoming = nullptr;
  incoming_message* early = nullptr;  // others have offered them, before messages that come first; in no order
  std::uint32_t* expected = nullptr;  // of each rank of the job: the sequence number of its next message
  std::uint32_t free_slot = no_slot;  // the first of a list
  std::uint32_t tables = 0;           // of `outgoing`, each twice as large as the one before; they stay for good
  outgoing_message* outgoing[20] = {};
  alignas(64) std::atomic<std::uint32_t> matched{0};  // hint: incoming messages that no rank pulls
  std::atomic<std::uint32_t> sending{0};              // hint: outgoing messages
  std::atomic<std::uint32_t> offerable{0};            // hint: those of them that others may send
  std::atomic<bool> waits{false};                     // hint: the rank waits in MPI, and helps itself

  static constexpr std::uint32_t slots_of_first_table = 64;
  static constexpr std::uint32_t slots_of(std::uint32_t table) { return slots_of_first_table << table; }
  void append(incoming_message& message);
  void remove(incoming_message& message);
  std::uint32_t slots() const { return slots_of(tables) - slots_of_first_table; }
  /// Null: there is none.
  outgoing_message* slot(std::uint32_t number) {
    const std::uint32_t place = number / slots_of_first_table + 1;
    const auto table = static_cast<std::uint32_t>(std::bit_width(place)) - 1;
    return table >= tables ? nullptr : &outgoing[table][number - (slots_of(table) - slots_of_first_table)];
  }
};

/// In the process's own window, for as long as that is there. `ranks`: of the job.
host_messages* make_host_messages(arena::heap& from, std::uint32_t ranks);

}  // namespace tri::mpi
