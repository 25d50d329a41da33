// What a PE, or a thread of a loop team, without work does: the option `idle` as limits of arena::wait_policy.
#pragma once

#include <cstdint>
#include <limits>

#include "arena/wait_policy.hpp"
#include "config/option_kinds.hpp"

namespace tri::sched {

/// `oversubscribed`: more threads than cores. `spin_ticks`: how long `automatic` polls before it yields.
inline arena::wait_policy::limits idle_limits(config::idle_policy choice, bool oversubscribed,
                                              std::uint64_t spin_ticks) {
  constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();
  switch (choice) {
    case config::idle_policy::spin:
      return {.polls = arena::wait_policy::for_ever};
    case config::idle_policy::yield:
      return {.polls = 16, .polls_between = 16, .yield_ticks = never};
    case config::idle_policy::sleep:
      return {.polls = 3, .polls_between = 1};
    case config::idle_policy::automatic:
      break;
  }
  // Oversubscribed: the PE that is to send us work may be waiting for our core. A few polls cost less than a system
  // call and catch what is just arriving; then the core is given away for good until the doorbell rings.
  if (oversubscribed) return {.polls = 5, .polls_between = 1};
  return {.polls = 1, .poll_ticks = spin_ticks, .polls_between = 1, .yield_ticks = spin_ticks / 4};
}

}  // namespace tri::sched
