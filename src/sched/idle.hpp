// What a PE without work does next: spin, yield, then sleep on its doorbell; at once when there are more PEs than
// cores. A small state machine without I/O: the PE asks after each fruitless step and does what it is told.
#pragma once

#include <cstdint>

#include "config/configuration.hpp"

namespace tri::sched {

enum class idle_step : std::uint8_t { spin, yield, sleep };

class idle_policy {
 public:
  idle_policy(host::idle_policy choice, bool oversubscribed, std::uint64_t spin_ticks)
      : choice_(choice), oversubscribed_(oversubscribed), spin_ticks_(spin_ticks) {}

  /// The PE did something.
  void busy() { fruitless_steps_ = 0; }

  /// The PE found nothing to do at time `now` (ticks).
  idle_step next(std::uint64_t now) {
    if (fruitless_steps_++ == 0) idle_since_ = now;
    switch (choice_) {
      case host::idle_policy::spin:
        return idle_step::spin;
      case host::idle_policy::yield:
        return fruitless_steps_ % 16 == 0 ? idle_step::yield : idle_step::spin;
      case host::idle_policy::sleep:
        return fruitless_steps_ > 2 ? idle_step::sleep : idle_step::spin;
      case host::idle_policy::automatic:
        break;
    }
    // Oversubscribed: the PE that is to send us work may be waiting for our core. A few polls cost less than a system
    // call and catch what is just arriving; then the core is given away for good until the doorbell rings.
    if (oversubscribed_) return fruitless_steps_ > steps_when_oversubscribed ? idle_step::sleep : idle_step::spin;
    if (now - idle_since_ < spin_ticks_) return idle_step::spin;
    return fruitless_steps_ % 2 == 0 || now - idle_since_ < spin_ticks_ + spin_ticks_ / 4 ? idle_step::yield
                                                                                          : idle_step::sleep;
  }

 private:
  static constexpr std::uint32_t steps_when_oversubscribed = 4;
  host::idle_policy choice_;
  bool oversubscribed_;
  std::uint64_t spin_ticks_;
  std::uint32_t fruitless_steps_ = 0;
  std::uint64_t idle_since_ = 0;
};

}  // namespace tri::sched
