// Receives that wait for a message, in the order of posting. Their memory is the poster's, not counted in the limit.
#pragma once

#include <cstddef>
#include <list>
#include <optional>

#include "flow/message_filter.hpp"

namespace tri::wire::flow {

struct receive {
  message_filter filter;
  std::uint64_t capacity = 0;  // bytes of the poster's buffer
  message_token token = 0;
};

class posted_receives {
 public:
  bool is_empty() const { return waiting_.empty(); }
  std::size_t size() const { return waiting_.size(); }
  auto begin() const { return waiting_.begin(); }
  auto end() const { return waiting_.end(); }

  void add(const receive& one) { waiting_.push_back(one); }
  bool has_match(peer_number from, std::uint32_t context, std::int32_t tag) const {
    for (const receive& one : waiting_)
      if (one.filter.takes(from, context, tag)) return true;
    return false;
  }
  /// The first posted receive that matches the message; it leaves the queue.
  std::optional<receive> take_match(peer_number from, std::uint32_t context, std::int32_t tag) {
    for (auto one = waiting_.begin(); one != waiting_.end(); ++one) {
      if (!one->filter.takes(from, context, tag)) continue;
      const receive found = *one;
      waiting_.erase(one);
      return found;
    }
    return std::nullopt;
  }
  /// False: it has got its message.
  bool withdraw(message_token token) {
    for (auto one = waiting_.begin(); one != waiting_.end(); ++one) {
      if (one->token != token) continue;
      waiting_.erase(one);
      return true;
    }
    return false;
  }

 private:
  std::list<receive> waiting_;
};

}  // namespace tri::wire::flow
