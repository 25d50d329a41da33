#include "loops/loop_record.hpp"

#include <stdexcept>

#include "host/clock.hpp"

namespace tri::loops {

// Access to a record's parts for whoever has taken it.
class record_user {
 public:
  static bool take(loop_record& record) {
    return !record.in_use_.load(std::memory_order_relaxed) &&          // relaxed: the exchange decides
           !record.in_use_.exchange(true, std::memory_order_acquire);  // pairs: record.release
  }
  static void release(loop_record& record) {
    record.in_use_.store(false, std::memory_order_release);  // pairs: record.release
  }
  static automatic_schedule& automatic(loop_record& record) { return record.automatic_; }
  static loop_times& times(loop_record& record) { return record.times_; }

  static const loop_layout& layout(loop_record& record, const schedule& which, std::uint64_t items,
                                   std::uint32_t participants, loop_call& call) {
    loop_record::fixed_schedule& fixed = record.fixed_;
    const bool same = fixed.items == items && fixed.participants == participants && fixed.which == which;
    // Tasklets are dealt out anew by who ran them last.
    if (!same || fixed.layout.tasklets > 0) {
      if (!same) fixed.tasklet_owners.clear();
      fixed.layout = layout_of(which, items, participants, {.last_owners = fixed.tasklet_owners});
      fixed.tasklet_owners.resize(fixed.layout.tasklets, no_owner);
      fixed.which = which;
      fixed.items = items;
      fixed.participants = participants;
    }
    call.tasklet_owners = fixed.layout.tasklets > 0 ? fixed.tasklet_owners.data() : nullptr;
    return fixed.layout;
  }
};

started_loop::started_loop(loop_call& call, std::uint64_t items, const schedule& which, loop_record* record)
    : call_(call), me_(this_crew_member()) {
  if (items == 0) return;
  if (me_ == nullptr || me_->participants() == 1 || items == 1) {
    call.run_here(items, me_ != nullptr ? me_->number() : 0);
    return;
  }
  const std::uint32_t participants = me_->participants();
  if (record != nullptr && record_user::take(*record)) record_ = record;
  const loop_layout* layout = nullptr;
  bool strict = true;
  if (which.kind == schedule_kind::automatic) {
    strict = false;
    if (record_ != nullptr) {
      const automatic_schedule::decision decided = record_user::automatic(*record_).next(items, participants);
      layout = decided.layout;
      if (decided.measure) {
        loop_times& times = record_user::times(*record_);
        times.reset(items, participants);
        call.times = &times;
        learning_ = true;
        began_ = host::ticks();
      }
      if (decided.in_place) {
        run_in_place(items);
        return;
      }
    } else {
      own_layout_ = std::make_unique<loop_layout>(*automatic_schedule().next(items, participants).layout);
      layout = own_layout_.get();
    }
  } else if (record_ != nullptr) {
    layout = &record_user::layout(*record_, which, items, participants, call);
  } else {
    own_layout_ = std::make_unique<loop_layout>(layout_of(which, items, participants));
    layout = own_layout_.get();
  }
  posted_ = post_loop(*me_, call, *layout, strict);
  if (!posted_) run_in_place(items);
}

void started_loop::run_in_place(std::uint64_t items) {
  ++me_->depth;
  call_.run_here(items, me_->number());
  --me_->depth;
}

void started_loop::wait() {
  if (posted_) {
    if (this_crew_member() != me_)
      throw std::logic_error("loop handle: wait() was called by another thread than the one that started the loop");
    finish_loop(*me_, std::exchange(posted_, {}));
  }
  if (record_ == nullptr) return;
  if (learning_) record_user::automatic(*record_).learn(record_user::times(*record_), host::ticks() - began_);
  record_user::release(*std::exchange(record_, nullptr));
}

bool started_loop::finished() const { return !posted_ || me_->board().finished(posted_); }

void run_loop(loop_call& call, std::uint64_t items, const schedule& which, loop_record* record) {
  started_loop(call, items, which, record).wait();
}

}  // namespace tri::loops
