// For models that visit their possible steps one after the other: what the explorer asks of them (explorer.hpp).
// `for_each_step(visit)` calls visit(step) for each, always in the same order for the same state.
#pragma once

#include <optional>
#include <stdexcept>

namespace tri::explore {

template <class ForEachStep>
int count_listed(ForEachStep&& for_each_step) {
  int count = 0;
  for_each_step([&](const auto&) { ++count; });
  return count;
}

template <class Step, class ForEachStep>
Step listed(ForEachStep&& for_each_step, int wanted) {
  std::optional<Step> found;
  int count = 0;
  for_each_step([&](const Step& each) {
    if (count++ == wanted) found = each;
  });
  if (!found) throw std::logic_error("there is no such step");
  return *found;
}

}  // namespace tri::explore
