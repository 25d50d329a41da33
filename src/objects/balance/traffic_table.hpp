// Who sent how much to whom: a hash table of pairs of elements, one line of memory for each. A table of many pairs does
// not fit the cache, so a message is not added at once: its line is fetched, and the message waits in a short queue
// until later ones push it out. Then nothing waits for memory. One thread.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "objects/balance/load_part.hpp"

namespace tri::objects {

class traffic_table {
 public:
  void count(const element_name& from, const element_name& to, std::uint64_t bytes) {
    waiting& oldest = queue_[next_];
    if (oldest.is_used) add(oldest);
    const std::uint64_t hash = finalize_hash(hash_of(from) * 0x9e3779b97f4a7c15u + hash_of(to));
    oldest = {from, to, hash, bytes, true};
    if (!pairs_.empty()) __builtin_prefetch(&pairs_[hash & (pairs_.size() - 1)], 1);
    next_ = (next_ + 1) % queue_.size();
  }
  /// Appends all pairs, in no particular order.
  void append_to(std::vector<load_part::pair>& all) {
    add_waiting();
    all.reserve(all.size() + used_);
    for (const load_part::pair& each : pairs_)
      if (each.messages != 0) all.push_back(each);
  }
  /// The memory is kept for as many pairs, unless there were few.
  void clear() {
    queue_ = {};
    const bool had_few = used_ * 16 < pairs_.size();
    if (had_few)
      pairs_ = std::vector<load_part::pair>(used_ == 0 ? 0 : std::bit_ceil(2 * used_ + smallest));
    else
      std::fill(pairs_.begin(), pairs_.end(), load_part::pair{});
    used_ = 0;
  }

 private:
  struct waiting {
    element_name from, to;
    std::uint64_t hash;
    std::uint64_t bytes;
    bool is_used;
  };
  static constexpr std::size_t smallest = 64;

  void add_waiting() {
    for (waiting& each : queue_)
      if (each.is_used) {
        add(each);
        each.is_used = false;
      }
  }
  // Invariant: at least half of the table is free, so a search ends.
  void add(const waiting& one) {
    if (2 * (used_ + 1) > pairs_.size()) grow();
    load_part::pair& found = place_of(one.from, one.to, one.hash);
    if (found.messages == 0) {
      found.from = one.from;
      found.to = one.to;
      ++used_;
    }
    ++found.messages;
    found.bytes += static_cast<std::int64_t>(one.bytes);
  }
  load_part::pair& place_of(const element_name& from, const element_name& to, std::uint64_t hash) {
    const std::size_t mask = pairs_.size() - 1;
    for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
      load_part::pair& one = pairs_[at];
      if (one.messages == 0 || (one.to == to && one.from == from)) return one;
    }
  }
  void grow() {
    std::vector<load_part::pair> before(std::max(smallest, 2 * pairs_.size()));
    before.swap(pairs_);
    for (const load_part::pair& each : before)
      if (each.messages != 0)
        place_of(each.from, each.to, finalize_hash(hash_of(each.from) * 0x9e3779b97f4a7c15u + hash_of(each.to))) = each;
  }

  std::vector<load_part::pair> pairs_;  // a power of two; free ones have no messages
  std::size_t used_ = 0;
  std::array<waiting, 8> queue_ = {};
  std::size_t next_ = 0;
};

}  // namespace tri::objects
