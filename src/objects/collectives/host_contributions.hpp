// The contributions of one host's PEs to reductions whose root is on another host. One PE of the host combines their
// parts, so that one message of the host crosses for each contribution (Mei 2012, M57). States and events only: the
// caller sends. `Sum` is the sum of parts.
//
// Each PE reports its level: it has sent its parts of all contributions below it, and may still send some of those from
// the level on. A level that rises without a part is reported separately; so a sum never waits for a part that does not
// come. Elements move: a level may fall, and a part may arrive after the sum of its number was sent. Such a part is
// sent separately, and nothing is lost, because the root counts elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "trireme/detail/objects/reported_watermark.hpp"

namespace tri::objects {

template <class Sum>
class host_contributions {
 public:
  /// Levels before anything was contributed, by PE of the host.
  explicit host_contributions(std::vector<std::uint64_t> levels)
      : levels_(std::move(levels)), numbers_(levels_.size(), 0), lowest_(find_lowest()) {}

  /// The sum to which a part is added; call `heard` afterwards with the level of its PE.
  Sum& sum(std::uint64_t number) { return sums_[number]; }
  void heard(std::size_t pe, const reported_watermark& told) {
    if (told.number <= numbers_[pe]) return;  // something newer passed it
    numbers_[pe] = told.number;
    const std::uint64_t level = told.level;
    const std::uint64_t before = std::exchange(levels_[pe], level);
    if (level < lowest_)
      lowest_ = level;
    else if (before == lowest_)
      lowest_ = find_lowest();
  }
  /// Calls `send(number, sum)` for all that no PE will add to.
  template <class Send>
  void take_complete(Send&& send) {
    while (!sums_.empty() && sums_.begin()->first < lowest_) {
      auto first = sums_.extract(sums_.begin());
      send(first.key(), first.mapped());
    }
  }
  /// Calls `visit(number, sum, pe)` for waiting sums; `pe` is the first PE that has not reached that level.
  template <class Visit>
  void visit_waiting(Visit&& visit) const {
    for (const auto& [number, sum] : sums_) {
      std::size_t behind = 0;
      while (behind < levels_.size() && levels_[behind] > number) ++behind;
      visit(number, sum, behind);
    }
  }
  const std::vector<std::uint64_t>& levels() const { return levels_; }

 private:
  std::uint64_t find_lowest() const {
    std::uint64_t lowest = levels_.front();
    for (const std::uint64_t level : levels_)
      if (level < lowest) lowest = level;
    return lowest;
  }
  std::vector<std::uint64_t> levels_;
  std::vector<std::uint64_t> numbers_;  // of what each PE said last
  std::uint64_t lowest_;
  std::map<std::uint64_t, Sum> sums_;
};

}  // namespace tri::objects
