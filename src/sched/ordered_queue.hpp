// Messages with a priority that wait on their PE: a binary heap, equal priorities in order of arrival; before these
// the ones that are last in, first out, the newest first.
// Used by one thread only. Owns the envelopes' arena blocks while they wait.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/detail/sched/envelope.hpp"

namespace tri::sched {

class ordered_queue {
 public:
  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  /// Whether the first message comes before those without a priority. Requires !empty().
  bool comes_first() const { return heap_.front().urgency < priority(0); }

  /// Its own priority counts, or that which a queue policy gives it.
  void push(envelope* message) { push(message, message->block().urgency); }
  void push(envelope* message, const priority& urgency);
  envelope* pop();

 private:
  struct waiting {
    priority urgency;     // level alone
    std::uint64_t place;  // place_among_equals
    envelope* message;
  };
  static bool later(const waiting& a, const waiting& b) {
    return a.urgency != b.urgency ? a.urgency > b.urgency : a.place > b.place;
  }
  std::vector<waiting> heap_;
  std::uint64_t arrivals_ = 0;
};

}  // namespace tri::sched
