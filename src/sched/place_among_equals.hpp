// The order of messages of one level of priority, the same in every queue that keeps messages with a priority.
#pragma once

#include <cstdint>

#include "trireme/detail/sched/priority.hpp"

namespace tri::sched {

/// Where a message comes among those of the same level, when it is the `arrival`-th of its queue: those that are last
/// in, first out come before the others, and the newest of them first.
constexpr std::uint64_t place_among_equals(const priority& urgency, std::uint64_t arrival) {
  constexpr std::uint64_t middle = std::uint64_t{1} << 63;  // newest first below, oldest first from here on
  return urgency.is_last_in_first_out() ? middle - 1 - arrival : middle + arrival;
}

}  // namespace tri::sched
