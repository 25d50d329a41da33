#include "objects/location/number_set.hpp"

#include <algorithm>
#include <iterator>

namespace tri::objects {

bool number_set::contains(std::uint64_t number) const {
  const auto after = last_of_.upper_bound(number);
  return after != last_of_.begin() && number <= std::prev(after)->second;
}

void number_set::insert(std::uint64_t first, std::uint64_t last) {
  auto next = last_of_.upper_bound(first);
  // A range lies before, or behind, where first - 1 or last + 1 may be equal to an end: neither has wrapped then.
  if (next != last_of_.begin() && (std::prev(next)->second >= first || std::prev(next)->second == first - 1)) {
    --next;
    first = next->first;
  }
  while (next != last_of_.end() && (next->first <= last || next->first == last + 1)) {
    last = std::max(last, next->second);
    next = last_of_.erase(next);
  }
  last_of_[first] = last;
}

void number_set::erase(std::uint64_t number) {
  if (!contains(number)) return;
  const auto range = std::prev(last_of_.upper_bound(number));
  const auto [first, last] = *range;
  last_of_.erase(range);
  if (first < number) last_of_[first] = number - 1;
  if (number < last) last_of_[number + 1] = last;
}

}  // namespace tri::objects
