// Senders, one receiver and the channels between them, as a world for the explorers of tests/explore. Control packets
// are in order between two peers, data is not; everything else may happen in any order. The world knows what is right:
// every message is received once, by a receive that takes it, in the order of MPI (non-overtaking), and the receiver's
// memory is what the records and buffers in use add up to, never more than its limit. With credits, notes and returned
// credit travel apart from everything else, and every byte of the pool is somewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "explore/fingerprints.hpp"
#include "flow/credit_cost.hpp"
#include "flow/prediction/credit_granter.hpp"
#include "flow/receiver.hpp"
#include "flow/sender.hpp"

namespace tri::flow {

struct planned_send {
  std::int32_t tag = 0;
  std::uint64_t bytes = 0;
};

struct scope {
  std::vector<std::vector<planned_send>> sends;  // of each sender, in its order
  std::vector<message_filter> receives;          // in the order of posting
  std::size_t window = 1;                        // receives that are posted and not done
  std::size_t withdrawals = 0;                   // receives that are given up and posted again later, in any order
  std::uint64_t memory = 0;
  std::size_t answers = 4;
  restart_pace pace = restart_pace::as_served;
  std::uint64_t buffer_limit = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t used_by_others = 0;  // of the memory, at the beginning; freed at some time
  std::uint64_t stall_below = 0;     // the rule of others: take nothing from the network while less memory is free
  std::uint64_t credits = 0;         // the pool; 0: none are used
  std::vector<std::vector<prediction::expected_message>> plans = {};  // what the receiver may expect at any time
  std::size_t most_plans = 0;
  bool late_data = true;     // false: data arrives with the CTS, buffers are consumed at once,
  bool late_packets = true;  // false: the receiver's packets leave with the event: fewer states
};

template <class Sender = sender>
class flow_world {
 public:
  // The scope must outlive the world.
  explicit flow_world(const scope& what)
      : scope_(&what),
        receiver_(what.sends.size(), what.memory, what.answers, what.pace, what.buffer_limit),
        granter_(static_cast<std::uint32_t>(what.sends.size()), what.credits),
        others_(what.used_by_others) {
    for (const auto& sends : what.sends) {
      ends_.emplace_back(what.credits);
      delivered_.emplace_back(sends.size());
      messages_ += sends.size();
    }
    if (others_ > 0 && !receiver_.reserve(others_)) throw std::logic_error("others use more than there is");
  }

  int steps() const {
    list_steps();
    return static_cast<int>(steps_.size());
  }

  void take(int number) {
    list_steps();
    const step what = steps_.at(static_cast<std::size_t>(number));
    are_steps_known_ = false;
    const auto peer = static_cast<peer_number>(what.of);
    std::vector<outgoing> out;
    switch (what.kind) {
      case step_kind::send: {
        end& here = ends_[what.of];
        const planned_send& next = scope_->sends[what.of][here.sent];
        here.side.send(0, {.token = token_of(what.of, here.sent), .bytes = next.bytes, .context = 0, .tag = next.tag},
                       out);
        ++here.sent;
        carry(what.of, out);
        break;
      }
      case step_kind::post: {
        if (again_.empty())
          postings_.push_back({posted_++});
        else
          postings_.push_back({taken_first(again_)});
        const receive wanted{filter_of(postings_.back()), 1000, postings_.size() - 1};
        if (const auto done = receiver_.post(wanted)) deliver(*done);
        break;
      }
      case step_kind::withdraw: {
        posting& given_up = postings_[what.of];
        // False: a message is on its way to it.
        given_up.is_withdrawn = receiver_.withdraw(what.of);
        if (given_up.is_withdrawn) again_.push_back(given_up.receive);
        ++withdrawn_;
        break;
      }
      case step_kind::request: {
        const packet rts = taken_first(ends_[what.of].to_receiver);
        if (rts.paid != payment::none) {
          take_paid(peer, rts);
          break;
        }
        const decision made = receiver_.on_request(peer, rts);
        if (made.what == verdict::buffered) buffers_ += rts.bytes;
        break;
      }
      case step_kind::answer: {
        end& here = ends_[what.of];
        const packet answer = taken_first(here.to_sender);
        here.side.on_packet(0, answer, out);
        carry(what.of, out);
        break;
      }
      case step_kind::data:
        take_data(what.of, what.item);
        break;
      case step_kind::packet:
        emit();
        break;
      case step_kind::consume: {
        const std::uint64_t bytes = taken_first(unconsumed_);
        consume(bytes);
        break;
      }
      case step_kind::plan:
        granter_.plan(scope_->plans[what.item]);
        ++plans_;
        break;
      case step_kind::note:
        ends_[what.of].notes.push_back(granter_.leaving_to(peer));
        break;
      case step_kind::noted: {
        end& here = ends_[what.of];
        const prediction::credit_control note = here.notes[what.item];
        here.notes.erase(here.notes.begin() + static_cast<std::ptrdiff_t>(what.item));
        if constexpr (has_credits)
          if (const auto back = here.side.on_credit(0, note)) here.returned.push_back(*back);
        break;
      }
      case step_kind::returned: {
        end& here = ends_[what.of];
        granter_.given_back(peer, here.returned[what.item]);
        here.returned.erase(here.returned.begin() + static_cast<std::ptrdiff_t>(what.item));
        break;
      }
      case step_kind::others_free: {
        const std::uint64_t bytes = others_;
        others_ = 0;
        receiver_.release(bytes);
        break;
      }
    }
    if (!scope_->late_packets)
      while (receiver_.has_packet()) emit();
    check();
  }

  void check_end() const {
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      if (ends_[i].sent < scope_->sends[i].size() || !ends_[i].side.is_idle())
        throw std::logic_error("deadlock: sender " + std::to_string(i) + " has messages left");
    }
    if (posted_ < scope_->receives.size() || !again_.empty() || done_ < posted_)
      throw std::logic_error("deadlock: a receive is not done");
    if (receiver_.recorded() + receiver_.posted() + receiver_.receiving() + receiver_.marked() != 0)
      throw std::logic_error("something is left at the receiver");
    if (receiver_.memory().used() != 0) throw std::logic_error("memory is left in use");
    if (!parked_.empty()) throw std::logic_error("data is left that no request was accepted for");
    std::uint64_t credit = granter_.free();
    for (std::uint32_t i = 0; i < ends_.size(); ++i) credit += granter_.peer(i).reserved;
    if (credit != scope_->credits) throw std::logic_error("credit was lost");
  }

  void encode(explore::fingerprint& state) const {
    const auto put = [&state](std::uint64_t word) { state.put(word); };
    const auto put_packet = [&put](const packet& what) {
      put(static_cast<std::uint64_t>(what.kind) << 32U | static_cast<std::uint32_t>(what.tag));
      put(what.age);
      put(what.request);
      put(what.place << 3U | std::uint64_t{what.none_asleep} << 2U | static_cast<std::uint64_t>(what.paid));
    };
    put(posted_);
    put(others_);
    put(withdrawn_);
    put(again_.size());
    for (const std::size_t one : again_) put(one);
    put(postings_.size());
    for (const posting& one : postings_) {
      put(std::uint64_t{one.receive} << 1U | std::uint64_t{one.is_withdrawn});
      put(one.got);
    }
    for (const end& one : ends_) {
      put(one.sent);
      one.side.encode(put);
      put(one.to_receiver.size());
      for (const packet& what : one.to_receiver) put_packet(what);
      put(one.to_sender.size());
      for (const packet& what : one.to_sender) put_packet(what);
      put(one.data.size());
      for (const outgoing& what : one.data) {
        put(what.what.place);
        put(what.message);
      }
    }
    receiver_.encode(put);
    if (scope_->credits > 0) {
      put(plans_);
      for (std::uint32_t i = 0; i < ends_.size(); ++i) {
        const auto& credit = granter_.peer(i);
        for (const std::uint64_t word :
             {credit.reserved, credit.unsent, credit.occupied, credit.to_recall, credit.recalled})
          put(word);
        put(ends_[i].notes.size());
        for (const prediction::credit_control& note : ends_[i].notes) {
          put(note.granted);
          put(note.recalled);
        }
        put(ends_[i].returned.size());
        for (const std::uint64_t bytes_back : ends_[i].returned) put(bytes_back);
      }
      put(parked_.size());
      for (const auto& [request, message] : parked_) {
        put(request.first);
        put(request.second);
      }
    }
    put(arrived_.size());
    for (const auto& [place, message] : arrived_) {
      put(place);
      put(message);
    }
    put(unconsumed_.size());
    for (const std::uint64_t one : unconsumed_) put(one);
  }

  const receiver& receiving_side() const { return receiver_; }
  const prediction::credit_granter& granter() const { return granter_; }
  std::uint64_t paid() const { return paid_; }
  std::uint64_t messages() const { return messages_; }

 private:
  enum class step_kind : std::uint8_t {
    send,
    post,
    withdraw,
    request,
    answer,
    data,
    packet,
    consume,
    others_free,
    plan,      // the receiver expects something
    note,      // what a sender has been granted leaves
    noted,     // and arrives, before or after anything
    returned,  // the answer to a recall arrives
  };
  static constexpr bool has_credits = std::is_constructible_v<Sender, std::size_t, std::uint64_t>;
  struct step {
    step_kind kind;
    std::uint8_t of;
    std::uint16_t item;
  };
  static Sender sender_with(std::uint64_t credits) {
    if constexpr (has_credits) return Sender(1, credits);
    return Sender(1);
  }
  struct end {
    explicit end(std::uint64_t credits) : side(sender_with(credits)) {}
    Sender side;
    std::size_t sent = 0;
    std::vector<packet> to_receiver;
    std::vector<packet> to_sender;
    std::vector<outgoing> data;  // in no order
    std::vector<prediction::credit_control> notes;
    std::vector<std::uint64_t> returned;
    std::map<std::uint64_t, message_token> with_requests;  // data that goes with a request that is paid
    std::set<message_token> gone;                          // messages whose data went so
  };

  // A receive that was posted, maybe a second time. Its token is its number among these.
  struct posting {
    std::size_t receive = 0;
    message_token got = 0;  // 0: nothing yet
    bool is_withdrawn = false;
  };
  const message_filter& filter_of(const posting& one) const { return scope_->receives[one.receive]; }

  // Queues are short.
  template <class Item>
  static Item taken_first(std::vector<Item>& queue) {
    const Item first = queue.front();
    queue.erase(queue.begin());
    return first;
  }

  static message_token token_of(std::size_t from, std::size_t number) { return (from + 1) * 1000 + number; }

  void list_steps() const {
    if (are_steps_known_) return;
    are_steps_known_ = true;
    steps_.clear();
    const auto add = [this](step_kind kind, std::size_t of = 0, std::size_t item = 0) {
      steps_.push_back({kind, static_cast<std::uint8_t>(of), static_cast<std::uint16_t>(item)});
    };
    const bool stalled = receiver_.memory().free() < scope_->stall_below;
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      const end& one = ends_[i];
      if (one.sent < scope_->sends[i].size()) add(step_kind::send, i);
      if (!one.to_receiver.empty() && receiver_.has_capacity() && !stalled) add(step_kind::request, i);
      if (!one.to_sender.empty()) add(step_kind::answer, i);
      for (std::size_t k = 0; k < one.data.size(); ++k) add(step_kind::data, i, k);
    }
    const std::size_t waiting = posted_ - again_.size() - done_;
    if ((posted_ < scope_->receives.size() || !again_.empty()) && waiting < scope_->window && receiver_.has_capacity())
      add(step_kind::post);
    for (std::size_t i = 0; withdrawn_ < scope_->withdrawals && i < postings_.size(); ++i)
      if (postings_[i].got == 0 && !postings_[i].is_withdrawn) add(step_kind::withdraw, i);
    if (scope_->late_packets && receiver_.has_packet()) add(step_kind::packet);
    if (!unconsumed_.empty()) add(step_kind::consume);
    if (others_ > 0) add(step_kind::others_free);
    if (scope_->credits == 0) return;
    for (std::size_t i = 0; plans_ < scope_->most_plans && i < scope_->plans.size(); ++i) add(step_kind::plan, 0, i);
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      const auto& credit = granter_.peer(static_cast<std::uint32_t>(i));
      if (credit.unsent + credit.to_recall > 0) add(step_kind::note, i);
      for (std::size_t k = 0; k < ends_[i].notes.size(); ++k) add(step_kind::noted, i, k);
      for (std::size_t k = 0; k < ends_[i].returned.size(); ++k) add(step_kind::returned, i, k);
    }
  }

  void carry(std::size_t from, const std::vector<outgoing>& out) {
    for (const outgoing& one : out) {
      if (one.what.kind != packet_kind::data) {
        if (one.what.paid == payment::here) {
          ends_[from].with_requests[one.what.request] = one.message;
          if (!ends_[from].gone.insert(one.message).second) throw std::logic_error("paid twice");
          ++paid_;
        }
        ends_[from].to_receiver.push_back(one.what);
        continue;
      }
      if (ends_[from].gone.erase(one.message) != 0) continue;  // it is there
      ends_[from].data.push_back(one);
      if (!scope_->late_data) take_data(from, ends_[from].data.size() - 1);
    }
  }

  void emit() {
    const auto out = receiver_.next_packet();
    if (!out) throw std::logic_error("there was a packet, and then none");
    ends_.at(out->to).to_sender.push_back(out->what);
  }

  // The data came with this request or an earlier one, in memory of the pool.
  void take_paid(peer_number from, const packet& rts) {
    const std::pair<std::uint64_t, std::uint64_t> request{from, rts.request};
    if (rts.paid == payment::here) {
      granter_.arrived(from, credit_cost(rts.bytes));
      auto& with_requests = ends_[from].with_requests;
      parked_[request] = with_requests.at(rts.request);
      with_requests.erase(rts.request);
    }
    const decision made = receiver_.on_request(from, rts);
    if (made.what == verdict::refused || made.what == verdict::stale) return;
    if (made.what == verdict::recorded) throw std::logic_error("no buffer although it was paid");
    if (made.what == verdict::buffered) ++paid_records_;
    arrived_[made.place] = parked_.at(request);
    parked_.erase(request);
    packet data;
    data.kind = packet_kind::data;
    data.place = made.place;
    data.bytes = rts.bytes;
    if (const auto done = receiver_.on_data(from, data)) deliver(*done);
  }

  void take_data(std::size_t from, std::size_t item) {
    const outgoing data = ends_[from].data[item];
    ends_[from].data.erase(ends_[from].data.begin() + static_cast<std::ptrdiff_t>(item));
    if (!arrived_.emplace(data.what.place, data.message).second) throw std::logic_error("two messages at one place");
    if (const auto done = receiver_.on_data(static_cast<peer_number>(from), data.what)) deliver(*done);
  }

  void deliver(const delivery& done) {
    const auto at = arrived_.find(done.place);
    if (at == arrived_.end()) throw std::logic_error("delivered before its data came");
    const message_token message = at->second;
    arrived_.erase(at);
    const std::size_t from = message / 1000 - 1;
    const std::size_t number = message % 1000;
    const planned_send& was = scope_->sends[from][number];
    if (done.source != from || done.tag != was.tag || done.bytes != was.bytes)
      throw std::logic_error("another message");
    posting& taker = postings_.at(done.receive);
    if (taker.is_withdrawn) throw std::logic_error("to a receive that was given up");
    if (!filter_of(taker).takes(done.source, 0, was.tag)) throw std::logic_error("not for that receive");
    if (delivered_[from][number]) throw std::logic_error("delivered twice");
    if (taker.got != 0) throw std::logic_error("two messages for one receive");
    delivered_[from][number] = true;
    taker.got = message;
    ++done_;
    check_order(from);
    if (done.is_paid) {
      granter_.released(done.source, credit_cost(done.bytes));
      if (done.buffered) --paid_records_;
      return;
    }
    if (!done.buffered) return;
    if (scope_->late_data) {
      unconsumed_.push_back(done.buffer_bytes);
    } else {
      consume(done.buffer_bytes);
    }
  }

  // Of two messages of one sender that a receive would take, it gets the one sent first unless an earlier receive did.
  void check_order(std::size_t from) const {
    for (std::size_t later = 0; later < postings_.size(); ++later) {
      if (postings_[later].got / 1000 != from + 1) continue;
      const std::size_t number = postings_[later].got % 1000;
      for (std::size_t earlier = 0; earlier < later; ++earlier) {
        if (postings_[earlier].got / 1000 != from + 1 || postings_[earlier].got % 1000 < number) continue;
        if (filter_of(postings_[earlier]).takes(static_cast<peer_number>(from), 0, scope_->sends[from][number].tag))
          throw std::logic_error("order broken");
      }
    }
  }

  void consume(std::uint64_t bytes) {
    buffers_ -= bytes;
    receiver_.consumed(bytes);
  }

  void check() const {
    check_pool();
    const std::uint64_t used = others_ + (receiver_.recorded() - paid_records_) * record_bytes + buffers_;
    if (receiver_.buffers().used() != buffers_ || buffers_ > scope_->buffer_limit)
      throw std::logic_error("buffers in use are not what is accounted for, or too many");
    if (receiver_.memory().used() != used) throw std::logic_error("memory in use is not what is accounted for");
    if (used > scope_->memory) throw std::logic_error("more memory in use than the limit");
    if (receiver_.memory().fits(receiver_.restarts_at()) && receiver_.marked() > 0)
      throw std::logic_error("a sender waits for memory that is there");
    // A restart has a cause: a receive posted, or memory freed (the record and the buffer of a message, the others').
    const std::uint64_t causes = scope_->receives.size() + scope_->withdrawals + 2 * messages_ + 1;
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      if (receiver_.age(static_cast<peer_number>(i)) > causes) throw std::logic_error("restarts without a cause");
    }
    if (receiver_.count().requests > messages_ * (causes + 1)) throw std::logic_error("requests without end");
    if (receiver_.answers().size() > scope_->answers) throw std::logic_error("more answers than places");
  }

  // The granter finds by itself what was sent beyond its credit (`arrived`).
  void check_pool() const {
    std::uint64_t here = 0;
    for (const auto& [request, message] : parked_) here += pool_bytes(message);
    for (const auto& [place, message] : arrived_) {
      const auto& record = receiver_.recorded_at(place);
      if (record != nullptr && record->is_paid) here += pool_bytes(message);
    }
    std::uint64_t all = granter_.free();
    for (std::uint32_t i = 0; i < ends_.size(); ++i) {
      const end& one = ends_[i];
      const auto& credit = granter_.peer(i);
      std::uint64_t of_sender = credit.unsent;
      if constexpr (has_credits) of_sender += one.side.credit(0);
      for (const prediction::credit_control& note : one.notes) of_sender += note.granted;
      for (const std::uint64_t bytes : one.returned) of_sender += bytes;
      for (const auto& [request, message] : one.with_requests) of_sender += pool_bytes(message);
      if (of_sender != credit.reserved) throw std::logic_error("the books are wrong about a sender's credit");
      all += credit.reserved + credit.occupied;
      here -= credit.occupied;
    }
    if (here != 0) throw std::logic_error("the books are wrong about what is here");
    if (all != scope_->credits) throw std::logic_error("bytes of the pool appeared or vanished");
    if (granter_.most_in_use() > scope_->credits) throw std::logic_error("the pool grew beyond its limit");
  }
  std::uint64_t pool_bytes(message_token message) const {
    return prediction::buffer_bytes(credit_cost(scope_->sends[message / 1000 - 1][message % 1000].bytes));
  }

  const scope* scope_;
  std::vector<end> ends_;
  std::vector<std::vector<bool>> delivered_;
  std::vector<posting> postings_;   // in the order of posting
  std::vector<std::size_t> again_;  // receives that were given up, to be posted again
  receiver receiver_;
  prediction::credit_granter granter_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, message_token> parked_;  // paid data of refused requests
  std::size_t paid_records_ = 0;
  std::size_t plans_ = 0;
  std::uint64_t paid_ = 0;
  std::map<std::uint64_t, message_token> arrived_;  // data by place, not delivered yet
  std::vector<std::uint64_t> unconsumed_;
  std::uint64_t buffers_ = 0;
  std::uint64_t others_;
  std::uint64_t messages_ = 0;
  std::size_t posted_ = 0;  // once at least
  std::size_t done_ = 0;
  std::size_t withdrawn_ = 0;
  mutable std::vector<step> steps_;  // of list_steps
  mutable bool are_steps_known_ = false;
};

}  // namespace tri::flow
