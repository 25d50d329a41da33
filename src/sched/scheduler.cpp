#include "sched/scheduler.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>

#include "arena/arena.hpp"
#include "os/clock.hpp"
#include "os/cpu/cpu_hints.hpp"
#include "os/task_clock.hpp"
#include "sched/idle_limits.hpp"
#include "sched/order/pe_order.hpp"
#include "sched/process_runtime.hpp"
#include "sched/remote/wire_link.hpp"
#include "trace/process_trace.hpp"
#include "trireme/detail/arena/allocate.hpp"
#include "trireme/queue_policy.hpp"

namespace tri::sched {
namespace {

constexpr int burst = 64;                     // messages of one source before the others get their turn
constexpr std::uint32_t rare_every = 64;      // busy steps between two polls of node queue and own seeds
constexpr std::uint32_t sample_every = 1024;  // and between two samples, which read the clock twice for each message
constexpr double interrupted_ns = 50'000;     // the scheduler itself takes less for a step
constexpr double wire_every_ns = 10'000;      // a busy PE polls the wire, between two messages
constexpr std::uint64_t steps_between_stall_checks = 1 << 16;
constexpr std::int64_t ns_of_ms = 1'000'000;
constexpr std::int64_t between_stall_checks_ns = 1000 * ns_of_ms;
constexpr std::int64_t between_replay_checks_ns = 10 * ns_of_ms;

std::vector<handler_function>& functions() {
  static std::vector<handler_function> table = handler_functions();
  return table;
}

// By which this process orders the messages of elements, if functions() has run_by_policy for them. Set before its PEs
// begin.
queue_policy methods_in_order;

bool is_for_an_element(const handler_row& row) { return row.make_portable != nullptr; }

// A table whose every row is the same. So what is done around handlers costs nothing while it is off.
template <handler_function Same>
const handler_function* table_of() {
  static const std::vector<handler_function> table(functions().size(), Same);
  return table.data();
}

}  // namespace

scheduler::scheduler(process_runtime& owner, int number, int local_number)
    : pe(owner, number, local_number, owner.peers(), own_board_),
      runtime_(owner),
      own_process_(*owner.process_record_of(owner.process())),
      handlers_(functions().data()),
      inbox_(*record_.inbox),
      wire_(owner.wire()),
      makes_progress_on_wire_(wire_ != nullptr && owner.values().comm_thread == config::communication_thread::off),
      wire_every_ticks_(os::ns_to_ticks(wire_every_ns)),
      own_board_(owner.join_board(number)),
      order_(owner.order() == nullptr
                 ? nullptr
                 : std::make_unique<pe_order>(
                       *owner.order(), number, owner.values().shuffle,
                       os::ns_to_ticks(static_cast<double>(owner.values().shuffle_delay_us) * 1000.0))),
      seeds_(*this, owner),
      waiting_(idle_limits(owner.values().idle, owner.placement().oversubscribed,
                           os::ns_to_ticks(static_cast<double>(owner.values().idle_spin_us) * 1000.0))),
      idle_(record_.live.idle, os::ns_to_ticks(live::long_idle_ns)) {
  table_of<&run_timed>();  // now, not in the middle of the program
}

scheduler::~scheduler() = default;

void scheduler::switch_trace(bool on) {
  trace::process_trace* const traces = runtime_.traces();
  trace::recorder* const own = traces == nullptr ? nullptr : traces->of_pe(local_number_);
  if (own == nullptr || (trace_ != nullptr) == on) return;
  own->mark(on ? trace::event::on : trace::event::off);
  traces->switched(on);
  trace_ = on ? own : nullptr;
  handlers_ = usual_handlers();
}

const handler_function* scheduler::usual_handlers() const {
  if (trace_ != nullptr) return table_of<&run_traced>();
  return samples_ ? table_of<&run_timed>() : functions().data();
}

void scheduler::run_traced(pe& here, envelope& message) {
  const std::uint32_t handler = message.handler;
  const trace::recorder::began start =
      here.trace()->begin(handler, message.source, message.argument_bytes(), message.trace_tag());
  functions()[handler](here, message);
  if (here.trace() != nullptr) here.trace()->end(handler, start);
}

// The first handler after a long idleness ends it, when it begins.
void scheduler::looks_idle(bool is_published) {
  if (is_published) handlers_ = table_of<&run_after_idle>();
}

void scheduler::idle_ended(std::uint64_t now) {
  if (idle_.ended(now)) handlers_ = usual_handlers();
}

void scheduler::run_after_idle(pe& here, envelope& message) {
  auto& own = static_cast<scheduler&>(here);
  own.idle_ended(os::ticks());
  own.handlers_[message.handler](here, message);
}

void scheduler::run_timed(pe& here, envelope& message) {
  auto& own = static_cast<scheduler&>(here);
  const handler_function handler = functions()[message.handler];
  if (own.handler_depth_ != own.sampled_depth_ + 1) return handler(here, message);  // a handler runs messages
  const std::uint64_t began = os::ticks();
  handler(here, message);
  own.in_handlers_ticks_ += os::ticks() - began;
}

// Now and then the handlers of one step are timed; what they do not take is the scheduler's, as in the steps since the
// last sample. From the end of a step to that of the next: idle time in between is known and does not count.
void scheduler::begin_sample() {
  if (trace_ != nullptr) return;
  samples_ = true;
  sampled_depth_ = handler_depth_;
  in_handlers_ticks_ = 0;
  idle_before_sample_ = idle_.total();
  handlers_ = usual_handlers();
  sample_began_ = os::ticks();
}

void scheduler::end_sample() {
  const std::uint64_t all = os::ticks() - sample_began_;
  if (idle_.is_idle()) idle_ended(idle_.last_look());
  const std::uint64_t known = in_handlers_ticks_ + idle_.total() - idle_before_sample_;
  cancel_sample();
  if (in_handlers_ticks_ == 0 || handler_depth_ != sampled_depth_ || known > all ||
      all - known > os::ns_to_ticks(interrupted_ns))
    return;
  // relaxed: as above; no other thread writes it
  std::atomic<std::uint64_t>& overhead = record_.live.overhead;
  overhead.store(overhead.load(std::memory_order_relaxed) + (all - known) * (steps_ - sampled_steps_),
                 std::memory_order_relaxed);
  sampled_steps_ = steps_;
}

void scheduler::cancel_sample() {
  samples_ = false;
  handlers_ = usual_handlers();
}

timer_name scheduler::send_later(std::int64_t delay_ns, const envelope& message) {
  const auto delay = delay_ns > 0 ? os::ns_to_ticks(static_cast<double>(delay_ns)) : 0;
  auto* const block = static_cast<envelope*>(arena::allocate(sizeof(envelope)));
  block->assign_message(message);
  block->source = static_cast<std::uint32_t>(number_);
  if (order_ != nullptr) [[unlikely]]
    order_->number_timer(*block);
  const timer_name name{os::ticks() + delay, timer_sequence_++};
  timers_.emplace(name, block);
  counters_.sent.add();
  return name;
}

bool scheduler::cancel_later(const timer_name& which) {
  const auto found = timers_.find(which);
  if (found == timers_.end()) return false;
  envelope* const message = found->second;
  timers_.erase(found);
  drop_block(message);
  count_processed();
  return true;
}

void scheduler::send_seed(const envelope& message) {
  envelope seed;
  seed.assign_message(message);
  seed.source = static_cast<std::uint32_t>(number_);
  if (trace_ != nullptr) [[unlikely]]
    trace_send(trace::target::pe, number_, seed);
  seeds_.push(seed);
}

// The memory of a message from another host is free when its handler has ended, also when that keeps the message: what
// it waits for may be behind it at its sender.
void scheduler::run_from_host(envelope& message) {
  const std::uint8_t flags = message.flags;
  const std::uint8_t count = flags & envelope::any_count;
  const std::uint64_t bytes = count == 0 ? 0 : wire_link::cost_of(message);
  message.flags = static_cast<std::uint8_t>(flags & ~envelope::any_of_wire);
  const bool is_request = (flags & (envelope::is_deferred | envelope::holds_slot)) != 0;
  is_serving_ = is_serving_ || is_request;
  holds_slot_ = (flags & envelope::holds_slot) != 0;
  run(message);
  if (std::exchange(holds_slot_, false)) wire_link::release_slot();  // the answer, if there was one, took none
  if (is_request) is_serving_ = false;
  if (count != 0) release_memory(count, bytes);
  if ((flags & envelope::is_answer) != 0) counters_.remote_answers_done.add();
  if ((flags & envelope::is_deferred) != 0) wire_->deferred_request_ran(local_number_);
}

void scheduler::serve(int destination, envelope& message) {
  serves_ = destination;
  is_serving_ = true;
  run(message);
  is_serving_ = false;
  serves_ = number_;
}

void scheduler::release_memory(std::uint8_t count, std::uint64_t bytes) {
  (count == envelope::is_counted ? counters_.remote_bytes_done : counters_.remote_copy_bytes_done).add(bytes);
}

void scheduler::drop(envelope& message) {
  const std::uint8_t count = message.flags & envelope::any_count;
  const std::uint64_t bytes = count == 0 ? 0 : wire_link::cost_of(message);
  drop_message(*this, message);
  if (count != 0) release_memory(count, bytes);
}

void scheduler::run_block(envelope* message) {
  run(*message);
  arena::release(message);
}

void scheduler::drop_block(envelope* message) {
  drop(*message);
  arena::release(message);
}

// Destructors of arguments may send, and most send to where they are: again until a whole round finds nothing.
void scheduler::drop_messages() {
  if (order_ != nullptr && order_->writer != nullptr) order_->writer->finish();
  for (bool dropped = true; std::exchange(dropped, false);) {
    for (envelope* message = inbox_.take_urgent(); message != nullptr; dropped = true)
      drop_block(std::exchange(message, message->next()));
    for (; envelope* const message = inbox_.front(); inbox_.pop(), dropped = true) {
      arena::taken_over();
      drop(*message);
    }
    for (; envelope* const message = local_.front(); local_.pop(), dropped = true) drop(*message);
    for (; !ordered_.empty(); dropped = true) drop_block(ordered_.pop());
    for (envelope seed; seeds_.take_own(seed); dropped = true) drop(seed);
    for (; !timers_.empty(); dropped = true) drop_block(pop_timer());
    for (envelope message; own_process_.nodes->pop(message); dropped = true) {
      arena::taken_over();
      drop(message);
    }
    if (order_ != nullptr) dropped |= drop_ordered();
  }
}

// Immediate messages run now; those with a priority are put in order. True if any ran.
bool scheduler::sort_urgent() {
  bool ran = false;
  for (envelope* message = inbox_.take_urgent(); message != nullptr;) {
    envelope* const next = message->next();
    if ((message->flags & envelope::is_immediate) != 0) {
      run_block(message);
      ran = true;
    } else {
      ordered_.push(message);
    }
    message = next;
  }
  return ran;
}

bool scheduler::run_ordered(bool only_first) {
  if (ordered_.empty() || (only_first && !ordered_.comes_first())) return false;
  is_its_turn_ = true;
  run_block(ordered_.pop());
  is_its_turn_ = false;
  return true;
}

void scheduler::order_methods(const queue_policy* by) {
  methods_in_order = by == nullptr ? queue_policy{} : *by;
  std::vector<handler_function>& table = functions();
  table = handler_functions();
  if (by == nullptr) return;
  for (std::size_t handler = 0; handler < table.size(); ++handler)
    if (is_for_an_element(handler_table()[handler])) table[handler] = &run_by_policy;
}

// A message that has come waits with those that have a priority, and counts as sent once more; as with these, control
// messages of moving elements go by. A backlog of an element (location protocol) has waited already.
void scheduler::run_by_policy(pe& here, envelope& message) {
  auto& own = static_cast<scheduler&>(here);
  constexpr std::uint8_t has_an_order = envelope::has_priority | envelope::is_immediate | envelope::is_backlog;
  const handler_row& row = handler_table()[message.handler];
  if (std::exchange(own.is_its_turn_, false) || (message.flags & has_an_order) != 0) return row.run(here, message);
  envelope* block = nullptr;
  try {
    block = static_cast<envelope*>(arena::allocate(sizeof(envelope)));
  } catch (const arena::arena_exhausted&) {
    return row.run(here, message);  // out of order rather than not at all
  }
  block->assign_message(message);
  own.counters_.sent.add();
  own.ordered_.push(block, methods_in_order.order({.collection = message.collection,
                                                   .element = message.element,
                                                   .method = row.name,
                                                   .source = static_cast<int>(message.source),
                                                   .bytes = message.argument_bytes()}));
}

bool scheduler::run_arrivals() {
  for (int count = 0; count < burst; ++count) {
    envelope* const message = inbox_.front();
    if (message == nullptr) return count > 0;
    run(*message);
    inbox_.pop();
    if (inbox_.has_urgent() || wire_is_due()) return true;
  }
  return true;
}

bool scheduler::run_first_own() {
  envelope* const message = local_.front();
  if (message == nullptr) return false;
  running_own_ = true;
  run(*message);
  running_own_ = false;
  local_.pop();
  return true;
}

bool scheduler::run_own() {
  for (int count = 0; count < burst; ++count) {
    if (!run_first_own()) return count > 0;
    if (inbox_.has_urgent() || wire_is_due()) return true;
  }
  return true;
}

// run_own() may stop between messages, as when the wire is due: what it left goes by the queue policy, too, before the
// first in order runs.
void scheduler::order_own() {
  for (std::uint64_t left = local_.size(); left != 0 && run_first_own(); --left) {
  }
}

bool scheduler::run_seed(bool only_own) {
  envelope seed;
  if (!(only_own ? seeds_.take_own(seed) : seeds_.take(seed))) return false;
  seeds_.give();
  counters_.seeds_begun.add();
  run(seed);
  return true;
}

bool scheduler::run_node_message() {
  if (own_process_.nodes->seems_empty()) return false;
  envelope message;
  if (!own_process_.nodes->pop(message)) return false;
  counters_.node_messages.add();
  run(message);
  return true;
}

envelope* scheduler::pop_timer() {
  envelope* const message = timers_.begin()->second;
  timers_.erase(timers_.begin());
  return message;
}

bool scheduler::run_timers() {
  if (timers_.empty() || timers_.begin()->first.deadline_ticks > os::ticks()) return false;
  run_block(pop_timer());
  return true;
}

bool scheduler::help_on_board() {
  if (own_board_.has_work() && !own_board_.is_in_chunks()) {
    const std::uint64_t before = trace_ == nullptr ? 0 : os::ticks();
    const std::uint64_t cpu_before = spare_clock_ == nullptr ? 0 : spare_clock_->read();
    if (idle_.is_idle()) idle_ended(os::ticks());
    if (samples_) cancel_sample();
    // A portion ends when a message arrives: helping must not delay what only this PE can do.
    if (own_board_.help([this] { return inbox_.seems_empty(); }) > 0) {
      counters_.board_portions.add();
      if (cpu_before != 0) helped_ticks_ += spare_clock_->read() - cpu_before;
      if (trace_ != nullptr && before != 0) [[unlikely]] {  // 0: a body has switched it on
        trace_->mark(trace::event::help, before);           // what bodies did meanwhile is in the file already
        trace_->mark(trace::event::helped);
      }
      if (own_board_.has_work() && own_work_waits()) wake_another_helper();
      return true;
    }
  }
  return own_board_.progress().help();
}

bool scheduler::own_work_waits() {
  if (order_ != nullptr) [[unlikely]]
    return !inbox_.seems_empty() || ordered_work_waits();
  return !inbox_.seems_empty() || !local_.empty() || !ordered_.empty() ||
         (!timers_.empty() && timers_.begin()->first.deadline_ticks <= os::ticks());
}

// In our place, if a PE sleeps.
void scheduler::wake_another_helper() {
  if (own_process_.wake(1) == 0) runtime_.wake_helpers(1, board::any_process);
}

// A PE that made work for any PE while we were marked asleep may have rung us for it, and no other. So before we
// run anything that may take long, either that work is ours or the ring goes on to another sleeper. What is made from
// now on is not left to us: the mark is gone, a ring for it goes to another PE.
bool scheduler::answer_ring() {
  may_be_rung_ = false;
  const bool busy = own_work_waits();
  if (!own_process_.nodes->seems_empty()) {
    if (!busy && run_node_message()) return true;
    own_process_.wake(1);
  }
  if (seeds_.seem_to_exist()) {
    if (busy)
      wake_another_helper();
    else if (run_seed(false))
      return true;
  }
  if (!own_board_.has_work()) return false;
  if (!busy && !own_board_.is_in_chunks()) return help_on_board();
  wake_another_helper();
  return false;
}

// A PE that was rung to become the poller may find work of its own first. Before it is busy, maybe for long, another
// sleeper has to get up for the wire. False: nothing was there to do.
bool scheduler::hand_on_polling() {
  if (!wire_->has_poller()) {
    if (!own_work_waits() && own_process_.nodes->seems_empty() && !own_board_.has_work() && !seeds_.seem_to_exist())
      return false;
    own_process_.wake(1);
  }
  owes_poller_ = false;
  return true;
}

bool scheduler::step() {
  if (order_ != nullptr) [[unlikely]]
    return step_in_order();
  // What comes after that look is left to the next step, or it would run without a poller.
  if (owes_poller_ && !hand_on_polling()) [[unlikely]] {
    last_wire_ticks_ = os::ticks();
    return wire_->progress() || own_board_.progress().help();
  }
  if (may_be_rung_ && answer_ring()) [[unlikely]]
    return true;
  bool worked = false;
  if (inbox_.has_urgent()) [[unlikely]]
    worked = sort_urgent();
  if (!timers_.empty()) worked |= run_timers();
  if (!ordered_.empty() && ordered_.comes_first()) {
    if (methods_in_order.order) [[unlikely]]
      order_own();
    return run_ordered(true);
  }
  worked |= run_arrivals();
  if (inbox_.has_urgent()) [[unlikely]] {  // came meanwhile, or was sent by what has just arrived
    worked |= sort_urgent();
    if (!ordered_.empty() && ordered_.comes_first()) return true;
  }
  worked |= run_own();
  if (makes_progress_on_wire_ && (!worked || wire_is_due())) {
    worked |= wire_->progress();
    last_wire_ticks_ = os::ticks();
  }
  // Own messages may be left: those that come after them in priority, and other work, wait.
  if (worked) {
    ++steps_;
    if (samples_) [[unlikely]]
      end_sample();
    if (steps_ % rare_every == 0) {
      run_node_message();
      run_seed(true);
      // Those of the last priorities use memory for which others wait: what they wait for may be among those.
      if (wire_ != nullptr && wire_->memory_is_asked_for()) run_ordered(false);
      // relaxed: a figure for readers outside of the job
      record_.live.own_queue.store(local_.size() + ordered_.size() + timers_.size(), std::memory_order_relaxed);
      if (steps_ % sample_every == rare_every) begin_sample();  // soon for the first time
    }
    return true;
  }
  return run_ordered(false) || run_seed(false) || run_node_message() || help_on_board();
}

void scheduler::run_until(os::function_ref<bool()> done, bool waiting_on_result) {
  if (trace_ != nullptr && waiting_on_result) [[unlikely]]
    trace_->mark(trace::event::wait);
  bool has_waited = false;
  while (!done()) {
    has_waited = true;
    if (waiting_on_result && runtime_.stopping()) throw stop_unwinding{};
    if (step()) {
      waiting_.busy();
      if (idle_.is_idle()) [[unlikely]]
        idle_ended(idle_.last_look());
      continue;
    }
    idle(waiting_on_result);
  }
  if (order_ != nullptr) [[unlikely]]
    record_.replay_waits_for.store(0, std::memory_order_relaxed);  // relaxed: see check_replay
  // Other hosts may wait for what this PE has sent meanwhile, as in a barrier, and the program may compute for long
  // now.
  if (idle_.is_idle()) idle_ended(os::ticks());
  if (samples_) cancel_sample();  // the program goes on
  if (has_waited) flush_wire();
  if (trace_ != nullptr && waiting_on_result) [[unlikely]]
    trace_->mark(trace::event::resume);
}

void scheduler::flush_wire() {
  if (makes_progress_on_wire_) wire_->flush();
}

bool scheduler::run_idle_hooks() {
  bool helped = false;
  for (auto& hook : idle_hooks_) helped |= hook();
  return helped;
}

void scheduler::idle(bool waiting_on_result) {
  if (trace_ != nullptr) [[unlikely]]
    trace_->idle();
  if (spare_clock_ != nullptr) [[unlikely]]
    count_idle();
  if (run_idle_hooks()) return;
  seeds_.starve();
  const std::uint64_t now = os::ticks();
  if (!idle_.is_idle()) record_.live.own_queue.store(timers_.size(), std::memory_order_relaxed);  // relaxed: a figure
  looks_idle(idle_.nothing_found(now));
  switch (waiting_.next(now)) {
    case arena::wait_step::poll:
      os::cpu_relax();
      break;
    case arena::wait_step::yield:
      sched_yield();
      break;
    case arena::wait_step::sleep:
      looks_idle(idle_.publish());
      sleep(waiting_on_result);
      looks_idle(idle_.nothing_found(os::ticks()));
      if (waiting_on_result) runtime_.check_for_stall(*this);
      return;
  }
  if (waiting_on_result && ++fruitless_ % steps_between_stall_checks == 0) runtime_.check_for_stall(*this);
}

// From one fruitless step to the next, as idle_ knows. What hooks do is little.
void scheduler::count_idle() {
  const std::uint64_t now = spare_clock_->read();
  if (idle_.is_idle()) idle_ticks_ += now - idle_at_;
  idle_at_ = now;
}

// Work that does not come through the inbox, looked for after the PE is marked asleep.
bool scheduler::found_late_work(bool is_poller) {
  if (is_poller ? !wire_->prepare_sleep()
                : makes_progress_on_wire_ && (!wire_->has_poller() || wire_->memory_is_asked_for()))
    return true;
  const bool own_work = order_ != nullptr ? ordered_work_waits() : !local_.empty() || !ordered_.empty();
  return own_work || !own_process_.nodes->seems_empty() || runtime_.stopping() || seeds_.exist_before_sleep() ||
         own_board_.has_work_before_sleep() || own_board_.progress().any_offered_before_sleep();
}

// Negative: for ever. Nobody wakes us for a timer or a stalled program; everything else does.
std::int64_t scheduler::longest_sleep_ns(bool waiting_on_result) const {
  std::int64_t limit_ns = -1;
  const auto no_longer_than = [&](std::int64_t ns) { limit_ns = limit_ns < 0 ? ns : std::min(limit_ns, ns); };
  if (runtime_.values().longest_sleep_ms > 0) no_longer_than(runtime_.values().longest_sleep_ms * ns_of_ms);
  if (const double report_s = runtime_.values().stall_report_s; waiting_on_result && report_s > 0) {
    // A report that is wanted sooner is looked for sooner, but without using the core up.
    no_longer_than(report_s >= 1 ? between_stall_checks_ns
                                 : std::max(ns_of_ms, static_cast<std::int64_t>(report_s * 1e9)));
  }
  if (order_ != nullptr && order_->reader != nullptr) {
    no_longer_than(between_replay_checks_ns);  // its timers run when their turn comes, which no clock knows
  } else if (!timers_.empty()) {
    const std::uint64_t now = os::ticks();
    const std::uint64_t deadline = timers_.begin()->first.deadline_ticks;
    no_longer_than(deadline <= now ? 0 : static_cast<std::int64_t>(os::ticks_to_ns(deadline - now)));
  }
  return limit_ns;
}

// The poller sleeps on the descriptor of the wire and on the ring of the wakeup socket.
void scheduler::sleep_until_rung(std::uint32_t heard, std::int64_t limit_ns, bool is_poller) {
  const arena::unused_cache_guard others_may_have_it;
  if (is_poller)
    runtime_.wire_wakeup().sleep(wire_->wake_descriptor(), wire_->sleep_at_most(limit_ns));
  else
    inbox_.bell().sleep(heard, limit_ns);
}

void scheduler::sleep(bool waiting_on_result) {
  arena::settle();
  const bool is_poller = makes_progress_on_wire_ && wire_->become_poller();
  if (is_poller) record_.inbox->sleep_on(runtime_.wire_wakeup().name());
  auto& idle_word = own_process_.idle_pes[local_number_ / 64];
  const std::uint64_t own_bit = std::uint64_t{1} << (local_number_ % 64);
  const std::uint32_t heard = inbox_.bell().listen();
  // seq_cst: before the look at the node queue below, as the pusher reads this word after its push. pairs:
  // idle.announce
  idle_word.fetch_or(own_bit, std::memory_order_seq_cst);
  bool slept = false;
  if (inbox_.prepare_sleep()) {
    // The hooks once more: what they wait for is announced by a ring of those that fall asleep, and a ring from before
    // the mark would be lost. pairs: idle.listener
    if (!found_late_work(is_poller) && !run_idle_hooks()) {
      slept = true;
      // Counted before the listener hears of it: a PE that waits for this count need not be woken a second time.
      counters_.sleeps.add();
      // A PE may be waiting for all to be idle.
      if (const std::uint32_t listener = runtime_.own_host().listener.to_ring();
          listener != idle_listener::nobody && listener != host_number_)
        if (pe_record* const record = runtime_.record_of(runtime_.first_pe_of_host() + static_cast<int>(listener)))
          record->inbox->wake_if_asleep();
      const std::int64_t limit_ns = longest_sleep_ns(waiting_on_result);
      if (limit_ns != 0) sleep_until_rung(heard, limit_ns, is_poller);
      if (inbox_.bell().listen() != heard) counters_.wakes.add();
    }
    inbox_.wake_up();
  }
  if (is_poller) {
    record_.inbox->sleep_on(0);
    wire_->resign_as_poller();
    // There is no poller, and what we run next may take long: another sleeper becomes it.
    if (slept) own_process_.wake(1);
  }
  owes_poller_ = makes_progress_on_wire_ && !(is_poller && slept) && !wire_->has_poller();
  may_be_rung_ = true;
  idle_word.fetch_and(~own_bit, std::memory_order_relaxed);  // relaxed: a stale bit costs one needless look
  // Somebody is about to give us work (a ticket is out, or all chunks of a task are taken) and may be waiting for our
  // core.
  if (!slept && inbox_.seems_empty() && local_.empty()) sched_yield();
}

}  // namespace tri::sched
