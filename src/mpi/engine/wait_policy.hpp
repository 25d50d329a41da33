// What a rank that waits does when a poll has found nothing: poll again, yield the core, or sleep until it is rung. A
// state machine without I/O and without a clock of its own. Where every rank has a core, polling is cheapest and a
// yield costs nothing as long as no other thread wants the core. With more ranks than cores the message may be in the
// hands of a rank that waits for ours, so the core goes at once (MPI libraries that only poll lose a scheduler's slice
// per message). A yield is the cheapest way while the others wait as well, and no loss while they compute; but other
// jobs keep the core for a slice each time, while a rank that sleeps is put in its place when it is rung for. And a
// yield may be in vain: where each rank is a group of its own to the scheduler, it hands the core back at once, again
// and again. So after a dear yield or many vain ones the next waits sleep at once, twice as many each time.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tri::mpi {

enum class wait_step : std::uint8_t { poll, yield, sleep };

class wait_policy {
 public:
  struct limits {
    std::uint32_t polls = 1000;        // before the core is offered for the first time
    std::uint32_t polls_between = 16;  // and between two offers
    std::uint64_t awake_ticks = 0;     // before the rank sleeps
    std::uint32_t least_yields = 0;    // and so many offers
    // So many of them that nobody took (the core came back at once), then the rank sleeps; 0: any number.
    std::uint32_t most_vain_yields = 0;
  };
  static constexpr std::uint32_t fewest_waits_asleep = 16;  // after a dear yield
  static constexpr std::uint32_t most_waits_asleep = 4096;
  static constexpr std::uint32_t cheap_waits_to_forget = 64;  // half of it, when no dear yield came between
  explicit wait_policy(const limits& chosen) : limits_(chosen) {}

  /// Something was found, or a wait begins.
  void busy() {
    if (waits_asleep_ > 0)
      --waits_asleep_;
    else if (yields_ > 0 && ++cheap_waits_ % cheap_waits_to_forget == 0)
      next_waits_asleep_ = std::max(fewest_waits_asleep, next_waits_asleep_ / 2);
    polls_ = yields_ = vain_yields_ = 0;
  }
  /// The last yield was in vain: the core came back at once.
  void was_vain() { ++vain_yields_; }
  /// The last yield gave the core to another job for long.
  void was_dear() { prefer_sleep(); }
  /// Nothing was found at `now`, in ticks.
  wait_step next(std::uint64_t now) {
    if (++polls_ < limits_.polls) return wait_step::poll;
    if (waits_asleep_ > 0) return wait_step::sleep;
    if (limits_.most_vain_yields > 0 && vain_yields_ >= limits_.most_vain_yields) {
      prefer_sleep();
      return wait_step::sleep;
    }
    if (yields_ == 0) since_ = now;
    if ((polls_ - limits_.polls) % limits_.polls_between != 0) return wait_step::poll;
    if (++yields_ > limits_.least_yields && now - since_ >= limits_.awake_ticks) return wait_step::sleep;
    return wait_step::yield;
  }

 private:
  void prefer_sleep() {
    cheap_waits_ = 0;
    waits_asleep_ = next_waits_asleep_;
    next_waits_asleep_ = std::min(most_waits_asleep, next_waits_asleep_ * 2);
  }
  limits limits_;
  std::uint32_t polls_ = 0;
  std::uint32_t yields_ = 0;
  std::uint32_t vain_yields_ = 0;  // of these
  std::uint64_t since_ = 0;
  std::uint32_t cheap_waits_ = 0;   // since the last dear yield
  std::uint32_t waits_asleep_ = 0;  // so many waits will sleep at once
  std::uint32_t next_waits_asleep_ = fewest_waits_asleep;
};

}  // namespace tri::mpi
