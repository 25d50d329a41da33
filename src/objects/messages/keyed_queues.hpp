// Queues by key in one container: an element's messages for its coroutines, and the coroutines that wait for them. The
// first entry of a key is found without visiting others; entries of one key are in FIFO order, and so is the container
// as a whole. Used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <utility>

#include "trireme/detail/objects/message_waiter.hpp"

namespace tri::objects {

template <class T>
class keyed_queues {
 public:
  struct entry;
  using list = std::list<entry>;
  using position = typename list::iterator;
  struct entry {
    message_key key;
    T value;
    position before{}, behind{};  // of the same key; meaningless for its first and its last
    position self{};
  };

  keyed_queues() : queues_(0, hash{}, counted_equality{&comparisons_}) {}
  keyed_queues(const keyed_queues&) = delete;
  keyed_queues& operator=(const keyed_queues&) = delete;

  /// As the last of its key. The position is valid until it is taken.
  position push(const message_key& key, T value) {
    const position added = all_.insert(all_.end(), {key, std::move(value)});
    added->self = added;
    const auto [found, is_new] = queues_.try_emplace(key, queue{added, added});
    if (!is_new) {
      added->before = found->second.last;
      found->second.last->behind = added;
      found->second.last = added;
    }
    return added;
  }
  /// The first of its key; null: there is none.
  T* first(const message_key& key) {
    const auto found = find(key);
    return found == queues_.end() ? nullptr : &found->second.first->value;
  }
  /// The first of its key for which `wanted(value)` holds; visits those before it. end(): there is none.
  template <class Wanted>
  position find_if(const message_key& key, Wanted&& wanted) {
    const auto found = find(key);
    if (found == queues_.end()) return all_.end();
    for (position at = found->second.first;; at = at->behind) {
      if (wanted(at->value)) return at;
      if (at == found->second.last) return all_.end();
    }
  }
  /// Of all keys of this method.
  template <class Wanted>
  position find_if_of_method(std::uint32_t method, Wanted&& wanted) {
    position at = all_.begin();
    while (at != all_.end() && !(at->key.method == method && wanted(at->value))) ++at;
    return at;
  }
  position end() { return all_.end(); }
  /// Removes the first of its key, which must exist, and returns it.
  T pop(const message_key& key) {
    const auto found = find(key);
    return remove(found, found->second.first);
  }
  T take(position which) { return remove(find(which->key), which); }
  /// All in the order in which they came; none is left.
  list take_all() {
    queues_.clear();
    return std::exchange(all_, {});
  }

  std::size_t size() const { return all_.size(); }
  const list& in_order() const { return all_; }
  /// How often two keys were compared so far; for tests.
  std::uint64_t comparisons() const { return comparisons_; }

 private:
  struct queue {
    position first, last;
  };
  // Reference numbers are steps and the like, so neighbours should not share a bucket: an odd multiplier spreads them.
  struct hash {
    std::size_t operator()(const message_key& key) const noexcept {
      const std::uint64_t mixed = (key.reference + (std::uint64_t{key.method} << 40)) * 0x9e3779b97f4a7c15u;
      return static_cast<std::size_t>(mixed ^ (mixed >> 32));
    }
  };
  struct counted_equality {
    std::uint64_t* count;
    bool operator()(const message_key& a, const message_key& b) const {
      ++*count;
      return a == b;
    }
  };
  using map = std::unordered_map<message_key, queue, hash, counted_equality>;

  typename map::iterator find(const message_key& key) { return queues_.empty() ? queues_.end() : queues_.find(key); }
  T remove(typename map::iterator found, position which) {
    queue& of_key = found->second;
    if (of_key.first == which && of_key.last == which)
      queues_.erase(found);
    else if (of_key.first == which)
      of_key.first = which->behind;
    else if (of_key.last == which)
      of_key.last = which->before;
    else
      (which->before->behind = which->behind)->before = which->before;
    T value = std::move(which->value);
    all_.erase(which);
    return value;
  }

  list all_;  // in the order in which they came
  std::uint64_t comparisons_ = 0;
  map queues_;
};

}  // namespace tri::objects
