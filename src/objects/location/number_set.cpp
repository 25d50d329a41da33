#include "objects/location/number_set.hpp"

#include <iterator>

namespace tri::objects {

bool number_set::contains(std::uint64_t number) const {
  const auto after = last_of_.upper_bound(number);
  return after != last_of_.begin() && number <= std::prev(after)->second;
}

void number_set::insert(std::uint64_t number) {
  if (contains(number)) return;
  std::uint64_t first = number, last = number;
  auto after = last_of_.upper_bound(number);
  // number + 1 and number - 1 do not wrap where there is a neighbour on that side
  if (after != last_of_.end() && after->first == number + 1) {
    last = after->second;
    after = last_of_.erase(after);
  }
  if (after != last_of_.begin() && std::prev(after)->second == number - 1) {
    first = std::prev(after)->first;
    last_of_.erase(std::prev(after));
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
