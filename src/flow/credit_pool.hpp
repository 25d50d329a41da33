// Bounded memory for streams of messages, the receiver's side: credits for a fixed memory are granted to the senders,
// and no message leaves its sender before it has a share of it. No threads, no clock, one owner. README.md has the
// rules and why they cannot stop.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "flow/memory_credit.hpp"
#include "flow/peer_number.hpp"

namespace tri::flow {

/// The credits of one sender.
struct peer_credits {
  std::uint64_t granted = 0;  // so far
  std::uint64_t arrived = 0;  // of it: arrived messages and returned credits
  std::uint64_t needed = 0;   // value of `granted` that admits its first waiting message; valid while it is asking
  std::uint64_t first = 0;    // bytes of that message
  std::uint32_t more : 29 = 0;
  std::uint32_t asking : 1 = 0;    // is in the queue of those that wait for memory
  std::uint32_t recalled : 1 = 0;  // was asked to return unused credits, and has not answered
  std::uint32_t holds : 1 = 0;     // may hold unused credits
  peer_number next = 0;            // in the queue, while asking

  std::uint64_t outstanding() const { return granted - arrived; }
};
static_assert(sizeof(peer_credits) <= 40 && std::is_trivially_copyable_v<peer_credits>);
static_assert(sizeof(peer_credits) + sizeof(memory_credit) <= 64, "what a peer costs, talked to (FA-29)");

/// The owner of a credit_pool.
class credit_pool_owner {
 public:
  virtual peer_credits& credits_of(peer_number peer) = 0;
  virtual void send_control(peer_number to, const credit_control& note) = 0;
  /// Calls credit_pool::recall_from for every peer that is known.
  virtual void recall_from_all() = 0;

 protected:
  ~credit_pool_owner() = default;
};

class credit_pool {
 public:
  /// For messages of at most `senders` peers.
  credit_pool(std::uint64_t limit, std::uint64_t senders);

  /// What each sender has without a word.
  std::uint64_t initial() const { return initial_; }

  /// Before anything else of that peer.
  void known(peer_credits& of);
  /// A message has arrived. False: its sender had no credit for it.
  bool arrived(peer_credits& from, std::uint64_t cost) {
    if (cost > from.outstanding()) return false;
    from.arrived += cost;
    outstanding_ -= cost;
    in_use_ += cost;
    taken_ += cost;
    since_poll_ += cost;
    peak_ = std::max(peak_, in_use_);
    return true;
  }
  /// Total cost of messages that no longer use memory, since the start. Exceeds the arrived total only when a faulty
  /// peer named fewer copies of a message than were made.
  void given_back(std::uint64_t total) {
    in_use_ = taken_ - std::min(total, taken_);
    since_poll_ = 0;
  }
  /// Enough has arrived since given_back() to make calling it worthwhile.
  bool is_outdated() const { return since_poll_ >= step_; }
  /// After messages of `from` came: grants more in advance, if there is plenty.
  void top_up(peer_number from, credit_pool_owner& owner);
  void requested(peer_number from, const credit_control& note, credit_pool_owner& owner);
  /// False: it returns more than it had.
  bool returned(peer_credits& from, const credit_control& note);
  /// A peer waits for memory: then serve() must be called whenever some was given back.
  bool has_requests() const { return asking_ != 0; }
  void serve(credit_pool_owner& owner);
  void recall_from(peer_number peer, credit_pool_owner& owner);
  /// That peer sends nothing more.
  void peer_failed(peer_number peer, credit_pool_owner& owner);

  std::uint64_t limit() const { return limit_; }
  std::uint64_t in_use() const { return in_use_; }  ///< as of the last given_back
  std::uint64_t peak() const { return peak_; }
  /// In use, or will be without a further word of this side.
  std::uint64_t promised() const { return in_use_ + outstanding_ + unknown_; }

  /// For explorations: what its future depends on.
  template <class Put>
  void encode(Put&& put) const {
    for (const std::uint64_t word : {unknown_, outstanding_, in_use_, since_poll_, std::uint64_t{asking_}}) put(word);
    if (asking_ != 0) put(first_asking_ * std::uint64_t{1000} + last_asking_);
  }

 private:
  std::uint64_t free() const { return limit_ > promised() ? limit_ - promised() : 0; }
  void grant(peer_number to, std::uint64_t bytes, credit_pool_owner& owner);
  bool is_alone(const peer_credits& first) const;
  void enqueue(peer_number peer, peer_credits& of, credit_pool_owner& owner);
  void dequeue_first(peer_credits& of);

  std::uint64_t limit_;
  std::uint64_t initial_;
  std::uint64_t step_;             // least advance grant, and the amount between two polls of given_back
  std::uint64_t unknown_;          // credit of peers that are not known yet
  std::uint64_t outstanding_ = 0;  // to known ones, and not arrived
  std::uint64_t in_use_ = 0;       // arrived, and not given back
  std::uint64_t taken_ = 0;        // arrived, ever
  std::uint64_t since_poll_ = 0;
  std::uint64_t peak_ = 0;
  std::uint32_t asking_ = 0;  // in the queue
  peer_number first_asking_ = 0;
  peer_number last_asking_ = 0;
};

}  // namespace tri::flow
