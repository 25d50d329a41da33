// The sender as the printed rules have it (Farreras 2008, section 4.3): a new message asks at once; resendAll walks the
// queue and ends at the first request that is not answered, and what it did not reach is forgotten. Kept to show what
// is wrong with it; the library's sender is flow/sender.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>

#include "flow/packet.hpp"
#include "flow/sender.hpp"

namespace tri::flow {

class literal_sender {
 public:
  explicit literal_sender(std::size_t peers) : queues_(peers), ages_(peers) {}

  void send(peer_number to, const message_to_send& message, std::vector<outgoing>& out) {
    queues_[to].push_back({next_request_++, message, true});
    ask(to, queues_[to].back(), out);
  }

  void on_packet(peer_number from, const packet& what, std::vector<outgoing>& out) {
    auto& queue = queues_[from];
    if (what.kind == packet_kind::resend_all) {
      ages_[from] = what.age;
      for (entry& one : queue) {
        if (one.is_waiting) return;
        ask(from, one, out);
      }
      return;
    }
    for (auto* place : {&queue, &recorded_}) {
      for (auto one = place->begin(); one != place->end(); ++one) {
        if (one->request != what.request) continue;
        one->is_waiting = false;
        if (what.kind == packet_kind::cts) {
          outgoing data{.to = from, .what = {}, .message = one->message.token};
          data.what.kind = packet_kind::data;
          data.what.place = what.place;
          data.what.bytes = what.bytes;
          out.push_back(data);
          place->erase(one);
        } else if (what.kind == packet_kind::nctsd) {
          recorded_.splice(recorded_.end(), queue, one);
        }
        return;
      }
    }
    throw protocol_error(from, what.kind, "an answer to no request");
  }

  bool is_idle() const {
    for (const auto& queue : queues_)
      if (!queue.empty()) return false;
    return recorded_.empty();
  }
  std::uint32_t age(peer_number to) const { return ages_[to]; }

  template <class Put>
  void encode(Put&& put) const {
    put(next_request_);
    for (const auto& queue : queues_) {
      put(queue.size());
      for (const entry& one : queue) put(one.request << 1U | std::uint64_t{one.is_waiting});
    }
    for (const entry& one : recorded_) put(one.request);
    for (const std::uint32_t age : ages_) put(age);
  }

 private:
  struct entry {
    std::uint64_t request;
    message_to_send message;
    bool is_waiting;
  };

  void ask(peer_number to, entry& one, std::vector<outgoing>& out) {
    one.is_waiting = true;
    outgoing request{.to = to, .what = {}};
    request.what.age = ages_[to];
    request.what.context = one.message.context;
    request.what.tag = one.message.tag;
    request.what.request = one.request;
    request.what.bytes = one.message.bytes;
    out.push_back(request);
  }

  std::vector<std::list<entry>> queues_;
  std::list<entry> recorded_;
  std::vector<std::uint32_t> ages_;
  std::uint64_t next_request_ = 1;
};

}  // namespace tri::flow
