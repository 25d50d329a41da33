#include "trireme/detail/loops/loop_record.hpp"

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <string>

#include "loops/calibration.hpp"
#include "loops/loop_reporter.hpp"
#include "loops/loop_tuning.hpp"
#include "loops/started_loop.hpp"
#include "loops/team.hpp"
#include "os/clock.hpp"
#include "schedules/automatic_schedule.hpp"
#include "schedules/learning/learning_schedule.hpp"
#include "schedules/loop_times.hpp"

namespace tri::loops {

struct loop_record::memory {
  explicit memory(const std::source_location& where) : location(where) {}
  std::atomic<bool> in_use{false};
  schedules::loop_times times{0, 0};
  schedules::automatic_schedule automatic;
  schedules::learning_schedule named;  // the schedule that the user named last
  const std::source_location location;
  std::atomic<const schedules::schedule*> tuned{nullptr};  // from the tune file, once looked up
  std::atomic<site_times*> report{nullptr};                // its times, once requested; owned by the report
};

loop_record::loop_record(const std::source_location& location) : memory_(std::make_unique<memory>(location)) {}
loop_record::~loop_record() = default;
const schedules::automatic_schedule& loop_record::automatic() const { return memory_->automatic; }
const schedules::learning_schedule& loop_record::named() const { return memory_->named; }

// Access to a record's parts for the thread that has taken it.
class record_user {
 public:
  static bool take(loop_record& record) {
    return !record.memory_->in_use.load(std::memory_order_relaxed) &&          // relaxed: the exchange decides
           !record.memory_->in_use.exchange(true, std::memory_order_acquire);  // pairs: record.release
  }
  static void release(loop_record& record) {
    record.memory_->in_use.store(false, std::memory_order_release);  // pairs: record.release
  }
  static schedules::automatic_schedule& automatic(loop_record& record) { return record.memory_->automatic; }
  static schedules::learning_schedule& named(loop_record& record) { return record.memory_->named; }
  static schedules::loop_times& times(loop_record& record) { return record.memory_->times; }
  // The schedule of a loop for which the program names none. relaxed: a thread that finds null looks it up again, in
  // data that never changes once a loop has run.
  static const schedules::schedule& tuned(loop_record& record) {
    const schedules::schedule* known = record.memory_->tuned.load(std::memory_order_relaxed);
    if (known == nullptr) {
      known = &tuned_schedule(record.memory_->location);
      record.memory_->tuned.store(known, std::memory_order_relaxed);
    }
    return *known;
  }
  // Any thread: two that come at the same time for the first time would make two entries, so one of them waits.
  static site_times& report_of(loop_record& record) {
    if (site_times* const known = record.memory_->report.load(std::memory_order_acquire))
      return *known;  // pairs: record.report
    static std::mutex making;
    const std::lock_guard lock(making);
    site_times* known = record.memory_->report.load(std::memory_order_relaxed);  // relaxed: set under the lock only
    if (known == nullptr) {
      known = &new_site(record.memory_->location);
      record.memory_->report.store(known, std::memory_order_release);  // pairs: record.report
    }
    return *known;
  }
};

started_loop::started_loop(loop_call& call, std::uint64_t items, const schedules::schedule& wanted, loop_record* record,
                           bool keeps_slot)
    : call_(call), me_(this_participant()) {
  if (items == 0) return;
  const bool tuned =
      wanted.kind == schedules::schedule_kind::automatic && tuning.load(std::memory_order_relaxed);  // as declared
  const schedules::schedule& which = !tuned              ? wanted
                                     : record != nullptr ? record_user::tuned(*record)
                                                         : default_schedule();
  if (me_ == nullptr || me_->participants() == 1 || items == 1) {
    run_alone(items, which, record);
    return;
  }
  if (keeps_slot) {
    slot_ = share_slot(*me_);
    generation_ = process_generation();
  }
  if (record != nullptr && record_user::take(*record)) record_ = record;
  if (current_measuring.load(std::memory_order_relaxed) != loop_measuring::off) [[unlikely]] {  // relaxed: as declared
    prepare_report(record, which);
    if (reported_ != nullptr && run_on_one_core(items)) return;
  }
  try {
    start(items, which);
  } catch (...) {
    if (record_ != nullptr) record_user::release(*record_);
    throw;
  }
}

void started_loop::start(std::uint64_t items, const schedules::schedule& which) {
  const std::uint32_t participants = me_->participants();
  const auto measure = [&](learner whose) {
    start_measuring(items, participants);
    learner_ = whose;
  };
  const bool automatic = which.kind == schedules::schedule_kind::automatic;
  const schedules::loop_layout* layout = nullptr;
  if (record_ == nullptr) {  // nothing is remembered
    own_layout_ = std::make_unique<schedules::loop_layout>(
        automatic ? *schedules::automatic_schedule().next(items, participants).layout
                  : schedules::layout_of(which, items, participants, {.claimers = me_->claimers()}));
    layout = own_layout_.get();
  } else if (automatic) {
    const schedules::automatic_schedule::decision decided = record_user::automatic(*record_).next(items, participants);
    if (decided.measure) measure(learner::automatic);
    if (decided.in_place) {
      if (reported_ != nullptr && learner_ == learner::none) measure(learner::none);
      run_in_place(items);
      return;
    }
    layout = decided.layout;
  } else {
    const schedules::learning_schedule::decision decided =
        record_user::named(*record_).next(which, items, participants, &costs_of_this_machine, me_->claimers());
    if (decided.measure) measure(learner::named);
    call_.tasklet_owners = decided.tasklet_owners;
    layout = decided.layout;
  }
  if (reported_ != nullptr && learner_ == learner::none) measure(learner::none);
  posted_ = post_loop(*me_, call_, *layout, !automatic);
  if (posted_)
    layout_ = layout;
  else
    run_in_place(items);
}

void started_loop::run_in_place(std::uint64_t items) {
  ++me_->depth;
  call_.run_here(items, me_->number());
  --me_->depth;
}

void started_loop::run_alone(std::uint64_t items, const schedules::schedule& which, loop_record* record) {
  const int number = me_ != nullptr ? me_->number() : 0;
  if (current_measuring.load(std::memory_order_relaxed) == loop_measuring::off) {  // relaxed: as declared
    call_.run_here(items, number);
    return;
  }
  if (record != nullptr && record_user::take(*record)) record_ = record;
  prepare_report(record, which);
  if (reported_ != nullptr) start_measuring(items, static_cast<std::uint32_t>(number) + 1);
  call_.run_here(items, number);
}

void started_loop::prepare_report(loop_record* record, const schedules::schedule& which) {
  if (record == nullptr) {
    count_loop_without_record();
  } else if (record_ == nullptr) {
    record_user::report_of(*record).add_unmeasured();
  } else {
    reported_ = &record_user::report_of(*record);
    which_ = which;
  }
}

// Its times go into the record's, which no other thread uses meanwhile.
void started_loop::start_measuring(std::uint64_t items, std::uint32_t participants) {
  schedules::loop_times& times = record_user::times(*record_);
  times.reset(items, participants);
  if (reported_ != nullptr) times.keep_chunks();
  call_.times = &times;
  began_ = os::ticks();
}

// The loop's learned state is unchanged: the schedule is not called.
bool started_loop::run_on_one_core(std::uint64_t items) {
  // relaxed: as declared
  if (current_measuring.load(std::memory_order_relaxed) != loop_measuring::with_one_core_runs) return false;
  if (!reported_->wants_one_core()) return false;
  on_one_core_ = true;
  start_measuring(items, me_->participants());
  run_in_place(items);
  return true;
}

void started_loop::report() {
  const schedules::loop_times& times = record_user::times(*record_);
  const bool alone = me_ == nullptr || me_->participants() == 1 || times.items() == 1;
  const measured_execution one{.began = began_,
                               .ended = os::ticks(),
                               .participants = alone ? 1 : me_->participants(),
                               .times = &times,
                               .layout = layout_};
  if (on_one_core_)
    reported_->add_one_core(one);
  else
    reported_->add(one, *which_);
}

bool started_loop::is_of_parent() const { return slot_ != nullptr && generation_ != process_generation(); }

// A retained slot cannot be reused by another thread, so the comparison is sound whatever has ended.
void started_loop::check_thread(const char* what) const {
  if (this_participant() != me_)
    throw std::logic_error(
        std::string("loop handle: ").append(what).append(" on another thread than the one that started the loop"));
}

void started_loop::wait() {
  if (posted_ && is_of_parent()) {  // its loop runs there
    posted_ = {};
    if (record_ != nullptr) record_user::release(*std::exchange(record_, nullptr));
    leave_to_parent(slot_);
    return;
  }
  if (posted_) {
    check_thread("wait() or its destructor was called");
    finish_loop(*me_, std::exchange(posted_, {}));
    if (me_->depth == 0) me_->help_received += call_.help_ticks();  // within a loop: of another poster, perhaps
  }
  if (record_ == nullptr) return;
  if (reported_ != nullptr) [[unlikely]]
    report();
  const schedules::loop_times& times = record_user::times(*record_);
  if (!call_.failed()) {  // skipped iterations would look fast
    if (learner_ == learner::automatic) record_user::automatic(*record_).learn(times, os::ticks() - began_);
    if (learner_ == learner::named) record_user::named(*record_).learn(times, os::ticks() - began_);
  }
  record_user::release(*std::exchange(record_, nullptr));
}

bool started_loop::finished() const {
  if (!posted_ || is_of_parent()) return true;
  check_thread("finished() was called");
  return me_->board().finished(posted_);
}

void run_loop(loop_call& call, std::uint64_t items, const schedules::schedule& which, loop_record* record) {
  started_loop(call, items, which, record).wait();
}

void end_started_loop::operator()(started_loop* started) const { delete started; }

started_loop_ptr start_loop(loop_call& call, std::uint64_t items, const schedules::schedule& which,
                            loop_record* record) {
  return started_loop_ptr(new started_loop(call, items, which, record, true));
}

void wait_for(started_loop& started) { started.wait(); }
bool has_finished(const started_loop& started) { return started.finished(); }

}  // namespace tri::loops
