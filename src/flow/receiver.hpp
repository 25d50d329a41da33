// The receiving half of the control-data flow control (Farreras 2008, sections 4.3 and 4.4): decides for each request
// whether to admit its message, so that records and buffers stay below a fixed limit, and restarts refused senders. A
// pure state machine: packets, posted receives and freed memory in, packets and deliveries out. No I/O, no clock, no
// threads. README.md has the table of rules and the invariants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "flow/bounded_memory.hpp"
#include "flow/packet.hpp"
#include "flow/peer_set.hpp"
#include "flow/receive_queues.hpp"
#include "flow/reserved_reply_slots.hpp"

namespace tri::flow {

/// A message that is here. From the buffer at `place` (to be copied or used, then `consumed(buffer_bytes)`), or, where
/// `buffered` is false, already in the memory of the receive.
struct delivery {
  message_token receive = 0;
  std::uint64_t place = 0;
  std::uint64_t buffer_bytes = 0;
  std::uint64_t bytes = 0;  // of the message as it was sent; more than the capacity of the receive: cut off
  peer_number source = 0;
  std::uint32_t context = 0;
  std::int32_t tag = 0;
  bool buffered = false;
  bool is_paid =
      false;  // its memory is that of a credit (`credit_cost(bytes)`), given back by this; nothing to consume
};

/// What became of a request.
enum class verdict : std::uint8_t {
  to_receive,  // matched: the data goes to the memory of the receive
  buffered,    // the caller provides a buffer of that size for `place` now; it is counted
  recorded,    // no buffer: the data stays with the sender
  refused,     // no memory for a record: the sender is marked
  stale,       // of a past age: refused, even with free memory
};

struct decision {
  verdict what = verdict::refused;
  std::uint64_t place = 0;    // to_receive, buffered
  message_token receive = 0;  // to_receive
};

/// How many refused senders are restarted at a time.
enum class restart_pace : std::uint8_t {
  as_served,    // as many as the free memory and the posted receives may serve; the others after these have requested
  all_at_once,  // every marked one, as in the thesis
  /// As served; and a receive with a named sender makes it request the one matching message (resendOne), and freed
  /// memory restarts senders when half of all is free. Otherwise n messages with memory for a few are requested n * n
  /// times.
  by_name,
};

class receiver {
 public:
  struct counters {
    std::uint64_t requests = 0;
    std::uint64_t refusals = 0;
    std::uint64_t stale = 0;
    std::uint64_t restarts = 0;  // resendAll and resendOne packets
  };

  /// `memory_limit` bytes for records and buffers together; 0 is allowed, then messages are admitted only for posted
  /// receives. `answers`: places of the emergency memory. `buffer_limit`: the part of the memory for buffers; the rest
  /// is for records, each of which saves more than a buffer.
  receiver(std::size_t peers, std::uint64_t memory_limit, std::size_t answers = 64,
           restart_pace pace = restart_pace::as_served,
           std::uint64_t buffer_limit = std::numeric_limits<std::uint64_t>::max());

  /// False: on_request and post must wait until packets were taken out.
  bool has_capacity() const { return answers_.has_capacity(); }

  /// An RTS has arrived (sections 4.3.1 to 4.3.3). A paid one uses none of this memory, and is refused only if it would
  /// overtake; then its data stays with the caller, for the next request of the message.
  decision on_request(peer_number from, const packet& rts);
  /// DATA has arrived completely.
  std::optional<delivery> on_data(peer_number from, const packet& data);
  /// A receive is made. Nothing: it waits; it is named in a later decision or delivery.
  std::optional<delivery> post(const receive& wanted);
  /// A receive is given up. False: a message was matched to it, and will be delivered. What the receive asked for from
  /// senders that were refused stays asked for: they are told when a record fits or the next receive is posted.
  bool withdraw(message_token receive) { return queues_.withdraw(receive); }
  /// The recorded message that a receive would take, which stays; null if there is none.
  const unexpected_message* find(const message_filter& wanted) const { return queues_.find(wanted); }
  /// The buffer of a delivery is free again.
  void consumed(std::uint64_t buffer_bytes) {
    buffers_.give_back(buffer_bytes);
    release(buffer_bytes);
  }

  /// The caller's own use of the same memory (section 4.3.4: memory that is freed anywhere restarts senders).
  [[nodiscard]] bool reserve(std::uint64_t bytes) { return memory_.try_take(bytes); }
  void release(std::uint64_t bytes);

  /// The next packet to send. To be called after every event, until there is nothing.
  std::optional<outgoing> next_packet();
  bool has_packet() const { return !answers_.is_empty() || !finds_.empty() || may_restart_one_more(); }

  const bounded_memory& memory() const { return memory_; }
  /// The part of it used by buffers.
  const bounded_memory& buffers() const { return buffers_; }
  const reserved_reply_slots& answers() const { return answers_; }
  const counters& count() const { return count_; }
  /// Null: there is none.
  const unexpected_message* recorded_at(std::uint64_t place) const { return queues_.at(place); }
  std::size_t recorded() const { return queues_.recorded(); }
  std::size_t posted() const { return queues_.posted(); }
  std::size_t receiving() const { return receiving_.size(); }
  /// While this many bytes are free no sender is marked.
  std::uint64_t restarts_at() const { return restarts_at_; }
  bool is_marked(peer_number peer) const { return marked_.has(peer); }
  std::size_t marked() const { return marked_.size(); }
  std::size_t restarts_owed() const { return owed_.size(); }
  std::uint32_t age(peer_number peer) const { return ages_[peer]; }

  /// Hands every word of the state to `put`: equal words, equal future.
  template <class Put>
  void encode(Put&& put) const {
    put(memory_.used());
    put(buffers_.used());
    put(next_place_);
    put(std::uint64_t{restart_from_} << 1U | std::uint64_t{restart_next_});
    for (peer_number peer = 0; peer < ages_.size(); ++peer) {
      put(std::uint64_t{ages_[peer]} << 4U | std::uint64_t{refused_at_[peer] == ages_[peer]} << 3U |
          std::uint64_t{marked_.has(peer)} << 2U | std::uint64_t{owed_.has(peer)} << 1U |
          std::uint64_t{restarted_.has(peer)});
    }
    put(answers_.size());
    for (std::size_t i = 0; i < answers_.size(); ++i) {
      const outgoing& answer = answers_.at(i);
      put(std::uint64_t{answer.to} << 8U | static_cast<std::uint64_t>(answer.what.kind));
      put(answer.what.request);
      put(answer.what.place);
      put(answer.what.age);
    }
    put(finds_.size());
    for (const restart_of_one& one : finds_) {
      put(std::uint64_t{one.in} << 32U | one.age);
      put(std::uint64_t{one.context} << 32U | static_cast<std::uint32_t>(one.tag));
    }
    put(queues_.posted());
    queues_.for_each_posted([&](const receive& one) { put(one.token); });
    put(receiving_.size());
    for (const auto& [place, one] : receiving_) {
      put(place);
      put(one.receive);
    }
    put(queues_.recorded());
    queues_.for_each_recorded([&](const unexpected_message& one) {
      put(one.place);
      put(one.request);
      put(std::uint64_t{one.source()} << 8U | static_cast<std::uint64_t>(one.is) << 1U | std::uint64_t{one.matched});
      put(one.receive);
    });
  }

 private:
  // A pending resendOne. At most one per posted receive, and bounded by the caller's limit.
  struct restart_of_one {
    peer_number in = 0;
    std::uint32_t age = 0;
    std::uint32_t context = 0;
    std::int32_t tag = 0;
  };

  void answer(peer_number to, packet_kind kind, std::uint64_t request, std::uint64_t place = 0,
              std::uint64_t bytes = 0);
  std::uint64_t grant_to_receive(peer_number from, const delivery& what, std::uint64_t request, std::uint64_t capacity);
  delivery deliver(unexpected_message& message, message_token receive);
  void restart(peer_number peer);
  void restart_all();
  void restart_for_receive(const message_filter& filter);
  bool may_restart_one_more() const;
  void check_peer(peer_number from, packet_kind kind) const;

  bounded_memory memory_;
  bounded_memory buffers_;
  reserved_reply_slots answers_;
  receive_queues queues_;
  std::map<std::uint64_t, delivery> receiving_;  // by place: accepted into the memory of a receive, data on its way
  std::vector<std::uint32_t> ages_;              // restarts of each sender
  std::vector<std::uint32_t> refused_at_;        // of a marked sender: the age of its last refusal
  peer_set marked_;                              // the failed bits: refused for lack of memory since its last restart
  peer_set owed_;                                // its age has advanced, not notified yet
  std::vector<restart_of_one> finds_;            // hardly ever more than one
  peer_set restarted_;                           // notified, and its first request of that age has not arrived yet
  restart_pace pace_;
  std::uint64_t restarts_at_;
  peer_number restart_from_ = 0;
  bool restart_next_ = false;  // answers and restarts alternate
  std::uint64_t next_place_ = 1;
  counters count_;
};

}  // namespace tri::flow
