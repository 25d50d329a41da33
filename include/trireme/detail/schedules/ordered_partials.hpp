// The partial results of a reduction's participants, each with its section of the range: at the end all are combined in
// the order of the range, so the operation need not be commutative. A participant that continues where it stopped keeps
// one part. One with many parts (round-robin chunks) merges them with those of the others: adjacent parts become one,
// so that memory grows with the number of gaps, not of chunks. Owned by the caller of the loop; each participant adds
// at its own slot, one call at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)

namespace tri::schedules {

template <class T>
class ordered_partials {
 public:
  explicit ordered_partials(std::size_t participants) : slots_(participants) {}

  /// Adds the `value` of [first, last), which must be added only once. combine(T, T) -> T is called by this thread,
  /// without a lock.
  template <class Combine>
  void add(int participant, std::uint64_t first, std::uint64_t last, T value, Combine& combine) {
    slot& own = slots_[static_cast<std::size_t>(participant)];
    if (!own.parts.empty() && own.parts.back().last == first) {
      own.parts.back().value = combine(std::move(own.parts.back().value), std::move(value));
      own.parts.back().last = last;
      return;
    }
    own.parts.push_back({first, last, std::move(value)});
    if (own.parts.size() >= own.limit) own.limit = std::max(fewest_parts, put_together(own.parts, combine));
  }

  /// Combines `initial` with all parts, in order. Call after the last add.
  template <class Combine>
  T combined(T initial, Combine& combine) {
    for (slot& each : slots_) move_behind(together_, each.parts);
    sort(together_);
    for (part& each : together_) initial = combine(std::move(initial), std::move(each.value));
    together_.clear();
    return initial;
  }

  /// The number of parts. For tests; not concurrently with add.
  std::size_t parts() const {
    std::size_t sum = together_.size();
    for (const slot& each : slots_) sum += each.parts.size();
    return sum;
  }

  /// A participant keeps at least this many for itself.
  static constexpr std::size_t fewest_parts = 256;

 private:
  struct part {
    std::uint64_t first;
    std::uint64_t last;
    T value;
  };
  struct alignas(64) slot {
    std::vector<part> parts;
    std::size_t limit = fewest_parts;  // grows with unjoined parts: each part is visited only a few times
  };

  static void sort(std::vector<part>& parts) {
    std::sort(parts.begin(), parts.end(), [](const part& a, const part& b) { return a.first < b.first; });
  }
  static void move_behind(std::vector<part>& all, std::vector<part>& more) {
    all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    more.clear();
  }

  template <class Combine>
  static void join_neighbours(std::vector<part>& parts, Combine& combine) {
    std::size_t kept = 0;
    for (std::size_t next = 1; next < parts.size(); ++next) {
      if (parts[kept].last == parts[next].first) {
        parts[kept].value = combine(std::move(parts[kept].value), std::move(parts[next].value));
        parts[kept].last = parts[next].last;
      } else if (++kept != next) {
        parts[kept] = std::move(parts[next]);
      }
    }
    if (!parts.empty()) parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(kept) + 1, parts.end());
  }

  // Takes the merged parts, adds `parts` and puts them back; repeats if another participant has come meanwhile. User
  // code runs outside of the lock: it may run loops of its own. Returns the number of parts left.
  template <class Combine>
  std::size_t put_together(std::vector<part>& parts, Combine& combine) {
    std::vector<part> mine;
    mine.swap(parts);
    while (true) {
      std::vector<part> others;
      {
        const std::lock_guard lock(mutex_);
        others.swap(together_);
      }
      move_behind(mine, others);
      sort(mine);
      join_neighbours(mine, combine);
      const std::size_t left = mine.size();
      const std::lock_guard lock(mutex_);
      if (together_.empty()) {
        together_.swap(mine);
        return left;
      }
    }
  }

  std::vector<slot> slots_;
  std::mutex mutex_;
  std::vector<part> together_;
};

}  // namespace tri::schedules

#pragma GCC visibility pop
