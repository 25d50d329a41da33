#include "sched/pe.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>

#include "arena/arena.hpp"
#include "os/clock.hpp"
#include "os/cpu_hints.hpp"
#include "sched/remote/wire_link.hpp"
#include "sched/runtime.hpp"
#include "trace/process_trace.hpp"

namespace tri::sched {
namespace {

constexpr int burst = 64;                       // messages of one source before the others get their turn
constexpr std::uint32_t node_queue_every = 64;  // busy steps between two polls of the node queue
constexpr double wire_every_ns = 10'000;        // a busy PE polls the wire, between two messages
constexpr std::uint64_t steps_between_stall_checks = 1 << 16;
constexpr std::int64_t ns_of_ms = 1'000'000;
constexpr std::int64_t between_stall_checks_ns = 1000 * ns_of_ms;

std::vector<handler_function>& functions() {
  static std::vector<handler_function> table = handler_functions();
  return table;
}

// So tracing costs handlers nothing while it is off.
const handler_function* traced_functions(handler_function traced) {
  static const std::vector<handler_function> table(functions().size(), traced);
  return table.data();
}

std::uint64_t argument_bytes(const envelope& message) {
  return message.kind == payload_kind::direct ? message.used_bytes() : message.block().bytes;
}

}  // namespace

namespace {
void nothing_left(pe&, envelope&) {}
}  // namespace
const std::uint32_t taken_handler = register_handler(&nothing_left, "scheduler: taken", nullptr, &nothing_left);

void detail::not_on_a_pe() {
  throw std::logic_error(
      "trireme: this call must come from a PE: from the function given to tri::run, or from a method of an object");
}

pe::pe(runtime& owner, int number, int local_number)
    : owner_(owner),
      number_(number),
      local_number_(local_number),
      process_(owner.process()),
      host_number_(owner.host_pe_number(number)),
      record_(owner.record_of(number)),
      own_process_(*owner.process_record_of(owner.process())),
      handlers_(functions().data()),
      inbox_(*record_->inbox),
      wire_(owner.wire()),
      makes_progress_on_wire_(wire_ != nullptr && owner.values().comm_thread == host::communication_thread::off),
      wire_every_ticks_(host::ns_to_ticks(wire_every_ns)),
      board_(owner.join_board(number)),
      idle_policy_(owner.values().idle, owner.placement().oversubscribed,
                   host::ns_to_ticks(static_cast<double>(owner.values().idle_spin_us) * 1000.0)) {
  peers_.resize(static_cast<std::size_t>(owner.pes()));
  for (int other = 0; other < owner.pes(); ++other) {
    pe_record* const record = owner.record_of(other);
    peers_[static_cast<std::size_t>(other)] = {record == nullptr ? nullptr : record->inbox, owner.process_of(other)};
  }
}

pe::~pe() = default;

void pe::switch_trace(bool on) {
  trace::process_trace* const traces = owner_.traces();
  trace::recorder* const own = traces == nullptr ? nullptr : traces->of_pe(local_number_);
  if (own == nullptr || (trace_ != nullptr) == on) return;
  own->mark(on ? trace::event::on : trace::event::off);
  traces->switched(on);
  trace_ = on ? own : nullptr;
  handlers_ = on ? traced_functions(&run_traced) : functions().data();
}

void pe::run_traced(pe& here, envelope& message) {
  const std::uint32_t handler = message.handler;
  const trace::recorder::began start =
      here.trace_->begin(handler, message.source, argument_bytes(message), message.trace_tag());
  functions()[handler](here, message);
  if (here.trace_ != nullptr) here.trace_->end(handler, start);
}

void pe::trace_send(trace::target to, int destination, envelope& message) {
  message.set_trace_tag(trace::tag_of(
      trace_->send(message.handler, to, static_cast<std::uint32_t>(destination), argument_bytes(message))));
}

// Counted first: the receiver, and who relays, may count their part at once.
void pe::send_to_host(int destination, envelope& message) {
  message.source = static_cast<std::uint32_t>(number_);
  if (trace_ != nullptr) [[unlikely]]
    trace_send(trace::target::pe, destination, message);
  counters().sent.add();
  counters().sent_to_others.add();
  wire_->send(*this, destination, message);
}

void pe::send_to_other_hosts(envelope& message) {
  message.source = static_cast<std::uint32_t>(number_);
  if (trace_ != nullptr) [[unlikely]]
    trace_send(trace::target::other_hosts, 0, message);
  wire_->send_to_other_hosts(*this, message);
}

void pe::send_creation(envelope& message) {
  message.source = static_cast<std::uint32_t>(number_);
  if (trace_ != nullptr) [[unlikely]]
    trace_send(trace::target::other_hosts, 0, message);
  wire_->send_creation(*this, message);
}

void pe::send_copy(int destination, const envelope& message) {
  if ((message.flags & (envelope::has_priority | envelope::is_immediate)) == 0) {
    send(destination, [&](envelope& slot) { slot.assign_message(message); });
    return;
  }
  inbox_shared* const inbox = peers_[static_cast<std::size_t>(destination)].inbox;
  if (inbox == nullptr) {
    envelope copy{};
    copy.assign_message(message);
    send_to_host(destination, copy);
    return;
  }
  auto* const block = static_cast<envelope*>(arena::allocate_on_pe(sizeof(envelope)));
  block->assign_message(message);
  block->source = static_cast<std::uint32_t>(number_);
  if (trace_ != nullptr) [[unlikely]]
    trace_send(trace::target::pe, destination, *block);
  counters().sent.add();
  if (destination != number_) counters().sent_to_others.add();
  push_urgent(*inbox, block);
}

void pe::send_to_node(int process, const envelope& message) {
  process_record* const target = owner_.process_record_of(process);
  counters().sent.add();
  envelope copy;
  copy.assign_message(message);
  copy.source = static_cast<std::uint32_t>(number_);
  if (trace_ != nullptr) [[unlikely]]
    trace_send(trace::target::process, process, copy);
  if (target == nullptr) {
    wire_->send_to_node(*this, process, copy);
    return;
  }
  try {
    target->nodes->push(copy);
  } catch (...) {
    // It had to be counted first, or its receiver could have counted it before us. Until now quiescence erred on
    // the safe side.
    counters().sent.add(~std::uint64_t{0});
    throw;
  }
  target->wake(1);
}

void pe::send_later(std::int64_t delay_ns, const envelope& message) {
  const auto delay = delay_ns > 0 ? host::ns_to_ticks(static_cast<double>(delay_ns)) : 0;
  auto* const block = static_cast<envelope*>(arena::allocate_on_pe(sizeof(envelope)));
  block->assign_message(message);
  block->source = static_cast<std::uint32_t>(number_);
  timers_.push_back({host::ticks() + delay, timer_sequence_++, block});
  std::push_heap(timers_.begin(), timers_.end(), std::greater<>());
  counters().sent.add();
}

// The memory of a message from another host is free when its handler has ended, also when that keeps the message: what
// it waits for may be behind it at its sender.
void pe::run_counted(envelope& message) {
  const std::uint8_t count = message.flags & envelope::any_count;
  const std::uint64_t bytes = wire_link::cost_of(message);
  message.flags &= static_cast<std::uint8_t>(~envelope::any_count);
  run(message);
  release_memory(count, bytes);
}

void pe::release_memory(std::uint8_t count, std::uint64_t bytes) {
  (count == envelope::is_counted ? counters().remote_bytes_done : counters().remote_copy_bytes_done).add(bytes);
}

void pe::drop(envelope& message) {
  const std::uint8_t count = message.flags & envelope::any_count;
  const std::uint64_t bytes = count == 0 ? 0 : wire_link::cost_of(message);
  drop_message(*this, message);
  if (count != 0) release_memory(count, bytes);
}

void pe::run_block(envelope* message) {
  run(*message);
  arena::release_on_pe(message);
}

void pe::drop_block(envelope* message) {
  drop(*message);
  arena::release_on_pe(message);
}

// Destructors of arguments may send, and most send to where they are: again until a whole round finds nothing.
void pe::drop_messages() {
  for (bool dropped = true; std::exchange(dropped, false);) {
    for (envelope* message = inbox_.take_urgent(); message != nullptr; dropped = true)
      drop_block(std::exchange(message, message->next()));
    for (; envelope* const message = inbox_.front(); inbox_.pop(), dropped = true) {
      arena::taken_over();
      drop(*message);
    }
    for (; envelope* const message = local_.front(); local_.pop(), dropped = true) drop(*message);
    for (; !ordered_.empty(); dropped = true) drop_block(ordered_.pop());
    for (; !timers_.empty(); dropped = true) drop_block(pop_timer());
    for (envelope message; own_process_.nodes->pop(message); dropped = true) {
      arena::taken_over();
      drop(message);
    }
  }
}

// Immediate messages run now; those with a priority are put in order. True if any ran.
bool pe::sort_urgent() {
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

bool pe::run_ordered(bool only_first) {
  if (ordered_.empty() || (only_first && !ordered_.comes_first())) return false;
  run_block(ordered_.pop());
  return true;
}

bool pe::run_arrivals() {
  for (int count = 0; count < burst; ++count) {
    envelope* const message = inbox_.front();
    if (message == nullptr) return count > 0;
    run(*message);
    inbox_.pop();
    if (inbox_.has_urgent() || wire_is_due()) return true;
  }
  return true;
}

bool pe::run_own() {
  for (int count = 0; count < burst; ++count) {
    envelope* const message = local_.front();
    if (message == nullptr) return count > 0;
    running_own_ = true;
    run(*message);
    running_own_ = false;
    local_.pop();
    if (inbox_.has_urgent() || wire_is_due()) return true;
  }
  return true;
}

bool pe::run_node_message() {
  if (own_process_.nodes->seems_empty()) return false;
  envelope message;
  if (!own_process_.nodes->pop(message)) return false;
  counters().node_messages.add();
  run(message);
  return true;
}

envelope* pe::pop_timer() {
  envelope* const message = timers_.front().message;
  std::pop_heap(timers_.begin(), timers_.end(), std::greater<>());
  timers_.pop_back();
  return message;
}

bool pe::run_timers() {
  if (timers_.empty() || timers_.front().deadline_ticks > host::ticks()) return false;
  run_block(pop_timer());
  return true;
}

bool pe::help_on_board() {
  if (board_.has_work() && !board_.is_in_chunks()) {
    const std::uint64_t before = trace_ == nullptr ? 0 : host::ticks();
    // A portion ends when a message arrives: helping must not delay what only this PE can do.
    if (board_.help([this] { return inbox_.seems_empty(); }) > 0) {
      counters().board_portions.add();
      if (trace_ != nullptr && before != 0) [[unlikely]] {  // 0: a body has switched it on
        trace_->mark(trace::event::help, before);           // what bodies did meanwhile is in the file already
        trace_->mark(trace::event::helped);
      }
      if (board_.has_work() && own_work_waits()) wake_another_helper();
      return true;
    }
  }
  return board_.progress().help();
}

bool pe::own_work_waits() {
  return !inbox_.seems_empty() || !local_.empty() || !ordered_.empty() ||
         (!timers_.empty() && timers_.front().deadline_ticks <= host::ticks());
}

// In our place, if anybody sleeps.
void pe::wake_another_helper() {
  if (own_process_.wake(1) == 0) owner_.wake_helpers(1, board::any_process);
}

// A PE that made work for any PE while we were marked asleep may have rung us for it, and no other. So before we
// run anything that may take long, either that work is ours or the ring goes on to another sleeper. What is made from
// now on is not left to us: the mark is gone, a ring for it goes to somebody else.
bool pe::answer_ring() {
  may_be_rung_ = false;
  const bool busy = own_work_waits();
  if (!own_process_.nodes->seems_empty()) {
    if (!busy && run_node_message()) return true;
    own_process_.wake(1);
  }
  if (!board_.has_work()) return false;
  if (!busy && !board_.is_in_chunks()) return help_on_board();
  wake_another_helper();
  return false;
}

// A PE that was rung to become the poller may find work of its own first. Before it is busy, maybe for long, another
// sleeper has to get up for the wire. False: nothing was there to do.
bool pe::hand_on_polling() {
  if (!wire_->has_poller()) {
    if (!own_work_waits() && own_process_.nodes->seems_empty() && !board_.has_work()) return false;
    own_process_.wake(1);
  }
  owes_poller_ = false;
  return true;
}

bool pe::step() {
  // What comes after that look is left to the next step, or it would run without a poller.
  if (owes_poller_ && !hand_on_polling()) [[unlikely]] {
    last_wire_ticks_ = host::ticks();
    return wire_->progress() || board_.progress().help();
  }
  if (may_be_rung_ && answer_ring()) [[unlikely]]
    return true;
  bool worked = false;
  if (inbox_.has_urgent()) [[unlikely]]
    worked = sort_urgent();
  if (!timers_.empty()) worked |= run_timers();
  if (run_ordered(true)) return true;
  worked |= run_arrivals();
  if (inbox_.has_urgent()) [[unlikely]] {  // came meanwhile, or was sent by what has just arrived
    worked |= sort_urgent();
    if (!ordered_.empty() && ordered_.comes_first()) return true;
  }
  worked |= run_own();
  if (makes_progress_on_wire_ && (!worked || wire_is_due())) {
    worked |= wire_->progress();
    last_wire_ticks_ = host::ticks();
  }
  // Own messages may be left: those that come after them in priority, and other work, wait.
  if (worked) {
    if (++steps_ % node_queue_every == 0) {
      run_node_message();
      // Those of the last priorities use memory for which others wait: what they wait for may be among those.
      if (wire_ != nullptr && wire_->memory_is_asked_for()) run_ordered(false);
    }
    return true;
  }
  return run_ordered(false) || run_node_message() || help_on_board();
}

void pe::run_until(host::function_ref<bool()> done, bool waiting_on_result) {
  if (trace_ != nullptr && waiting_on_result) [[unlikely]]
    trace_->mark(trace::event::wait);
  while (!done()) {
    if (waiting_on_result && owner_.stopping()) throw stop_unwinding{};
    if (step()) {
      idle_policy_.busy();
      continue;
    }
    idle(waiting_on_result);
  }
  if (trace_ != nullptr && waiting_on_result) [[unlikely]]
    trace_->mark(trace::event::resume);
}

bool pe::run_idle_hooks() {
  bool helped = false;
  for (auto& hook : idle_hooks_) helped |= hook();
  return helped;
}

void pe::idle(bool waiting_on_result) {
  if (trace_ != nullptr) [[unlikely]]
    trace_->idle();
  if (run_idle_hooks()) return;
  switch (idle_policy_.next(host::ticks())) {
    case idle_step::spin:
      host::cpu_relax();
      break;
    case idle_step::yield:
      sched_yield();
      break;
    case idle_step::sleep:
      sleep(waiting_on_result);
      if (waiting_on_result) owner_.check_for_stall(*this);
      return;
  }
  if (waiting_on_result && ++fruitless_ % steps_between_stall_checks == 0) owner_.check_for_stall(*this);
}

// Work that does not come through the inbox, looked for after the PE is marked asleep.
bool pe::found_late_work(bool is_poller) {
  if (is_poller ? !wire_->prepare_sleep()
                : makes_progress_on_wire_ && (!wire_->has_poller() || wire_->memory_is_asked_for()))
    return true;
  return !local_.empty() || !ordered_.empty() || !own_process_.nodes->seems_empty() || owner_.stopping() ||
         board_.has_work_before_sleep() || board_.progress().any_offered_before_sleep();
}

// Negative: for ever. Nobody wakes us for a timer or a stalled program; everything else does.
std::int64_t pe::longest_sleep_ns(bool waiting_on_result) const {
  std::int64_t limit_ns = -1;
  const auto no_longer_than = [&](std::int64_t ns) { limit_ns = limit_ns < 0 ? ns : std::min(limit_ns, ns); };
  if (owner_.values().longest_sleep_ms > 0) no_longer_than(owner_.values().longest_sleep_ms * ns_of_ms);
  if (waiting_on_result && owner_.values().stall_report_s > 0) no_longer_than(between_stall_checks_ns);
  if (!timers_.empty()) {
    const std::uint64_t now = host::ticks();
    const std::uint64_t deadline = timers_.front().deadline_ticks;
    no_longer_than(deadline <= now ? 0 : static_cast<std::int64_t>(host::ticks_to_ns(deadline - now)));
  }
  return limit_ns;
}

// The poller sleeps on the descriptor of the wire and on the ring of the wakeup socket.
void pe::sleep_until_rung(std::uint32_t heard, std::int64_t limit_ns, bool is_poller) {
  const arena::unused_cache_guard others_may_have_it;
  if (is_poller)
    owner_.wire_wakeup().sleep(wire_->wake_descriptor(), wire_->sleep_at_most(limit_ns));
  else
    inbox_.bell().sleep(heard, limit_ns);
}

void pe::sleep(bool waiting_on_result) {
  arena::settle();
  const bool is_poller = makes_progress_on_wire_ && wire_->become_poller();
  if (is_poller) record_->inbox->sleep_on(owner_.wire_wakeup().name());
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
      // Counted before the listener hears of it: who waits for this count need not be woken a second time.
      counters().sleeps.add();
      // Somebody may be waiting for everybody to be idle.
      if (const std::uint32_t listener = owner_.own_host().listener.to_ring();
          listener != idle_listener::nobody && listener != host_number_)
        if (pe_record* const record = owner_.record_of(owner_.first_pe_of_host() + static_cast<int>(listener)))
          record->inbox->wake_if_asleep();
      const std::int64_t limit_ns = longest_sleep_ns(waiting_on_result);
      if (limit_ns != 0) sleep_until_rung(heard, limit_ns, is_poller);
      if (inbox_.bell().listen() != heard) counters().wakes.add();
    }
    inbox_.wake_up();
  }
  if (is_poller) {
    record_->inbox->sleep_on(0);
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
