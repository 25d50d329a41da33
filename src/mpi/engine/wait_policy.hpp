// What a rank that waits does when a look has found nothing: look again, give the core away, or sleep until somebody
// rings. A state machine without I/O and without a clock of its own. Where every rank has a core, looking is cheapest
// and giving the core away costs nothing as long as nobody wants it; with more ranks than cores the message may be in
// the hands of a rank that waits for ours, so the core goes at once (MPI libraries that only look lose a scheduler's
// slice per message).
#pragma once

#include <cstdint>

namespace tri::mpi {

enum class wait_step : std::uint8_t { look, yield, sleep };

class wait_policy {
 public:
  struct limits {
    std::uint32_t looks = 1000;        // before the core is offered for the first time
    std::uint32_t looks_between = 16;  // and between two offers
    std::uint64_t awake_ticks = 0;     // before the rank sleeps
    std::uint32_t least_yields = 0;    // and so many offers
  };
  explicit wait_policy(const limits& chosen) : limits_(chosen) {}

  /// Something was found, or a wait begins.
  void busy() { looks_ = yields_ = 0; }
  /// Nothing was found at `now`, in ticks.
  wait_step next(std::uint64_t now) {
    if (++looks_ < limits_.looks) return wait_step::look;
    if (yields_ == 0) since_ = now;
    if ((looks_ - limits_.looks) % limits_.looks_between != 0) return wait_step::look;
    if (++yields_ > limits_.least_yields && now - since_ >= limits_.awake_ticks) return wait_step::sleep;
    return wait_step::yield;
  }

 private:
  limits limits_;
  std::uint32_t looks_ = 0;
  std::uint32_t yields_ = 0;
  std::uint64_t since_ = 0;
};

}  // namespace tri::mpi
