// The receiver's pool of buffers and the credits on it (FA-10, FA-11, FA-12; Farreras 2008, chapter 3). One pool with a
// hard limit for all senders. Expectations come from outside and may be wrong: they decide which senders get credits,
// never safety.
//
// Invariant: free() + sum over peers of (reserved + occupied) == limit. `reserved` is credit of that peer, wherever it
// is:
//   unsent here -> control message in flight -> the sender's balance -> eager message in flight -> occupied -> free
//                                               the sender's balance -> answer to a recall ---------------> free
// Every arrow moves the same number of bytes, so the order in which they are seen does not matter.
//
// Called by the thread that receives for this process, one thread at a time. 64 bytes per peer.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "flow/prediction/credit_control.hpp"

namespace tri::flow::prediction {

// A peer violated the protocol, or the caller reported an event that did not happen.
class credit_error : public std::logic_error {
  using std::logic_error::logic_error;
};

struct expected_message {
  std::uint32_t sender = 0;
  std::uint64_t size = 0;
};

class credit_granter {
 public:
  struct peer_credit {
    std::uint64_t reserved = 0;      // credit of this peer that has neither arrived as a message nor returned
    std::uint64_t unsent = 0;        // the part of it not yet in a control message
    std::uint64_t occupied = 0;      // buffers of messages that have arrived and are not released
    std::uint64_t to_recall = 0;     // not yet in a control message
    std::uint64_t recalled = 0;      // recalled and not answered; one recall at a time
    std::uint64_t expected = 0;      // within plan() only
    std::uint32_t holder_index = 0;  // in holders_ while reserved > 0
    bool noted = false;              // in noted_
    bool failed = false;
  };
  static_assert(sizeof(peer_credit) <= 64);

  credit_granter(std::uint32_t peers, std::uint64_t limit) : peers_(peers), limit_(limit), free_(limit) {}

  // The messages that will be received next, the next one first; it replaces the previous plan. Credits are topped up:
  // what a sender already has, or has already used, counts. Unsent credits that are no longer expected return to the
  // pool; if the pool is too small for the plan, those already sent are recalled where they exceed the plan.
  void plan(std::span<const expected_message> expected);

  // A message leaves for `peer`: the control message that has to travel on it, often empty.
  [[nodiscard]] credit_control leaving_to(std::uint32_t peer);

  // The same where a control message has room for grants only: recalls wait for another. The bytes granted.
  [[nodiscard]] std::uint64_t grants_leaving_to(std::uint32_t peer) { return std::exchange(peers_.at(peer).unsent, 0); }

  // Appends every control message that still waits; they have to be sent as messages of their own.
  void flush(std::vector<credit_message>& messages);

  // An eager message has arrived and takes a buffer. Throws credit_error if its sender had no credit for it.
  void arrived(std::uint32_t peer, std::uint64_t size);
  // Its buffer is empty again.
  void released(std::uint32_t peer, std::uint64_t size);
  // The answer to a recall.
  void given_back(std::uint32_t peer, std::uint64_t bytes);
  // Nothing more will arrive from `peer`: its credits return to the pool. Arrived messages are released as usual.
  void peer_failed(std::uint32_t peer);

  std::uint64_t limit() const { return limit_; }
  std::uint64_t free() const { return free_; }
  std::uint64_t in_use() const { return limit_ - free_; }  // how large the pool has to be now
  std::uint64_t most_in_use() const { return most_in_use_; }
  const peer_credit& peer(std::uint32_t number) const { return peers_.at(number); }

 private:
  void reserve(std::uint32_t number, std::uint64_t bytes);
  void take_back(std::uint32_t number, std::uint64_t bytes);
  void note(std::uint32_t number);
  credit_control take_control(peer_credit& it);

  std::vector<peer_credit> peers_;
  std::vector<std::uint32_t> holders_;  // peers with reserved > 0: at most limit / 64, and all that a recall examines
  std::vector<std::uint32_t> noted_;    // peers with something unsent (some may have nothing left)
  std::uint64_t limit_;
  std::uint64_t free_;
  std::uint64_t most_in_use_ = 0;
};

}  // namespace tri::flow::prediction
