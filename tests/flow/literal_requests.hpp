// One-sided requests as the thesis describes them for UPC (Farreras 2008, chapter 4): what finds no room is refused,
// the initiator keeps it and all later ones until it is told to send all again; "age" is declared unnecessary, and
// nothing takes its place. Kept to show what is wrong with it; the library's machines are
// flow/request_initiator.hpp and request_target.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <vector>

#include "flow/peer_set.hpp"
#include "flow/request_target.hpp"

namespace tri::flow {

class literal_request_initiator {
 public:
  explicit literal_request_initiator(std::size_t, std::size_t most_unanswered) : most_unanswered_(most_unanswered) {}

  void request(peer_number to, message_token token, std::vector<outgoing_control>& out) {
    queue_.push_back({next_request_++, token});
    if (!is_stopped_) send_all(to, out);
  }

  std::optional<message_token> on_control(peer_number from, const request_control& note,
                                          std::vector<outgoing_control>& out) {
    if (note.kind == request_kind::again) {
      is_stopped_ = false;
      send_all(from, out);
      return std::nullopt;
    }
    for (auto one = queue_.begin(); one != queue_.end(); ++one) {
      if (one->request != note.request) continue;
      one->is_under_way = false;
      if (note.kind == request_kind::refused) {
        is_stopped_ = true;
        return std::nullopt;
      }
      const message_token token = one->token;
      queue_.erase(one);
      if (!is_stopped_) send_all(from, out);
      return token;
    }
    throw request_protocol_error(from, note.kind, "an answer to no request");
  }

  bool is_idle() const { return queue_.empty(); }
  std::size_t unanswered(peer_number) const {
    std::size_t count = 0;
    for (const entry& one : queue_) count += one.is_under_way ? 1 : 0;
    return count;
  }

  template <class Put>
  void encode(Put&& put) const {
    put(next_request_ << 1U | std::uint64_t{is_stopped_});
    put(queue_.size());
    for (const entry& one : queue_) put(one.request << 1U | std::uint64_t{one.is_under_way});
  }

 private:
  struct entry {
    std::uint64_t request;
    message_token token;
    bool is_under_way = false;
  };

  void send_all(peer_number to, std::vector<outgoing_control>& out) {
    for (entry& one : queue_) {
      if (one.is_under_way) continue;
      if (unanswered(to) == most_unanswered_) return;
      one.is_under_way = true;
      out.push_back({.peer = to, .what = {.request = one.request, .kind = request_kind::request}, .token = one.token});
    }
  }

  std::size_t most_unanswered_;
  std::list<entry> queue_;
  bool is_stopped_ = false;
  std::uint64_t next_request_ = 1;
};

class literal_request_target {
 public:
  literal_request_target(std::size_t peers, std::size_t slots)
      : peers_(peers), slots_(slots), marked_(peers), owed_(peers) {}

  request_decision on_request(peer_number from, const request_control& note) {
    for (slot_number i = 0; i < slots_.size(); ++i) {
      if (slots_[i]) continue;
      slots_[i] = outgoing_control{.peer = from, .what = {.request = note.request, .kind = request_kind::done}};
      return {request_verdict::accepted, i};
    }
    marked_.insert(from);
    refusals_.push_back({.peer = from, .what = {.request = note.request, .kind = request_kind::refused}});
    return {request_verdict::refused, 0};
  }
  outgoing_control finish(slot_number slot) {
    const outgoing_control answer = *slots_[slot];
    slots_[slot].reset();
    while (!marked_.is_empty()) {
      const peer_number peer = marked_.next_from(0);
      marked_.erase(peer);
      owed_.insert(peer);
    }
    return answer;
  }
  std::optional<outgoing_control> next_control() {
    if (!refusals_.empty()) {
      const outgoing_control note = refusals_.front();
      refusals_.pop_front();
      return note;
    }
    if (owed_.is_empty()) return std::nullopt;
    const peer_number peer = owed_.next_from(0);
    owed_.erase(peer);
    return outgoing_control{.peer = peer, .what = {.request = 0, .kind = request_kind::again}};
  }
  bool has_control() const { return !refusals_.empty() || !owed_.is_empty(); }

  std::size_t in_use() const {
    std::size_t count = 0;
    for (const auto& one : slots_) count += one ? 1 : 0;
    return count;
  }
  std::size_t kept() const { return 0; }
  std::size_t waiting() const { return marked_.size(); }
  bool is_waiting(peer_number) const { return false; }  // nobody keeps a turn here, so none is checked

  template <class Put>
  void encode(Put&& put) const {
    for (const auto& one : slots_) {
      put(one ? std::uint64_t{one->peer} + 1 : 0);
      put(one ? one->what.request : 0);
    }
    put(refusals_.size());
    for (const outgoing_control& one : refusals_) put(std::uint64_t{one.peer} << 32U | one.what.request);
    for (peer_number peer = 0; peer < peers_; ++peer)
      put(std::uint64_t{marked_.has(peer)} << 1U | std::uint64_t{owed_.has(peer)});
  }

 private:
  std::size_t peers_;
  std::vector<std::optional<outgoing_control>> slots_;
  std::list<outgoing_control> refusals_;
  peer_set marked_;
  peer_set owed_;
};

}  // namespace tri::flow
