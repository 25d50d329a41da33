#include "loops/loop_record.hpp"

#include <stdexcept>
#include <string>

#include "host/clock.hpp"
#include "loops/team.hpp"

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
  static learning_schedule& named(loop_record& record) { return record.named_; }
  static loop_times& times(loop_record& record) { return record.times_; }
};

started_loop::started_loop(loop_call& call, std::uint64_t items, const schedule& which, loop_record* record,
                           bool keeps_place)
    : call_(call), me_(this_crew_member()) {
  if (items == 0) return;
  if (me_ == nullptr || me_->participants() == 1 || items == 1) {
    call.run_here(items, me_ != nullptr ? me_->number() : 0);
    return;
  }
  if (keeps_place) {
    place_ = share_place(*me_);
    generation_ = process_generation();
  }
  if (record != nullptr && record_user::take(*record)) record_ = record;
  try {
    start(items, which);
  } catch (...) {
    if (record_ != nullptr) record_user::release(*record_);
    throw;
  }
}

void started_loop::start(std::uint64_t items, const schedule& which) {
  const std::uint32_t participants = me_->participants();
  const auto measure = [&](learner whose) {
    loop_times& times = record_user::times(*record_);
    times.reset(items, participants);
    call_.times = &times;
    learner_ = whose;
    began_ = host::ticks();
  };
  const bool automatic = which.kind == schedule_kind::automatic;
  const loop_layout* layout = nullptr;
  if (record_ == nullptr) {  // nothing is remembered
    own_layout_ =
        std::make_unique<loop_layout>(automatic ? *automatic_schedule().next(items, participants).layout
                                                : layout_of(which, items, participants, {.claimers = me_->claimers()}));
    layout = own_layout_.get();
  } else if (automatic) {
    const automatic_schedule::decision decided = record_user::automatic(*record_).next(items, participants);
    if (decided.measure) measure(learner::automatic);
    if (decided.in_place) {
      run_in_place(items);
      return;
    }
    layout = decided.layout;
  } else {
    const learning_schedule::decision decided =
        record_user::named(*record_).next(which, items, participants, &costs_of_this_machine, me_->claimers());
    if (decided.measure) measure(learner::named);
    call_.tasklet_owners = decided.tasklet_owners;
    layout = decided.layout;
  }
  posted_ = post_loop(*me_, call_, *layout, !automatic);
  if (!posted_) run_in_place(items);
}

void started_loop::run_in_place(std::uint64_t items) {
  ++me_->depth;
  call_.run_here(items, me_->number());
  --me_->depth;
}

bool started_loop::is_of_parent() const { return place_ != nullptr && generation_ != process_generation(); }

// A place that is kept cannot become that of another thread, so the comparison is sound whatever has ended.
void started_loop::check_thread(const char* what) const {
  if (this_crew_member() != me_)
    throw std::logic_error(
        std::string("loop handle: ").append(what).append(" on another thread than the one that started the loop"));
}

void started_loop::wait() {
  if (posted_ && is_of_parent()) {  // its loop runs there
    posted_ = {};
    if (record_ != nullptr) record_user::release(*std::exchange(record_, nullptr));
    leave_to_parent(place_);
    return;
  }
  if (posted_) {
    check_thread("wait() or its destructor was called");
    finish_loop(*me_, std::exchange(posted_, {}));
  }
  if (record_ == nullptr) return;
  const loop_times& times = record_user::times(*record_);
  if (!call_.failed()) {  // what was left out would look fast
    if (learner_ == learner::automatic) record_user::automatic(*record_).learn(times, host::ticks() - began_);
    if (learner_ == learner::named) record_user::named(*record_).learn(times, host::ticks() - began_);
  }
  record_user::release(*std::exchange(record_, nullptr));
}

bool started_loop::finished() const {
  if (!posted_ || is_of_parent()) return true;
  check_thread("finished() was called");
  return me_->board().finished(posted_);
}

void run_loop(loop_call& call, std::uint64_t items, const schedule& which, loop_record* record) {
  started_loop(call, items, which, record).wait();
}

}  // namespace tri::loops
