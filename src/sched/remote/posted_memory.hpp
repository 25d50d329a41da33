// Where bodies go that the wire brings: memory that a PE of this process has posted, before it asked another process
// for its contents. The wire writes there itself, so nothing is copied; a body that is not expected (any more) gets
// memory of the arena like every other.
//
//   posted ---begin---> filling ---whole---> there ---take---> gone
//     |  <----lost--------'                    |
//     '---withdraw---> gone                    '---withdraw---> unwanted ---take---> gone
//
// After withdraw() has returned true nothing writes to the memory. The receiving PE posts, withdraws and takes; the
// thread that makes progress on the wire does the rest.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace tri::sched {

class posted_memory {
 public:
  /// `key` is unique in the process.
  void post(std::uint64_t key, void* to, std::uint64_t bytes) {
    const std::lock_guard guard(lock_);
    entries_[key] = {to, bytes, state::posted};
  }
  /// A body begins to arrive. Null: it needs other memory.
  void* begin(std::uint64_t key, std::uint64_t bytes) {
    const std::lock_guard guard(lock_);
    const auto found = entries_.find(key);
    if (found == entries_.end() || found->second.is != state::posted || found->second.bytes != bytes) return nullptr;
    found->second.is = state::filling;
    return found->second.to;
  }
  /// All of it is there, or somewhere else.
  void whole(std::uint64_t key, const void* body) {
    const std::lock_guard guard(lock_);
    const auto found = entries_.find(key);
    if (found != entries_.end() && found->second.is == state::filling && found->second.to == body)
      found->second.is = state::there;
  }
  /// A body will not become whole, or its message is dropped. False: the memory was not posted here.
  bool lost(const void* body) {
    const std::lock_guard guard(lock_);
    for (auto found = entries_.begin(); found != entries_.end(); ++found) {
      if (found->second.to != body || found->second.is == state::posted) continue;
      if (found->second.is == state::unwanted)
        entries_.erase(found);
      else
        found->second.is = state::posted;
      return true;
    }
    return false;
  }
  /// The memory is wanted back. False: the wire writes there just now; to be called again.
  bool withdraw(std::uint64_t key) {
    const std::lock_guard guard(lock_);
    const auto found = entries_.find(key);
    if (found == entries_.end() || found->second.is == state::unwanted) return true;
    if (found->second.is == state::filling) return false;
    if (found->second.is == state::there)
      found->second.is = state::unwanted;
    else
      entries_.erase(found);
    return true;
  }
  /// Its message runs, or is dropped. False: the body lies in a block that is the message's.
  bool take(std::uint64_t key, const void* body) {
    const std::lock_guard guard(lock_);
    const auto found = entries_.find(key);
    if (found == entries_.end() || found->second.to != body) return false;
    entries_.erase(found);
    return true;
  }

 private:
  enum class state : std::uint8_t { posted, filling, there, unwanted };
  struct entry {
    void* to = nullptr;
    std::uint64_t bytes = 0;
    state is = state::posted;
  };
  std::mutex lock_;
  std::unordered_map<std::uint64_t, entry> entries_;
};

}  // namespace tri::sched
