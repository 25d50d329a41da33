// Messages with a priority that wait on their PE: a binary heap, equal priorities in order of arrival.
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

  void push(envelope* message);
  envelope* pop();

 private:
  struct waiting {
    priority urgency;
    std::uint64_t arrival;
    envelope* message;
  };
  static bool later(const waiting& a, const waiting& b) {
    return a.urgency != b.urgency ? a.urgency > b.urgency : a.arrival > b.arrival;
  }
  std::vector<waiting> heap_;
  std::uint64_t arrivals_ = 0;
};

}  // namespace tri::sched
