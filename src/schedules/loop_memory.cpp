#include "schedules/loop_memory.hpp"

#include <algorithm>
#include <utility>

#include "schedules/user_schedule.hpp"

namespace tri::schedules {

bool learns(const schedule& which) {
  switch (which.kind) {
    case schedule_kind::automatic:
    case schedule_kind::weighted:
    case schedule_kind::weighted_tasklets:
      return true;
    case schedule_kind::tasklets:
      return which.tags || which.weights || which.search;
    case schedule_kind::user:
      return plans_every_time(which.user);
    default:
      return has_model(which.kind) || which.weights || which.search;
  }
}

namespace {
memory_setup never_in_place(memory_setup setup) {
  setup.limits.in_place = 0;
  return setup;
}
}  // namespace

loop_memory::loop_memory(const memory_setup& setup)
    : setup_(never_in_place(setup)), automatic_(setup_.limits, setup_.direction) {}

bool loop_memory::arm(worksharing_loop& loop, std::uint64_t items, std::uint32_t participants, held_before held) {
  const bool same_key = held == held_before::same_key && loop.link().memory == this;
  if (same_key && loop.link().settled_for > 0) {
    --loop.link().settled_for;
    loop.arm_again();
    return false;
  }
  if (!take()) {
    arm_without(loop, items, participants, same_key);
    return false;
  }
  read(loop);
  const bool elsewhere = under_way_ != 0 && ++waited_ < patience;
  if (elsewhere) {
    // A team that comes in between uses the layout as it is.
    if (layout_ != nullptr && layout_->items == items && layout_->ranges.size() == participants) {
      arm_from(loop, *layout_, automatic() ? automatic_.revision() : named_.revision(), same_key);
    } else {
      arm_without(loop, items, participants, same_key);
    }
    release();
    return false;
  }
  under_way_ = 0;
  ++executions_;
  bool measure = false;
  if (automatic()) {
    const automatic_schedule::decision decided = automatic_.next(items, participants);
    layout_ = decided.layout;
    measure = decided.measure;
  } else {
    const learning_schedule::decision decided = named_.next(setup_.which, items, participants, setup_.machine);
    layout_ = decided.layout;
    measure = decided.measure || decided.tasklet_owners != nullptr;
    if (has_model(setup_.which.kind)) named_.begins();
  }
  arm_from(loop, *layout_, automatic() ? automatic_.revision() : named_.revision(), same_key);
  if (measure) {
    loop.link().measurement = under_way_ = ++measurements_;
    waited_ = 0;
  } else if (automatic()) {
    const std::uint64_t settled = automatic_.settled_for();
    loop.link().settled_for = settled;
    automatic_.skip(settled);
    executions_ += settled;
  }
  release();
  return measure;
}

// The measurement that this record holds, if it is the one that is waited for.
void loop_memory::read(worksharing_loop& loop) {
  if (under_way_ == 0 || loop.link().memory != this || loop.link().measurement != under_way_) return;
  under_way_ = 0;
  worksharing_measurement* const found = loop.measurement();
  if (found == nullptr || !found->complete()) return;
  if (automatic()) {
    automatic_.learn(found->times(), found->elapsed());
  } else {
    named_.remember_owners(found->tasklet_owners());
    named_.learn(found->times(), found->elapsed());
  }
}

void loop_memory::arm_from(worksharing_loop& loop, const loop_layout& layout, std::uint64_t revision, bool same_key) {
  if (same_key && loop.link().revision == revision) {
    loop.arm_again();
  } else {
    loop.arm(loop_layout(layout));
  }
  loop.link() = {this, revision, 0, 0};
}

// As if nothing were known. The record keeps no revision, so that it is laid out again next time.
void loop_memory::arm_without(worksharing_loop& loop, std::uint64_t items, std::uint32_t participants,
                              bool same_key) const {
  if (same_key) {
    loop.arm_again();
    return;
  }
  if (automatic()) {
    automatic_schedule fresh(setup_.limits, setup_.direction);
    loop.arm(loop_layout(*fresh.next(items, participants).layout));
  } else {
    loop.arm(layout_of(setup_.which, items, participants));
  }
  loop.link() = {};
}

bool loop_memory::ask(summary& into) {
  if (!take()) return false;
  into = {};
  into.executions = executions_;
  if (automatic()) {
    into.ticks_per_item = automatic_.ticks_per_item();
    into.plain_blocks = automatic_.plain_blocks();
  } else if (has_model(setup_.which.kind)) {
    into.dynamic_fraction = 1.0 - named_.static_fraction();
    into.slack = named_.slack();
    into.slack_comes_from = named_.slack_comes_from();
  }
  release();
  return true;
}

}  // namespace tri::schedules
