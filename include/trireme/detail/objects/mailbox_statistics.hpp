// Information about a mailbox's messages, and its counters.
#pragma once

#include <cstddef>
#include <cstdint>

#pragma GCC visibility push(default)

namespace tri {

/// The result of a probe.
struct message_info {
  int source = 0;
  int tag = 0;
  std::size_t bytes = 0;
};

/// Counters of a mailbox on one PE, and its current state there.
struct mailbox_statistics {
  std::uint64_t memory_limit = 0;
  std::uint64_t memory_used = 0;              // records and data of unexpected messages
  std::uint64_t memory_peak = 0;              // the most of it
  std::uint64_t buffered_bytes = 0;           // the data among it that is here
  std::uint64_t recorded = 0;                 // unexpected messages
  std::uint64_t posted = 0;                   // receives that wait for a message
  std::uint64_t unsent = 0;                   // messages of this PE whose data is still here
  std::uint64_t requests = 0;                 // requests to send, including repeated ones
  std::uint64_t eager = 0;                    // among them, with the data
  std::uint64_t refusals = 0;                 // no memory for a record
  std::uint64_t stale = 0;                    // requested before they knew of a restart
  std::uint64_t restarts = 0;                 // times that a sender was notified to request again
  std::uint64_t rendezvous = 0;               // messages received by rendezvous
  std::uint64_t on_credit = 0;                // predicted messages: sent eagerly on credit, without a request
  std::uint64_t credit_limit = 0;             // memory for them
  std::uint64_t credit_used = 0;              // of it: held by senders or used here
  std::uint64_t credit_peak = 0;              // the most of it
  std::uint64_t credit_control_messages = 0;  // messages that carried nothing but credit to a sender
  std::uint64_t credit_recalls = 0;           // times that a sender gave credit back
};

}  // namespace tri

#pragma GCC visibility pop
