// What a waiting thread does when a poll has found nothing: poll again, yield the core, or sleep until it is woken. The
// policy of PEs, of the threads of a loop team and of MPI ranks; they differ in their limits. A state machine without
// I/O and without a clock of its own.
//
// Where every thread has a core, polling is cheapest and a yield costs nothing as long as no other thread wants the
// core. With more threads than cores the message may be in the hands of a thread that waits for this core, so the core
// goes at once (MPI libraries that only poll lose a scheduler's slice per message). A yield is the cheapest way while
// the others wait as well, and no loss while they compute. But other jobs keep the core for a slice each time, while
// the scheduler puts a woken sleeper in their place. And a yield may be in vain: where each process is a scheduling
// group of its own, the core comes back at once, again and again. So after an expensive yield, or many vain ones, the
// next waits sleep at once, twice as many each time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace tri::arena {

enum class wait_step : std::uint8_t { poll, yield, sleep };

class wait_policy {
 public:
  static constexpr std::uint32_t for_ever = std::numeric_limits<std::uint32_t>::max();

  struct limits {
    std::uint32_t polls = 1000;        // before the first yield; for_ever: it only polls
    std::uint64_t poll_ticks = 0;      // and this long
    std::uint32_t polls_between = 16;  // from one yield to the next
    std::uint64_t yield_ticks = 0;     // from the first yield until it sleeps
    std::uint32_t least_yields = 0;    // and at least this many yields
    // It sleeps after this many yields that gave the core to no other thread; 0: any number.
    std::uint32_t most_vain_yields = 0;
  };
  static constexpr std::uint32_t fewest_waits_asleep = 16;  // after an expensive yield
  static constexpr std::uint32_t most_waits_asleep = 4096;
  static constexpr std::uint32_t cheap_waits_to_forget = 64;  // half of it, if no expensive yield came between

  explicit wait_policy(const limits& chosen) : limits_(chosen) {}

  /// A poll has found something, or a wait begins: what was found at once counts as a wait, too.
  void busy() {
    if (polls_ != 0 || waits_asleep_ != 0) end_wait();
  }
  /// The last yield was in vain: the core came back at once.
  void was_vain() { ++vain_yields_; }
  /// The last yield gave the core to another job for long.
  void was_expensive() { prefer_sleep(); }

  /// Nothing was found at `now`, in ticks.
  wait_step next(std::uint64_t now) {
    if (limits_.polls == for_ever) return wait_step::poll;
    if (polls_ == 0) {
      began_ = now;
      vain_yields_ = 0;  // another thread may have ended a wait in the middle of a yield
    }
    if (++polls_ < limits_.polls || now - began_ < limits_.poll_ticks) return wait_step::poll;
    if (waits_asleep_ > 0) return wait_step::sleep;
    if (limits_.most_vain_yields > 0 && vain_yields_ >= limits_.most_vain_yields) {
      prefer_sleep();
      return wait_step::sleep;
    }
    if (yields_ == 0) first_yield_ = now;
    if ((polls_ - limits_.polls) % limits_.polls_between != 0) return wait_step::poll;
    if (++yields_ > limits_.least_yields && now - first_yield_ >= limits_.yield_ticks) return wait_step::sleep;
    return wait_step::yield;
  }

 private:
  void end_wait() {
    if (waits_asleep_ > 0)
      --waits_asleep_;
    else if (yields_ > 0 && ++cheap_waits_ % cheap_waits_to_forget == 0)
      next_waits_asleep_ = std::max(fewest_waits_asleep, next_waits_asleep_ / 2);
    polls_ = yields_ = vain_yields_ = 0;
  }
  void prefer_sleep() {
    cheap_waits_ = 0;
    waits_asleep_ = next_waits_asleep_;
    next_waits_asleep_ = std::min(most_waits_asleep, next_waits_asleep_ * 2);
  }

  limits limits_;
  std::uint32_t polls_ = 0;
  std::uint32_t yields_ = 0;
  std::uint32_t vain_yields_ = 0;  // of these
  std::uint64_t began_ = 0;        // the first poll of this wait
  std::uint64_t first_yield_ = 0;
  std::uint32_t cheap_waits_ = 0;   // since the last expensive yield
  std::uint32_t waits_asleep_ = 0;  // this many waits will sleep at once
  std::uint32_t next_waits_asleep_ = fewest_waits_asleep;
};

}  // namespace tri::arena
