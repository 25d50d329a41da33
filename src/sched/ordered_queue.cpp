#include "sched/ordered_queue.hpp"

#include <algorithm>

namespace tri::sched {

void ordered_queue::push(envelope* message, const priority& urgency) {
  const std::uint64_t arrival = arrivals_++;
  heap_.push_back({urgency.level(), urgency.is_last_in_first_out() ? middle - 1 - arrival : middle + arrival, message});
  std::push_heap(heap_.begin(), heap_.end(), later);
}

envelope* ordered_queue::pop() {
  std::pop_heap(heap_.begin(), heap_.end(), later);
  envelope* const first = heap_.back().message;
  heap_.pop_back();
  return first;
}

}  // namespace tri::sched
