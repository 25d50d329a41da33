// Keeps messages that came from other hosts until the creations that they may speak of lie in the inboxes of this host
// (creation_fence.hpp). Messages of one process stay in their order. States and events only; of one process, by the
// thread that makes progress on the wire.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include "sched/remote/host_creations.hpp"

namespace tri::sched {

template <class Item>
class arrival_gate {
 public:
  /// `in_inboxes(host)`: so many creations of that host lie in the inboxes here.
  template <class InInboxes>
  bool passes(std::uint32_t sender, const known_creations& known, InInboxes&& in_inboxes) const {
    return (kept_.empty() || !kept_.contains(sender)) && all_lie(known, in_inboxes);
  }
  /// One that may not pass.
  void keep(std::uint32_t sender, const known_creations& known, Item item) {
    kept_[sender].push_back({known, std::move(item)});
  }
  /// Calls `deliver(item)` for each that may pass now.
  template <class InInboxes, class Deliver>
  void flush(InInboxes&& in_inboxes, Deliver&& deliver) {
    for (auto sender = kept_.begin(); sender != kept_.end();) {
      auto& queue = sender->second;
      for (; !queue.empty() && all_lie(queue.front().known, in_inboxes); queue.pop_front()) deliver(queue.front().item);
      sender = queue.empty() ? kept_.erase(sender) : std::next(sender);
    }
  }
  template <class InInboxes>
  bool has_passable(InInboxes&& in_inboxes) const {
    return std::ranges::any_of(kept_, [&](const auto& each) { return all_lie(each.second.front().known, in_inboxes); });
  }
  bool is_empty() const { return kept_.empty(); }
  template <class Drop>
  void drop_all(Drop&& drop) {
    for (auto& [sender, queue] : std::exchange(kept_, {}))
      for (waiting& each : queue) drop(each.item);
  }

  /// For explorations.
  template <class Put>
  void encode(Put&& put) const {
    for (const auto& [sender, queue] : kept_) {
      put(std::uint64_t{sender}), put(std::uint64_t{queue.size()});
      for (const waiting& each : queue) put(each.item);
    }
  }

 private:
  struct waiting {
    known_creations known;
    Item item;
  };
  template <class InInboxes>
  static bool all_lie(const known_creations& known, InInboxes&& in_inboxes) {
    for (std::uint32_t i = 0; i < known.makers; ++i)
      if (in_inboxes(known.maker[i].host) < known.maker[i].creations) return false;
    return true;
  }
  std::map<std::uint32_t, std::deque<waiting>> kept_;  // by sender; no queue is empty
};

}  // namespace tri::sched
