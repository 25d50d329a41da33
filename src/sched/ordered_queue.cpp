#include "sched/ordered_queue.hpp"

#include <algorithm>

#include "sched/place_among_equals.hpp"

namespace tri::sched {

void ordered_queue::push(envelope* message, const priority& urgency) {
  heap_.push_back({urgency.level(), place_among_equals(urgency, arrivals_++), message});
  std::push_heap(heap_.begin(), heap_.end(), later);
}

envelope* ordered_queue::pop() {
  std::pop_heap(heap_.begin(), heap_.end(), later);
  envelope* const first = heap_.back().message;
  heap_.pop_back();
  return first;
}

}  // namespace tri::sched
