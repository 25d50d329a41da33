// Messages that a PE has taken out of its queues and not run yet, by channel: in a channel they keep their order,
// between channels there is none. States and events only; time comes from the caller. Used by one thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tri::sched {

template <class Message>
class channel_pool {
 public:
  bool empty() const { return active_.empty(); }
  bool has(std::uint64_t channel) const {
    const auto found = channels_.find(channel);
    return found != channels_.end() && !found->second.waiting.empty();
  }
  /// The first message of a channel. Requires has(channel).
  Message& front(std::uint64_t channel) { return channels_.find(channel)->second.waiting.front().message; }

  /// It may run from `due` on, and no earlier than those before it in its channel.
  void push(std::uint64_t channel, const Message& message, std::uint64_t due) {
    queue& of = channels_[channel];
    if (of.waiting.empty()) {
      of.place = active_.size();
      active_.push_back(channel);
    }
    of.waiting.push_back({message, due});
  }
  /// Requires has(channel).
  Message pop(std::uint64_t channel) {
    queue& of = channels_.find(channel)->second;
    const Message first = of.waiting.front().message;
    of.waiting.pop_front();
    if (of.waiting.empty()) {
      const std::size_t place = of.place;
      active_[place] = active_.back();
      channels_.find(active_[place])->second.place = place;
      active_.pop_back();
    }
    return first;
  }
  /// Adds the channels whose first message may run at `now` to `ready`.
  void list_ready(std::uint64_t now, std::vector<std::uint64_t>& ready) const {
    for (const std::uint64_t channel : active_)
      if (channels_.find(channel)->second.waiting.front().due <= now) ready.push_back(channel);
  }
  /// Some channel that has a message. Requires !empty().
  std::uint64_t any_channel() const { return active_.front(); }

 private:
  struct waiting_message {
    Message message;
    std::uint64_t due;
  };
  struct queue {
    std::deque<waiting_message> waiting;
    std::size_t place = 0;  // in active_, while something waits
  };
  std::unordered_map<std::uint64_t, queue> channels_;
  std::vector<std::uint64_t> active_;  // those that have messages
};

}  // namespace tri::sched
