// The contributions of a subtree of hosts (contribution_tree.hpp) to reductions whose root is on another host. One PE
// of each host combines the parts of its PEs and of the hosts below, so that one message of the host crosses for each
// contribution (Mei 2012, M57). States and events only: the caller sends. `Sum` is the sum of parts.
//
// Each participant reports its level: it has sent its parts of all contributions below it, and may still send some of
// those from the level on. A level that rises without a part is reported separately; so a sum never waits for a part
// that does not come. Elements move: a level may fall, and a part may arrive after the sum of its number was sent. Such
// a part is sent separately, and nothing is lost, because the root counts elements. Therefore a level that falls is
// reported to the parent with the next sum only, unless there were no elements before: few of those that move cost a
// message between hosts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "trireme/detail/objects/reported_watermark.hpp"

namespace tri::objects {

template <class Sum>
class host_contributions {
 public:
  /// Levels before anything was contributed, by participant.
  explicit host_contributions(std::vector<std::uint64_t> levels)
      : levels_(std::move(levels)), numbers_(levels_.size(), 0), lowest_(find_lowest()), told_{lowest_, 0} {}

  /// The sum to which a part is added; call `heard` afterwards with the level of its sender.
  Sum& sum(std::uint64_t number) { return sums_[number]; }
  void heard(std::size_t participant, const reported_watermark& told) {
    if (told.number <= numbers_[participant]) return;  // something newer passed it
    numbers_[participant] = told.number;
    const std::uint64_t level = told.level;
    const std::uint64_t before = std::exchange(levels_[participant], level);
    if (level < lowest_)
      lowest_ = level;
    else if (before == lowest_)
      lowest_ = find_lowest();
  }
  /// Calls `send(number, sum, told)` for all that nobody will add to; `told` is this subtree's level, for the parent.
  template <class Send>
  void take_complete(Send&& send) {
    while (!sums_.empty() && sums_.begin()->first < lowest_) {
      auto first = sums_.extract(sums_.begin());
      const std::uint64_t level = sums_.empty() ? lowest_ : std::min(lowest_, sums_.begin()->first);
      send(first.key(), first.mapped(), tell(level));
    }
  }
  /// Afterwards: what the parent is told without a sum, because it may wait for one, or should begin to.
  std::optional<reported_watermark> take_report() {
    const bool is_first = told_.level == no_level;
    if (lowest_ == told_.level || (lowest_ < told_.level && !is_first)) return {};
    return tell(lowest_);
  }
  /// Calls `visit(number, sum, participant)` for waiting sums: the first participant that has not reached that level.
  template <class Visit>
  void visit_waiting(Visit&& visit) const {
    for (const auto& [number, sum] : sums_) {
      std::size_t behind = 0;
      while (behind < levels_.size() && levels_[behind] > number) ++behind;
      visit(number, sum, behind);
    }
  }
  const std::vector<std::uint64_t>& levels() const { return levels_; }

  const reported_watermark& told() const { return told_; }

 private:
  reported_watermark tell(std::uint64_t level) { return told_ = {level, told_.number + 1}; }
  std::uint64_t find_lowest() const {
    std::uint64_t lowest = levels_.front();
    for (const std::uint64_t level : levels_)
      if (level < lowest) lowest = level;
    return lowest;
  }
  std::vector<std::uint64_t> levels_;
  std::vector<std::uint64_t> numbers_;  // of what each participant said last
  std::uint64_t lowest_;
  reported_watermark told_;  // to the parent
  std::map<std::uint64_t, Sum> sums_;
};

}  // namespace tri::objects
