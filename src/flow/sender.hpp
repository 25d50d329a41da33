// The sending half of the control-data flow control (Farreras 2008, section 4.3). The rules of the printed text lose
// restarts and break the order; these remember that every refused message gets another attempt, and let nothing
// overtake a request whose answer from before a restart is still in flight. A pure state machine: messages and answers
// in, packets out. README.md has the table of rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flow/packet.hpp"
#include "flow/pending_sends.hpp"
#include "flow/prediction/credit_sender.hpp"

namespace tri::flow {

struct message_to_send {
  message_token token = 0;  // returned in the `data` packet
  std::uint64_t bytes = 0;
  std::uint32_t context = 0;
  std::int32_t tag = 0;
};

class sender {
 public:
  /// `largest_paid`: messages that use at most this much memory at the receiver (`credit_cost`) use its credits, and
  /// are sent with their request; 0: credits are not used.
  explicit sender(std::size_t peers, std::uint64_t largest_paid = 0)
      : destinations_(peers), credits_(static_cast<std::uint32_t>(largest_paid == 0 ? 0 : peers), largest_paid) {}

  /// Appends the packets to send now, in this order, to `out`; so do the others.
  void send(peer_number to, const message_to_send& message, std::vector<outgoing>& out);
  /// CTS, NCTS, NCTSD, resendAll or resendOne has arrived.
  void on_packet(peer_number from, const packet& what, std::vector<outgoing>& out);

  /// Credits were granted or recalled. A number, even 0: this many bytes leave this side and must be reported to
  /// `from`.
  [[nodiscard]] std::optional<std::uint64_t> on_credit(peer_number from, const prediction::credit_control& note) {
    return credits_.on_control(from, note);
  }

  bool is_idle() const { return entries_.size() == 0; }
  /// Messages whose data was not sent yet, to all peers.
  std::size_t pending() const { return entries_.size(); }
  /// Those to one peer that its receiver has neither accepted nor recorded.
  std::size_t pending(peer_number to) const;
  std::uint32_t age(peer_number to) const { return destinations_[to].age; }
  /// Bytes of credit.
  std::uint64_t credit(peer_number to) const { return credits_.largest_eager() == 0 ? 0 : credits_.balance(to); }

  /// Hands every word of the state to `put`: equal words, equal future.
  template <class Put>
  void encode(Put&& put) const {
    for (const destination& queue : destinations_) {
      put(std::uint64_t{queue.age} << 32U | queue.unasked);
      for (entry_index i = queue.first; i != no_entry; i = entries_[i].next) put(i);
      put(no_entry);
    }
    for (entry_index i = 0; i < entries_.capacity(); ++i) {
      const pending_send& entry = entries_[i];
      put(std::uint64_t{entry.reuse} << 32U | static_cast<std::uint64_t>(entry.is));
      if (entry.is == pending_send::state::unused) continue;
      put(entry.message);
      put(std::uint64_t{entry.age_tried} << 2U | std::uint64_t{entry.is_wanted} << 1U | std::uint64_t{entry.is_paid});
    }
    if (credits_.largest_eager() == 0) return;
    for (peer_number peer = 0; peer < destinations_.size(); ++peer) put(credits_.balance(peer));
  }

 private:
  void walk_again(destination& queue, std::uint32_t age, std::vector<outgoing>& out);
  void pump(destination& queue, std::vector<outgoing>& out);
  void send_data(entry_index index, const packet& cts, std::vector<outgoing>& out);

  std::vector<destination> destinations_;
  pending_sends entries_;
  prediction::credit_sender credits_;
};

}  // namespace tri::flow
