// A plan under way: which steps may begin, and what becomes of the rest when it has failed. A state machine without
// I/O: its driver (plan_run.hpp) begins the steps that next() names and reports their ends. One owner, one thread at a
// time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "coll/plan.hpp"
#include "coll/ready_steps.hpp"

namespace tri::coll {

class execution {
 public:
  /// The plan outlives it.
  explicit execution(const plan& of) : plan_(&of), ready_steps_(of) { ready_steps_.begin(ready_); }

  const plan& steps_of() const { return *plan_; }
  /// A step that may begin now; each is named once. Nothing after fail().
  std::optional<std::uint32_t> next() {
    if (failed_ || first_ready_ == ready_.size()) return std::nullopt;
    ++under_way_;
    return ready_[first_ready_++];
  }
  /// A step that next() has named has ended, or is given up after fail().
  void ended(std::uint32_t step) {
    --under_way_;
    if (!failed_) ready_steps_.ended(step, ready_);
  }
  /// No step begins any more. Those under way have to end, because others may still use their memory.
  void fail() { failed_ = true; }
  /// After fail(): a step that next() has not named, and now does not name any more, is under way all the same.
  void begin_declined() { ++under_way_; }

  bool has_failed() const { return failed_; }
  template <class Put>
  void describe(Put&& put) const {
    ready_steps_.describe(put);
    put(ready_.size() - first_ready_);
    put(under_way_);
  }
  /// All steps have ended, or it has failed and nothing is under way.
  bool is_over() const { return under_way_ == 0 && (failed_ || ready_steps_.all_ended()); }

 private:
  const plan* plan_;
  ready_steps ready_steps_;
  std::vector<std::uint32_t> ready_;
  std::size_t first_ready_ = 0;  // those before were named
  std::size_t under_way_ = 0;
  bool failed_ = false;
};

}  // namespace tri::coll
