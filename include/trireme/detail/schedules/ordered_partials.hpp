// What the participants of a reduction have combined so far, each part with the section of the range that it stands
// for: so that at the end all of it is combined in the order of the range, and the operation need not be commutative.
// A participant that goes on where it stopped keeps one part. One that has many (chunks dealt out in turn) puts them
// together with those that others put there before: what is in order becomes one part, so that memory follows the
// number of gaps, not of chunks. Owned by the caller of the loop; each participant adds at its own slot, one call at a
// time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)

namespace tri::loops {

template <class T>
class ordered_partials {
 public:
  explicit ordered_partials(std::size_t participants) : slots_(participants) {}

  /// Of [first, last), which nobody adds twice: `value`. combine(T, T) -> T is called by this thread, without a lock.
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

  /// All of it behind `initial`, in order. When nobody adds any more.
  template <class Combine>
  T combined(T initial, Combine& combine) {
    for (slot& each : slots_) move_behind(together_, each.parts);
    sort(together_);
    for (part& each : together_) initial = combine(std::move(initial), std::move(each.value));
    together_.clear();
    return initial;
  }

  /// How many parts are kept. For tests; when nobody adds.
  std::size_t parts() const {
    std::size_t sum = together_.size();
    for (const slot& each : slots_) sum += each.parts.size();
    return sum;
  }

  /// A participant keeps at least so many for itself.
  static constexpr std::size_t fewest_parts = 256;

 private:
  struct part {
    std::uint64_t first;
    std::uint64_t last;
    T value;
  };
  struct alignas(64) slot {
    std::vector<part> parts;
    std::size_t limit = fewest_parts;  // grows with what could not be joined: each part is looked at a few times only
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

  // Takes away what others put together, adds `parts` and puts it back; again, if somebody has come meanwhile. User
  // code runs outside of the lock: it may run loops of its own. Returns how many parts are left.
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

}  // namespace tri::loops

#pragma GCC visibility pop
