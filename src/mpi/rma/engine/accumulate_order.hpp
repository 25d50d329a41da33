// Exclusion between ranks that change elements of a target. Single elements are changed by atomic instructions, by any
// number of ranks at once; long runs by plain loops of one rank at a time, with all atomic instructions excluded; all
// others by the holder of the target's lock.
//
// An asymmetric lock (after the big-reader locks of Linux): a rank that changes single elements marks that on a line of
// its own, without traffic between cores, and reads a line that only long runs write.
#pragma once

#include <sched.h>

#include <mutex>
#include <span>

#include "mpi/rma/engine/window_part.hpp"
#include "os/cpu/cpu_hints.hpp"

namespace tri::mpi {

/// The accumulates of one rank on one target. Without ranks: on a copy that no other rank changes.
class accumulate_order {
 public:
  accumulate_order() = default;
  accumulate_order(std::span<window_part* const> ranks, window_part& self, window_part& target)
      : ranks_(ranks), self_(&self), target_(&target) {}

  /// `body` changes elements by atomic instructions; it is short.
  template <class Body>
  void by_instructions(Body&& body) {
    if (target_ == nullptr) {
      body();
      return;
    }
    // seq_cst, with the poll that follows: either we see that others are excluded, or the excluding rank sees us.
    // pairs: window.exclusion
    self_->changes.store(target_, std::memory_order_seq_cst);
    const bool is_free = target_->keeps_out.load(std::memory_order_seq_cst) == 0;  // pairs: window.exclusion
    if (is_free) [[likely]]
      body();
    self_->changes.store(nullptr, std::memory_order_release);  // pairs: window.exclusion
    if (is_free) return;
    const std::lock_guard guard(target_->accumulating);  // of the rank that excludes us
    body();
  }
  /// `body` changes elements in any way: no other rank does.
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
          os::cpu_relax();
        else
          sched_yield();  // it may have lost its core
      }
    }
    body();
    target_->keeps_out.store(0, std::memory_order_release);  // pairs: window.exclusion
  }
  /// `body` changes elements that no rank changes by atomic instructions.
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
