// When a named set of messages is complete (completion.hpp): what two waves of counts, added up over all PEs, say.
// Without state and I/O.
#pragma once

#include <cstdint>

namespace tri::objects {

/// Of one PE, or added up.
struct completion_counts {
  std::uint64_t produced = 0;
  std::uint64_t consumed = 0;
  std::uint64_t done = 0;  // producers
};

enum class completion_verdict : std::uint8_t { goes_on, complete, overdrawn };

/// All of the first wave were read before any of the second. A consumption is counted after what it has produced, and a
/// producer is done after that, too. So if as many were consumed in the first as are produced in the second, none was
/// left when the second began, and none can come.
///
/// Inside one wave more may seem consumed than produced: a PE that was asked late has consumed what another one has
/// produced since it was asked. Not of what the wave before found: then the program counts wrongly.
constexpr completion_verdict judge_waves(const completion_counts& first, const completion_counts& second,
                                         std::uint64_t producers) {
  if (first.done > producers || first.consumed > second.produced) return completion_verdict::overdrawn;
  const bool is_complete = first.done == producers && first.consumed == second.produced;
  return is_complete ? completion_verdict::complete : completion_verdict::goes_on;
}

}  // namespace tri::objects
