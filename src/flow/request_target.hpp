// The target's half of the flow control of one-sided requests (after Farreras 2008, the remarks on UPC in chapter 4): a
// fixed pool of slots. A request takes a slot from its arrival to its answer. When none is free it is refused, and only
// the fact that its peer waits is recorded; requests from that peer are dropped until the refused one is repeated. A
// freed slot is reserved for the next waiting peer, in turn, so a request is refused at most once. A pure state
// machine: requests in, control messages out; no allocation after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "flow/peer_set.hpp"
#include "flow/request_control.hpp"

namespace tri::flow {

using slot_number = std::uint32_t;

enum class request_verdict : std::uint8_t {
  accepted,  // execute it now: the requests of a pair are accepted in their order
  refused,   // no slot: the peer will be notified when one is reserved for it
  dropped,   // sent before its peer knew of an earlier one's refusal; it will be repeated behind that
};

struct request_decision {
  request_verdict what = request_verdict::dropped;
  slot_number slot = 0;  // accepted
};

class request_target {
 public:
  struct counters {
    std::uint64_t accepted = 0;
    std::uint64_t refused = 0;
    std::uint64_t dropped = 0;
    std::uint64_t announced_again = 0;
  };

  request_target(std::size_t peers, std::size_t slots);

  /// A request has arrived. The caller executes it when it is accepted, and calls `finish` when the answer may leave.
  request_decision on_request(peer_number from, const request_control& note);
  /// The slot is free again; the control message goes with the answer.
  [[nodiscard]] outgoing_control finish(slot_number slot);
  /// The next note to send. To be called after every event, until there is nothing.
  std::optional<outgoing_control> next_control();
  bool has_control() const { return !unsaid_.is_empty() || may_announce_one_more(); }

  std::size_t slots() const { return slots_.size(); }
  std::size_t in_use() const { return in_use_; }
  /// Slots reserved for peers that were notified to send again.
  std::size_t kept() const { return told_.size(); }
  std::size_t waiting() const { return waiting_.size(); }
  bool is_waiting(peer_number peer) const { return waiting_.has(peer); }
  const counters& count() const { return count_; }

  /// Hands every word of the state to `put`: equal words, equal future.
  template <class Put>
  void encode(Put&& put) const {
    put(next_told_);
    for (peer_number peer = 0; peer < refused_.size(); ++peer) {
      const bool has_refused = waiting_.has(peer) || told_.has(peer);
      put(std::uint64_t{waiting_.has(peer)} << 2U | std::uint64_t{told_.has(peer)} << 1U |
          std::uint64_t{unsaid_.has(peer)});
      put(has_refused ? refused_[peer] : 0);
    }
    for (const slot& one : slots_) {
      put(one.is_used ? std::uint64_t{one.peer} + 1 : 0);
      put(one.is_used ? one.request : one.next_free);
    }
    put(first_free_);
  }

 private:
  struct slot {
    std::uint64_t request = 0;
    peer_number peer = 0;
    slot_number next_free = 0;
    bool is_used = false;
  };

  request_decision accept(peer_number from, std::uint64_t request);
  std::size_t free_for_all() const { return slots_.size() - in_use_ - told_.size(); }
  bool may_announce_one_more() const { return !waiting_.is_empty() && free_for_all() > 0; }

  std::vector<slot> slots_;
  slot_number first_free_ = 0;
  std::size_t in_use_ = 0;
  // For each peer that waits or was notified: the refused request. A peer is in at most one of the two sets.
  std::vector<std::uint64_t> refused_;
  peer_set waiting_;
  peer_set told_;    // a slot is reserved until the request is repeated
  peer_set unsaid_;  // waiting peers whose refusal was not sent yet
  peer_number next_told_ = 0;
  counters count_;
};

}  // namespace tri::flow
