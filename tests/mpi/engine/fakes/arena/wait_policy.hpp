// In place of the policy: a rank that finds nothing sleeps. That is where a lost ring shows.
#pragma once

#include <cstdint>

namespace tri::arena {

enum class wait_step : std::uint8_t { poll, yield, sleep };

class wait_policy {
 public:
  struct limits {
    std::uint32_t polls = 0;
    std::uint64_t poll_ticks = 0;
    std::uint32_t polls_between = 0;
    std::uint64_t yield_ticks = 0;
    std::uint32_t least_yields = 0;
    std::uint32_t most_vain_yields = 0;
  };
  explicit wait_policy(const limits&) {}
  void busy() {}
  void was_vain() {}
  void was_expensive() {}
  wait_step next(std::uint64_t) { return wait_step::sleep; }
};

}  // namespace tri::arena
