// Which peers have been silent for too long: no heartbeat and no other message. A pure state machine: times in
// (nanoseconds of any clock), overdue peers out. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace tri::launch {

class peer_timeouts {
 public:
  explicit peer_timeouts(std::int64_t limit_ns) : limit_ns_(limit_ns) {}  // 0 = no limit

  // Starts the time limit, or restarts it because the peer was heard.
  void begins(int who, std::int64_t now_ns) { since_[who] = now_ns; }
  // Nothing is expected of it any more.
  void ends(int who) { since_.erase(who); }
  // A peer that was silent for the limit or longer; not reported again until its limit restarts.
  std::optional<int> overdue(std::int64_t now_ns) {
    if (limit_ns_ == 0) return std::nullopt;
    for (const auto& [who, since] : since_) {
      if (now_ns - since < limit_ns_) continue;
      const int found = who;
      since_.erase(found);
      return found;
    }
    return std::nullopt;
  }
  // When overdue() must be called again.
  std::optional<std::int64_t> next_ns() const {
    std::optional<std::int64_t> next;
    if (limit_ns_ == 0) return next;
    for (const auto& [who, since] : since_)
      if (!next || since + limit_ns_ < *next) next = since + limit_ns_;
    return next;
  }

 private:
  std::int64_t limit_ns_;
  std::map<int, std::int64_t> since_;
};

}  // namespace tri::launch
