// The messages of a process's node queue while an order is recorded or replayed: their numbers, and, in a replay, those
// that wait for the PE that ran them when they were recorded. Any PE of the process.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "sched/node_queue.hpp"
#include "sched/order/recorded_message.hpp"
#include "trireme/detail/sched/envelope.hpp"

namespace tri::sched {

class node_order {
 public:
  struct numbered {
    envelope message;
    std::uint64_t number;
  };
  /// The next message of the queue. One source's messages come out in the order in which it sent them, as long as the
  /// ring of the queue has room; numbers are given in that order.
  std::optional<numbered> take(node_queue& queue) {
    const std::lock_guard guard(lock_);
    return take_locked(queue);
  }

  /// Takes all that is in the queue over; whether there was something. Wake the other PEs then: they look for their
  /// own.
  bool collect(node_queue& queue) {
    const std::lock_guard guard(lock_);
    bool some = false;
    for (auto next = take_locked(queue); next; next = take_locked(queue), some = true)
      waiting_.emplace(std::pair(counted_as(next->message.source, next->message.handler), next->number), next->message);
    return some;
  }
  bool has(const recorded_message& name) {
    const std::lock_guard guard(lock_);
    return waiting_.contains({counted_as(name.source, name.handler), name.number});
  }
  /// One that waits, by name; or (at the end of the job) any.
  std::optional<envelope> take_collected(const recorded_message& name) {
    const std::lock_guard guard(lock_);
    auto found = waiting_.extract({counted_as(name.source, name.handler), name.number});
    return found.empty() ? std::nullopt : std::optional(found.mapped());
  }
  std::optional<envelope> take_any() {
    const std::lock_guard guard(lock_);
    return waiting_.empty() ? std::nullopt : std::optional(waiting_.extract(waiting_.begin()).mapped());
  }

 private:
  std::optional<numbered> take_locked(node_queue& queue) {
    numbered next{};
    if (!queue.pop(next.message)) return std::nullopt;
    next.number = taken_[counted_as(next.message.source, next.message.handler)]++;
    return next;
  }

  std::mutex lock_;
  std::unordered_map<std::uint64_t, std::uint64_t> taken_;  // by counted_as
  std::map<std::pair<std::uint64_t, std::uint64_t>, envelope> waiting_;
};

}  // namespace tri::sched
