// The memory of one loop whose threads fetch their iterations: for `automatic` and the kinds that learn, in loops run
// by another runtime's threads (src/omp). Any number of teams may run the loop at the same time: the arming thread
// tries to take the memory and, if another team is arming it at that moment, does without. Wait-free.
//
// Of all concurrent executions at most one is measured. Its cost is read when the same record of a loop_sequence is
// armed for its next execution: no thread is inside it then. An unread measurement (the team is gone, or the loop was
// cancelled) is abandoned after `patience` further executions.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "schedules/automatic_schedule.hpp"
#include "schedules/learning/learning_schedule.hpp"
#include "schedules/loop_sequence.hpp"
#include "schedules/worksharing_loop.hpp"
#include "trireme/detail/schedules/loop_schedule.hpp"

namespace tri::schedules {

struct memory_setup {
  schedule which{};
  claim_direction direction = claim_direction::any;  ///< of `automatic`; other kinds are laid out as they are
  automatic_limits limits{};                         ///< in_place does not count: a fetching thread has already come
  const machine_costs& (*machine)() = nullptr;       ///< called by kinds with a model
};

/// Does the schedule need a memory? Others are laid out the same way every time.
bool learns(const schedule& which);

class loop_memory {
 public:
  explicit loop_memory(const memory_setup& setup);
  loop_memory(const loop_memory&) = delete;
  loop_memory& operator=(const loop_memory&) = delete;

  /// Arms `loop`, a record that held `held` before, for its next execution. True: the caller calls loop.measure().
  [[nodiscard]] bool arm(worksharing_loop& loop, std::uint64_t items, std::uint32_t participants, held_before held);

  struct summary {
    std::uint64_t executions = 0;    ///< armed from the memory, or allowed to be armed without asking it
    double ticks_per_item = 0;       ///< `automatic`; 0: unknown
    bool plain_blocks = false;       ///< `automatic`
    double dynamic_fraction = -1.0;  ///< kinds with a model; negative: has none
    double slack = 0;                ///< kinds with a model: predicted before the last execution, ns
    std::string slack_comes_from;    ///< ... from the waits in this operation; empty while none is known
  };
  /// False when it is in use at this moment.
  bool ask(summary& into);

  const schedule& which() const { return setup_.which; }

 private:
  static constexpr std::uint32_t patience = 16;

  bool take() {
    return !in_use_.load(std::memory_order_relaxed) &&          // relaxed: the exchange decides
           !in_use_.exchange(true, std::memory_order_acquire);  // pairs: memory.release
  }
  void release() { in_use_.store(false, std::memory_order_release); }  // memory.release
  bool automatic() const { return setup_.which.kind == schedule_kind::automatic; }
  void read(worksharing_loop& loop);
  void arm_from(worksharing_loop& loop, const loop_layout& layout, std::uint64_t revision, bool same_key);
  void arm_without(worksharing_loop& loop, std::uint64_t items, std::uint32_t participants, bool same_key) const;

  const memory_setup setup_;
  std::atomic<bool> in_use_{false};
  automatic_schedule automatic_;
  learning_schedule named_;
  const loop_layout* layout_ = nullptr;  // of the last decision
  std::uint64_t executions_ = 0;
  std::uint64_t measurements_ = 0;
  std::uint64_t under_way_ = 0;  // number of the measurement not read yet, or 0
  std::uint32_t waited_ = 0;     // executions since it began
};

}  // namespace tri::schedules
