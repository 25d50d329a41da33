// The matching of one receiver: receives that wait for a message, and messages that wait for a receive. MPI's rules
// (MPI 4.0, section 3.5): of the receives that would take a message, the one posted first gets it; of the messages of
// one sender that a receive would take, the one sent first. A state machine without I/O and without a lock of its own.
//
// Two clients: the ranks of the MPI drop-in, whose tables lie in shared memory and belong to the holder of the
// endpoint's lock (the rank itself or a helping one), and flow control between hosts (flow/receiver.hpp).
//
// Receives without a wildcard in what `Binning` hashes hang in one of a number of bins, the others in one chain. A
// number given out at posting says which of two candidates came first. Messages hang in a bin and, in the order of
// their arrival, in a chain of all.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "matching/chain.hpp"
#include "matching/message_key.hpp"

namespace tri::matching {

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

// The golden ratio spreads neighbours over the high bits as evenly as can be, so eight senders have eight bins; the
// first factor keeps contexts, which differ in their low bits as well, from falling on senders.
constexpr std::uint64_t spread(std::uint64_t context, std::uint64_t value) {
  return (context * 0xd6e8feb86659fd93u + value) * 0x9e3779b97f4a7c15u;
}

/// Bins for receives that name their sender and mostly any tag, or tags that hardly differ: those of MPI programs.
struct by_source {
  static constexpr std::size_t bins = 64;
  static constexpr bool has_bin(const message_key& receive) { return receive.source != any_source; }
  static constexpr std::size_t bin_of(const message_key& key) {
    return spread(key.context, static_cast<std::uint32_t>(key.source)) >> 58;
  }
};

/// Bins for receives that name sender and tag, where one sender's messages wait by the thousand with different tags.
struct by_source_and_tag {
  static constexpr std::size_t bins = 128;
  static constexpr bool has_bin(const message_key& receive) {
    return receive.source != any_source && receive.tag != any_tag;
  }
  static constexpr std::size_t bin_of(const message_key& key) {
    const auto source = static_cast<std::uint64_t>(static_cast<std::uint32_t>(key.source));
    return spread(key.context, spread(0, source << 32 | static_cast<std::uint32_t>(key.tag))) >> 57;
  }
};

template <class Binning>
class match_table {
 public:
  /// A message has come: the receive that gets it, which leaves the table; or null.
  posted_receive* match(const message_key& message) {
    posted_receive* const found = find_receive(message);
    if (found != nullptr) withdraw(*found);
    return found;
  }
  /// The receive that a message with this key would get; it stays.
  posted_receive* find_receive(const message_key& message) const {
    return posted_ == 0 ? nullptr : find_posted(message);
  }
  /// No receive wanted it yet.
  void add_unexpected(arrived_message& message);

  /// A receive is made: the message that it gets, which leaves the table; or null.
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

  /// The message that a receive with this key would get; it stays (MPI_Probe).
  arrived_message* find(const message_key& wanted) const { return arrived_ == 0 ? nullptr : find_arrived(wanted); }
  /// Takes a message that find() gave out of the table (MPI_Mprobe).
  void take(arrived_message& message) {
    message.bin_link.unlink();
    message.order_link.unlink();
    --arrived_;
  }

  std::uint64_t posted() const { return posted_; }
  std::uint64_t arrived() const { return arrived_; }
  /// The messages that wait, in the order of their arrival.
  const chain<arrived_message, &arrived_message::order_link>& in_order() const { return arrived_in_order_; }

 private:
  posted_receive* find_posted(const message_key& message) const;
  arrived_message* find_arrived(const message_key& wanted) const;

  std::array<chain<posted_receive, &posted_receive::link>, Binning::bins> receive_bins_;
  chain<posted_receive, &posted_receive::link> wild_receives_;
  std::array<chain<arrived_message, &arrived_message::bin_link>, Binning::bins> arrived_bins_;
  chain<arrived_message, &arrived_message::order_link> arrived_in_order_;
  std::uint64_t next_order_ = 0;
  std::uint64_t posted_ = 0;
  std::uint64_t arrived_ = 0;
};

extern template class match_table<by_source>;
extern template class match_table<by_source_and_tag>;

}  // namespace tri::matching
