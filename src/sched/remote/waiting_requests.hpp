// Requests of other hosts that wait for slots of their answers (wire_link.hpp). Those of one sender keep their order;
// senders take turns, and no sender passes another that waits for a slot. Requests with small answers need none: they
// wait only behind others of their sender. States and events only; by the thread that makes progress on the wire.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>

namespace tri::sched {

template <class Item>
class waiting_requests {
 public:
  bool is_empty() const { return queues_.empty(); }
  /// One that comes now.
  bool must_wait(std::uint32_t sender, bool is_large, bool slot_is_free) const {
    if (queues_.empty()) return is_large && !slot_is_free;
    return is_large || queues_.contains(sender);
  }
  void push(std::uint32_t sender, bool is_large, Item item) { queues_[sender].push_back({is_large, std::move(item)}); }
  /// Calls `admit(item)` for those that may go now, of each sender one with a large answer at most. `admit` takes a
  /// slot for that, and must not come back here. Whether there was one.
  template <class SlotIsFree, class Admit>
  bool admit_some(SlotIsFree&& slot_is_free, Admit&& admit) {
    bool admitted = false;
    std::uint32_t tried = last_admitted_;
    for (auto senders = queues_.size(); senders > 0; --senders) {
      auto sender = queues_.upper_bound(tried);
      if (sender == queues_.end()) sender = queues_.begin();
      tried = sender->first;
      for (auto& queue = sender->second; !queue.empty();) {
        const bool is_large = queue.front().is_large;
        if (is_large && !slot_is_free()) break;
        Item item = std::move(queue.front().item);
        queue.pop_front();
        admit(std::move(item));
        admitted = true;
        if (!is_large) continue;
        last_admitted_ = tried;
        break;
      }
      if (sender->second.empty()) queues_.erase(sender);
    }
    return admitted;
  }
  template <class F>
  void for_each(F&& f) {
    for (auto& [sender, queue] : queues_)
      for (waiting& one : queue) f(one.item);
  }

 private:
  struct waiting {
    bool is_large;
    Item item;
  };
  std::map<std::uint32_t, std::deque<waiting>> queues_;  // by sender; none is empty
  std::uint32_t last_admitted_ = 0;                      // the sender that had the last turn
};

}  // namespace tri::sched
