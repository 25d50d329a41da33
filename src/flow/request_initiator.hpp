// The initiator's half of the flow control of one-sided requests (after Farreras 2008, the remarks on UPC in chapter
// 4). A request is sent at once, with its data; a refused one stays here, with all behind it, until the target reserves
// a slot for it. So the requests of a pair are executed in order although several are in flight. A pure state machine:
// requests and control messages in, control messages out. README.md has the rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "flow/pending_sends.hpp"
#include "flow/request_control.hpp"

namespace tri::flow {

class request_initiator {
 public:
  /// `most_unanswered`: of requests to one target, 1 to 65535.
  explicit request_initiator(std::size_t peers, std::size_t most_unanswered = 64);

  /// Appends the control messages to send now, in this order, to `out`; so does on_control.
  void request(peer_number to, message_token token, std::vector<outgoing_control>& out);
  /// A control message of the target has arrived. Returns the token of the request if it is done.
  std::optional<message_token> on_control(peer_number from, const request_control& note,
                                          std::vector<outgoing_control>& out);

  bool is_idle() const { return entries_.size() == 0; }
  /// Requests that are not done, to all targets.
  std::size_t pending() const { return entries_.size(); }
  std::size_t unanswered(peer_number to) const { return queues_[to].unanswered; }
  bool is_refused(peer_number to) const { return queues_[to].is_refused; }

  /// Hands every word of the state to `put`: equal words, equal future.
  template <class Put>
  void encode(Put&& put) const {
    for (const request_queue& queue : queues_) {
      put(queue.unasked);
      put(std::uint64_t{queue.window} << 2U | std::uint64_t{queue.has_asked_again} << 1U |
          std::uint64_t{queue.is_refused});
      for (entry_index i = queue.first; i != no_entry; i = entries_[i].next) put(i);
      put(no_entry);
    }
    for (entry_index i = 0; i < entries_.capacity(); ++i) {
      put(std::uint64_t{entries_[i].reuse} << 32U | static_cast<std::uint64_t>(entries_[i].is));
      if (entries_[i].is != pending_send::state::unused) put(entries_[i].message);
    }
  }

 private:
  /// The state per target.
  struct request_queue : send_queue {
    std::uint16_t unanswered = 0;  // sent, neither done nor revoked by a refusal
    std::uint16_t window = 0;      // as many may be unanswered
    bool is_refused = false;       // `unasked` was refused: nothing is sent until the target allows it
    bool has_asked_again = false;  // since the last answer
  };
  static_assert(sizeof(request_queue) == 20);

  request_queue& queue_of(peer_number from, request_kind kind);
  void pump(request_queue& queue, std::vector<outgoing_control>& out);
  void go_back(request_queue& queue, entry_index refused);

  std::uint16_t most_unanswered_;
  std::vector<request_queue> queues_;
  pending_sends entries_;
};

}  // namespace tri::flow
