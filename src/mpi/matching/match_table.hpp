// The matching of one rank: receives that wait for a message, and messages that wait for a receive. MPI's rules (MPI
// 4.0, section 3.5): of the receives that would take a message, the one posted first gets it; of the messages of one
// sender that a receive would take, the one sent first. A state machine without I/O and without a lock of its own: it
// is in shared memory and called by the holder of the endpoint's lock, the rank itself or a helping process.
//
// Receives from one source are in bins by context and source; receives from any source are in one chain. A sequence
// number assigned at posting orders two candidates. Messages are in a bin and, in arrival order, in a chain of all.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "mpi/matching/chain.hpp"
#include "mpi/matching/message_key.hpp"

namespace tri::mpi {

/// A receive as the table sees it; the memory is the caller's as long as it is in the table.
struct posted_receive {
  message_key key;  // may have wildcards
  std::uint64_t order = 0;
  chain_link link;
};

/// A message as the table sees it, likewise.
struct arrived_message {
  message_key key;
  std::uint64_t bytes = 0;  // of the packed data
  chain_link bin_link;
  chain_link order_link;
};

class match_table {
 public:
  /// A message has arrived: the receive that matches it, removed from the table; or null.
  posted_receive* match(const message_key& message) { return posted_ == 0 ? nullptr : match_posted(message); }
  /// No posted receive matches it yet.
  void add_unexpected(arrived_message& message);

  /// A receive is posted: the message that it matches, removed from the table; or null.
  arrived_message* match(const posted_receive& receive) {
    arrived_message* const found = find(receive.key);
    if (found != nullptr) take(*found);
    return found;
  }
  /// Nothing was there for it.
  void post(posted_receive& receive);
  /// False when it was not there any more: it has got its message.
  bool withdraw(posted_receive& receive) {
    if (!receive.link.is_linked()) return false;
    receive.link.unlink();
    --posted_;
    return true;
  }

  /// The message that a receive with this key would match; it stays (MPI_Probe).
  arrived_message* find(const message_key& wanted) { return arrived_ == 0 ? nullptr : find_arrived(wanted); }
  /// Removes a message that find() returned from the table (MPI_Mprobe).
  void take(arrived_message& message) {
    message.bin_link.unlink();
    message.order_link.unlink();
    --arrived_;
  }

  std::uint64_t posted() const { return posted_; }
  std::uint64_t arrived() const { return arrived_; }

  static constexpr std::size_t bins = 64;
  static std::size_t bin_of(const message_key& key) {
    // Contexts differ in their low bits, and so do ranks. The golden ratio spreads neighbours over the high bits as
    // evenly as can be, so eight ranks have eight bins; the first factor keeps contexts from falling on ranks.
    const std::uint64_t both = key.context * 0xd6e8feb86659fd93u + static_cast<std::uint32_t>(key.source);
    return both * 0x9e3779b97f4a7c15u >> 58;
  }

 private:
  posted_receive* match_posted(const message_key& message);
  arrived_message* find_arrived(const message_key& wanted);

  std::array<chain<posted_receive, &posted_receive::link>, bins> from_one_;
  chain<posted_receive, &posted_receive::link> from_any_;
  std::array<chain<arrived_message, &arrived_message::bin_link>, bins> arrived_bins_;
  chain<arrived_message, &arrived_message::order_link> arrived_in_order_;
  std::uint64_t next_order_ = 0;
  std::uint64_t posted_ = 0;
  std::uint64_t arrived_ = 0;
};

}  // namespace tri::mpi
