// Who changes elements of a target at the same time. Single ones are changed by instructions of the processor, by any
// number of ranks at once; long runs by plain loops, of one rank at a time, that nobody's instructions come between;
// all others by whoever holds the lock of the target.
//
// An asymmetric lock (after the big-reader locks of Linux): whoever changes single elements says so on a line of its
// own, which costs no traffic between cores, and looks at one that only long runs write.
#pragma once

#include <sched.h>

#include <mutex>
#include <span>

#include "mpi/windows/window_part.hpp"
#include "os/cpu_hints.hpp"

namespace tri::mpi {

/// The accumulates of one rank on one target. Without ranks: on a copy that nobody else changes.
class accumulate_order {
 public:
  accumulate_order() = default;
  accumulate_order(std::span<window_part* const> ranks, window_part& self, window_part& target)
      : ranks_(ranks), self_(&self), target_(&target) {}

  /// `body` changes elements by instructions of the processor; it takes a short time.
  template <class Body>
  void by_instructions(Body&& body) {
    if (target_ == nullptr) {
      body();
      return;
    }
    // seq_cst, with the poll that follows: either we see that others are kept out, or who keeps them out sees us.
    // pairs: window.exclusion
    self_->changes.store(target_, std::memory_order_seq_cst);
    const bool is_free = target_->keeps_out.load(std::memory_order_seq_cst) == 0;  // pairs: window.exclusion
    if (is_free) [[likely]]
      body();
    self_->changes.store(nullptr, std::memory_order_release);  // pairs: window.exclusion
    if (is_free) return;
    const std::lock_guard guard(target_->accumulating);  // of who keeps us out
    body();
  }
  /// `body` changes elements in any way: nobody else does.
  template <class Body>
  void alone(Body&& body) {
    if (target_ == nullptr) {
      body();
      return;
    }
    const std::lock_guard guard(target_->accumulating);
    target_->keeps_out.store(1, std::memory_order_seq_cst);  // pairs: window.exclusion
    for (const window_part* const other : ranks_) {
      // seq_cst, and an acquire of what it has changed. pairs: window.exclusion
      for (int poll = 0; other->changes.load(std::memory_order_seq_cst) == target_; ++poll) {
        if (poll < polls_before_yields)
          host::cpu_relax();
        else
          sched_yield();  // it may have lost its core
      }
    }
    body();
    target_->keeps_out.store(0, std::memory_order_release);  // pairs: window.exclusion
  }
  /// `body` changes elements that nobody changes by instructions.
  template <class Body>
  void locked(Body&& body) {
    if (target_ == nullptr) {
      body();
      return;
    }
    const std::lock_guard guard(target_->accumulating);
    body();
  }

 private:
  static constexpr int polls_before_yields = 100;
  std::span<window_part* const> ranks_;
  window_part* self_ = nullptr;
  window_part* target_ = nullptr;
};

}  // namespace tri::mpi
