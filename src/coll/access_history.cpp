#include "coll/access_history.hpp"

#include <algorithm>
#include <utility>

namespace tri::coll {

std::pair<access_history::writes_iterator, access_history::writes_iterator> access_history::written(std::uint64_t begin,
                                                                                                    std::uint64_t end) {
  const auto first = std::ranges::partition_point(writes_, [&](const record& each) { return each.end <= begin; });
  auto last = first;
  while (last != writes_.end() && last->begin < end) ++last;
  return {first, last};
}

std::optional<access_history::conflict> access_history::read(std::uint64_t begin, std::uint64_t end, std::uint32_t step,
                                                             const bit_rows& before) {
  const auto [first, last] = written(begin, end);
  for (auto each = first; each != last; ++each)
    if (each->step != step && !before.has(step, each->step)) return conflict{each->step, true};
  reads_.push_back({begin, end, step});
  return std::nullopt;
}

std::optional<access_history::conflict> access_history::write(std::uint64_t begin, std::uint64_t end,
                                                              std::uint32_t step, const bit_rows& before) {
  const auto [first, last] = written(begin, end);
  for (auto each = first; each != last; ++each)
    if (each->step != step && !before.has(step, each->step)) return conflict{each->step, true};
  std::optional<conflict> found;
  std::erase_if(reads_, [&](const record& each) {
    if (each.end <= begin || each.begin >= end) return false;
    if (each.step != step && !before.has(step, each.step)) found = conflict{each.step, false};
    return each.begin >= begin && each.end <= end;
  });
  if (found) return found;
  std::vector<record> fresh;
  if (first != last && first->begin < begin) fresh.push_back({first->begin, begin, first->step});
  fresh.push_back({begin, end, step});
  if (first != last && (last - 1)->end > end) fresh.push_back({end, (last - 1)->end, (last - 1)->step});
  const auto from = writes_.erase(first, last);
  writes_.insert(from, fresh.begin(), fresh.end());
  return std::nullopt;
}

}  // namespace tri::coll
