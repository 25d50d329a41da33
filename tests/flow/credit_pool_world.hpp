// Senders of streams, one receiver with a credit pool and the channels between them, as a world for the explorers of
// tests/explore. Messages of a sender arrive in order; notes overtake each other and messages in every way. The world
// knows what is right: all messages are received once and in order, nobody waits for ever, and the memory in use is
// never above the limit, unless one message alone is larger than what can be free.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "explore/fingerprints.hpp"
#include "flow/credit_pool.hpp"

namespace tri::flow {

struct credit_pool_scope {
  std::vector<std::vector<std::uint64_t>> sends;  // bytes of the messages of each sender, in its order
  std::uint64_t limit = 0;
  std::size_t silent = 0;    // further peers, of which nothing is ever heard
  bool all_at_once = false;  // every message is sent at the beginning: fewer states
  bool may_lose = false;     // one sender is lost at some time
};

class credit_pool_world final : private credit_pool_owner {
 public:
  // The scope must outlive the world.
  explicit credit_pool_world(const credit_pool_scope& what)
      : scope_(&what), memory_(what.limit, what.sends.size() + what.silent), senders_(what.sends.size()) {
    for (peer_number number = 0; number < senders_.size(); ++number) {
      senders_[number].credit.granted(memory_.initial());
      while (what.all_at_once && post(number)) {
      }
    }
  }

  int steps() const {
    list_steps();
    return static_cast<int>(steps_.size());
  }

  void take(int number) {
    list_steps();
    const step what = steps_.at(static_cast<std::size_t>(number));
    sender& peer = senders_[what.of];
    switch (what.kind) {
      case step_kind::send:
        post(what.of);
        break;
      case step_kind::message:
        receive(what.of);
        break;
      case step_kind::note_to_receiver:
        changed_ = true;
        take_control(what.of, taken(peer.to_receiver, what.item));
        break;
      case step_kind::note_to_sender: {
        const credit_control note = taken(peer.to_sender, what.item);
        peer.credit.granted(note.total);
        send_waiting(peer);
        if (note.what != credit_control::kind::recall) break;
        peer.to_receiver.push_back(peer.credit.recalled());
        send_waiting(peer);  // asks anew
        break;
      }
      case step_kind::run:
        given_back_ += in_use_.front();
        in_use_.pop_front();
        changed_ = true;
        break;
      case step_kind::look:
        changed_ = false;
        memory_.given_back(given_back_);
        memory_.serve(*this);
        break;
      case step_kind::lose:
        make_known(what.of);
        memory_.peer_failed(what.of, *this);
        failed_ = true;
        peer = {};
        peer.failed = true;
        changed_ = true;
        break;
    }
    check();
  }

  void check_end() const {
    for (std::size_t number = 0; number < senders_.size(); ++number) {
      const sender& peer = senders_[number];
      if (peer.failed) continue;
      if (peer.received != scope_->sends[number].size())
        throw std::logic_error("deadlock: of sender " + std::to_string(number) + " only " +
                               std::to_string(peer.received) + " messages came");
      if (peer.known && peer.account.asking != 0) throw std::logic_error("somebody still asks for memory");
    }
    if (memory_.has_requests()) throw std::logic_error("the queue of those that ask is not empty");
  }

  void encode(explore::fingerprint& state) const {
    const auto put = [&state](std::uint64_t word) { state.put(word); };
    memory_.encode(put);
    put(std::uint64_t{changed_} * 2 + std::uint64_t{failed_});
    for (const std::uint64_t cost : in_use_) put(cost);
    put(0);
    for (const sender& peer : senders_) {
      peer.credit.encode(put);
      const peer_credits& of = peer.account;
      for (const std::uint64_t word : {of.granted, of.arrived, of.needed, of.first}) put(word);
      put(of.more * 64U + of.asking * 32U + of.recalled * 16U + of.holds * 8U + (peer.known ? 4U : 0U) +
          (peer.failed ? 2U : 0U));
      put(of.asking != 0 ? of.next : 0);
      put(peer.posted);
      put(peer.sent);
      put(peer.received);
      for (const auto* notes : {&peer.to_receiver, &peer.to_sender}) {
        put(notes->size());
        for (const credit_control& note : *notes) {
          put(static_cast<std::uint64_t>(note.what) + note.more * std::uint64_t{8});
          put(note.total);
          put(note.bytes);
        }
      }
    }
  }

  std::uint64_t notes() const { return notes_; }
  std::uint64_t requests() const { return requests_; }
  std::uint64_t recalls() const { return recalls_; }
  std::uint64_t alone() const { return alone_; }

 private:
  enum class step_kind : std::uint8_t { send, message, note_to_receiver, note_to_sender, run, look, lose };
  struct step {
    step_kind kind;
    peer_number of = 0;
    std::size_t item = 0;
  };
  struct sender {
    memory_credit credit;
    peer_credits account;
    bool known = false;
    bool failed = false;
    std::size_t posted = 0, sent = 0, received = 0;
    std::vector<credit_control> to_receiver, to_sender;  // in no order
  };

  static credit_control taken(std::vector<credit_control>& notes, std::size_t which) {
    const credit_control note = notes.at(which);
    notes.erase(notes.begin() + static_cast<std::ptrdiff_t>(which));
    return note;
  }

  void list_steps() const {
    steps_.clear();
    for (peer_number number = 0; number < senders_.size(); ++number) {
      const sender& peer = senders_[number];
      if (peer.failed) continue;
      if (peer.posted < scope_->sends[number].size()) steps_.push_back({step_kind::send, number});
      if (peer.received < peer.sent) steps_.push_back({step_kind::message, number});
      for (std::size_t item = 0; item < peer.to_receiver.size(); ++item)
        steps_.push_back({step_kind::note_to_receiver, number, item});
      for (std::size_t item = 0; item < peer.to_sender.size(); ++item)
        steps_.push_back({step_kind::note_to_sender, number, item});
      if (scope_->may_lose && !failed_) steps_.push_back({step_kind::lose, number});
    }
    if (!in_use_.empty()) steps_.push_back({step_kind::run});
    if (changed_ && memory_.has_requests()) steps_.push_back({step_kind::look});
  }

  bool post(peer_number number) {
    sender& peer = senders_[number];
    if (peer.posted == scope_->sends[number].size()) return false;
    ++peer.posted;
    send_waiting(peer);
    return true;
  }

  void send_waiting(sender& peer) {
    const auto& costs = scope_->sends[static_cast<std::size_t>(&peer - senders_.data())];
    for (; peer.sent < peer.posted && peer.credit.covers(costs[peer.sent]); ++peer.sent)
      peer.credit.use(costs[peer.sent]);
    if (peer.sent == peer.posted) return;
    std::uint64_t behind = 0;
    for (std::size_t next = peer.sent + 1; next < peer.posted; ++next) behind += costs[next];
    const auto note = peer.credit.request(costs[peer.sent], behind);
    if (!note) return;
    ++requests_;
    peer.to_receiver.push_back(*note);
  }

  void make_known(peer_number number) {
    sender& peer = senders_[number];
    if (!peer.known) memory_.known(peer.account);
    peer.known = true;
  }

  void receive(peer_number number) {
    sender& peer = senders_[number];
    make_known(number);
    const std::uint64_t cost = scope_->sends[number][peer.received++];
    if (!memory_.arrived(peer.account, cost)) throw std::logic_error("a message came that was not covered");
    in_use_.push_back(cost);
    if (memory_.is_outdated()) memory_.given_back(given_back_);
    memory_.top_up(number, *this);
    changed_ = true;
  }

  void take_control(peer_number number, const credit_control& note) {
    make_known(number);
    if (note.what == credit_control::kind::request)
      memory_.requested(number, note, *this);
    else if (!memory_.returned(senders_[number].account, note))
      throw std::logic_error("more came back than was granted");
  }

  peer_credits& credits_of(peer_number number) override { return senders_.at(number).account; }
  void send_control(peer_number number, const credit_control& note) override {
    if (senders_.at(number).failed) throw std::logic_error("a control message for a peer that has failed");
    ++notes_;
    if (note.what == credit_control::kind::recall) ++recalls_;
    senders_.at(number).to_sender.push_back(note);
  }
  void recall_from_all() override {
    for (peer_number number = 0; number < senders_.size(); ++number)
      if (senders_[number].known && !senders_[number].failed) memory_.recall_from(number, *this);
  }

  void check() {
    std::uint64_t sum = 0, largest = 0;
    for (const std::uint64_t cost : in_use_) {
      sum += cost;
      largest = std::max(largest, cost);
    }
    if (sum <= scope_->limit) return;
    // Larger than all that is not set aside for peers that are silent, and beside it at most what is set aside.
    if (largest <= scope_->limit - scope_->limit / 4 || sum - largest > scope_->limit / 4)
      throw std::logic_error("memory in use: " + std::to_string(sum) + " of " + std::to_string(scope_->limit));
    ++alone_;
  }

  const credit_pool_scope* scope_;
  credit_pool memory_;
  std::vector<sender> senders_;
  std::deque<std::uint64_t> in_use_;
  std::uint64_t given_back_ = 0;
  bool changed_ = false;  // since the last look
  bool failed_ = false;
  std::uint64_t notes_ = 0, requests_ = 0, recalls_ = 0, alone_ = 0;
  mutable std::vector<step> steps_;
};

}  // namespace tri::flow
