#include "schedules/chunk_statistics.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace tri::schedules {
namespace {

// The owner of an iteration's range: a participant, or no_owner for the shared pool.
class owners_in {
 public:
  explicit owners_in(const loop_layout& layout) : layout_(layout) {
    claim_of_.resize(layout.order.size());
    for (std::uint32_t claim = 0; claim < layout.order.size(); ++claim) claim_of_[layout.order[claim]] = claim;
  }
  std::uint32_t owner_of(std::uint64_t item) const {
    const std::uint32_t chunk =
        layout_.bounds.empty()
            ? static_cast<std::uint32_t>(item / layout_.chunk)
            : static_cast<std::uint32_t>(std::upper_bound(layout_.bounds.begin(), layout_.bounds.end(), item) -
                                         layout_.bounds.begin() - 1);
    if (layout_.dealt != 0) return chunk % layout_.dealt;
    const std::uint32_t claim = claim_of_.empty() ? chunk : claim_of_[chunk];
    for (std::uint32_t number = 0; number < layout_.ranges.size(); ++number)
      if (claim >= layout_.ranges[number].first && claim < layout_.ranges[number].last) return number;
    return no_owner;
  }

 private:
  const loop_layout& layout_;
  std::vector<std::uint32_t> claim_of_;  // by chunk; empty: the same number
};

}  // namespace

void chunk_statistics::add(const loop_times& times, const loop_layout* layout) {
  const auto count = static_cast<std::uint32_t>(times.participants().size());
  if (sums_.size() < count) sums_.resize(count);
  std::vector<owned> now;
  const auto distance = [count](std::uint32_t a, std::uint32_t b) {
    const std::uint32_t straight = a < b ? b - a : a - b;
    return std::min(straight, count - straight);
  };
  std::optional<owners_in> owners;
  if (layout != nullptr) owners.emplace(*layout);
  for (std::uint32_t number = 0; number < count; ++number) {
    participant_chunks& sum = sums_[number];
    const loop_times::participant_times& own = times.participants()[number];
    sum.busy += static_cast<double>(own.busy);
    const loop_times::chunk* before = nullptr;
    for (const loop_times::chunk& each : own.chunks) {
      const std::uint64_t length = each.last - each.first;
      const std::uint32_t owner = owners.has_value() ? owners->owner_of(each.first) : number;
      ++sum.chunks;
      sum.iterations += length;
      if (owner != number) {
        sum.dynamic_iterations += length;
        if (before != nullptr && (before->last == each.first || before->first == each.last)) sum.in_sequence += length;
        if (owner == no_owner) {
          ++sum.from_pool;
        } else {
          ++sum.stolen;
          sum.steal_distance += distance(number, owner);
        }
      }
      before = &each;
      now.push_back({each.first, each.last, number});
    }
  }
  std::sort(now.begin(), now.end(), [](const owned& a, const owned& b) { return a.first < b.first; });
  if (items_before_ == times.items()) {
    ++compared_;
    // Both lists go through the iterations once.
    for (std::size_t old = 0, fresh = 0; old < before_.size() && fresh < now.size();) {
      const std::uint64_t first = std::max(before_[old].first, now[fresh].first);
      const std::uint64_t last = std::min(before_[old].last, now[fresh].last);
      if (first < last && before_[old].participant != now[fresh].participant)
        sums_[now[fresh].participant].moved += last - first;
      if (before_[old].last < now[fresh].last)
        ++old;
      else
        ++fresh;
    }
  }
  items_before_ = times.items();
  before_ = std::move(now);
}

}  // namespace tri::schedules
