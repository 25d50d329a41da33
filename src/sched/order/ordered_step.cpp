// The step of a scheduler whose messages run in an order of its own (pe_order.hpp), instead of scheduler::step, which
// asks for it by one branch. One message of the record a step, immediate ones too: what waits for a result looks after
// each, and in a replay it has to look at the same moments.
#include <fmt/format.h>
#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "os/clock.hpp"
#include "sched/order/pe_order.hpp"
#include "sched/process_runtime.hpp"
#include "sched/remote/wire_link.hpp"
#include "sched/scheduler.hpp"
#include "trireme/detail/arena/allocate.hpp"

namespace tri::sched {
namespace {

constexpr int most_arrivals = 1024;  // in a step

message_role role_of(const envelope& message) { return handler_table()[message.handler].role; }

bool is_timer(const envelope& message, const recorded_message& name) {
  return message.handler == name.handler && message.stamp == name.number && role_of(message) != message_role::service;
}

constexpr const char* not_that_job = "the program, its arguments or its input are not those of the recorded job";

std::string text_of(const recorded_message& entry) {
  if (entry.what == message_class::value) return "a number that all PEs share";
  return fmt::format("'{}' of PE {}", handler_table()[entry.handler].name, entry.source);
}

// What a PE of a replay waits for, as others of its host read it: `waits`, and the entry or `at_end`.
constexpr std::uint64_t waits = std::uint64_t{1} << 63;
constexpr std::uint64_t at_end = std::uint64_t{1} << 62;
std::uint64_t packed(const recorded_message* next) {
  if (next == nullptr) return waits | at_end;
  return waits | static_cast<std::uint64_t>(next->what) << 52 | std::uint64_t{next->handler} << 24 | next->source;
}
recorded_message unpacked(std::uint64_t what) {
  return {static_cast<message_class>(what >> 52 & 15), static_cast<std::uint32_t>(what & 0xffffff),
          static_cast<std::uint32_t>(what >> 24 & 0xfffffff), 0};
}

}  // namespace

bool scheduler::step_in_order() {
  if (owes_poller_ && !hand_on_polling()) [[unlikely]] {
    last_wire_ticks_ = os::ticks();
    return wire_->progress() || own_board_.progress().help();
  }
  if (std::exchange(may_be_rung_, false)) {  // others look after what we were rung for, as we may run something else
    if (!own_process_.nodes->seems_empty()) own_process_.wake(1);
    if (own_board_.has_work() || seeds_.seem_to_exist()) wake_another_helper();
  }
  bool worked = take_arrivals();
  worked |= run_services();
  worked |= order_->reader != nullptr ? run_recorded() : run_chosen();
  if (makes_progress_on_wire_ && (!worked || wire_is_due())) {
    worked |= wire_->progress();
    last_wire_ticks_ = os::ticks();
  }
  return worked || run_seed(false) || help_on_board();  // seeds: under a shuffle only
}

void scheduler::take_urgent() {
  for (envelope* message = inbox_.take_urgent(); message != nullptr;) {
    envelope* const next = message->next();
    if (role_of(*message) == message_role::service) {
      run_block(message);
    } else {
      order_->number_urgent(*message);
      const bool is_own = static_cast<int>(message->source) == number_;
      if (order_->reader != nullptr)
        order_->kept.emplace(std::pair(counted_as(message->source, message->handler), message->stamp), message);
      else if ((message->flags & envelope::is_immediate) != 0)
        order_->immediate.push_back(message);
      else
        order_->late.emplace_back(order_->shuffles && !is_own ? order_->due_of_urgent(*message, os::ticks()) : 0,
                                  message);
    }
    message = next;
  }
}

// From the queues of others into memory of our own. Whether there was something with a priority. Under a shuffle,
// nothing is taken from behind the creation of a collection until that has run: any sender may speak of the collection
// there.
bool scheduler::take_arrivals() {
  const bool took = inbox_.has_urgent();
  if (took) take_urgent();
  for (int taken = 0; taken < most_arrivals; ++taken) {
    envelope* const message = inbox_.front();
    if (message == nullptr) break;
    const message_role role = role_of(*message);
    if (role == message_role::service) {
      run(*message);
    } else if (role == message_role::creation && order_->shuffles) {
      break;
    } else {
      arena::taken_over();
      keep_arrival(*message);
    }
    inbox_.pop();
  }
  if (order_->reader != nullptr && order_->nodes.collect(*own_process_.nodes))
    own_process_.wake(static_cast<std::uint32_t>(runtime_.pes_per_process()));
  return took;
}

void scheduler::keep_arrival(envelope& message) {
  if (order_->reader == nullptr) {
    order_->pool.push(order_->channel_for(message), message, order_->shuffles ? order_->shuffler.due(os::ticks()) : 0);
    return;
  }
  const recorded_message name = name_in_record(message);
  if (const std::uint8_t count = message.flags & envelope::any_count; count != 0) {
    // What the record has first may wait at its sender for this memory.
    release_memory(count, wire_link::cost_of(message));
    message.flags = static_cast<std::uint8_t>(message.flags & ~envelope::any_count);
  }
  if (name.what == message_class::copy)
    order_->copies.emplace(std::pair(counted_as(name.source, name.handler), name.number), message);
  else
    order_->pool.push(order_->channel_for(message), message, 0);
}

recorded_message scheduler::name_in_record(const envelope& message) const {
  return name_of(message, !runtime_.is_on_own_host(static_cast<int>(message.source)));
}

// The first of the timers that are wanted, taken out; null: there is none.
envelope* scheduler::take_timer(os::function_ref<bool(const envelope&)> wanted) {
  const auto found =
      std::find_if(timers_.begin(), timers_.end(), [&](const auto& each) { return wanted(*each.second); });
  if (found == timers_.end()) return nullptr;
  envelope* const message = found->second;
  timers_.erase(found);
  return message;
}

// Those that the clock asks for.
bool scheduler::run_services() {
  if (timers_.empty()) return false;
  const std::uint64_t now = os::ticks();
  const auto due = std::find_if(timers_.begin(), timers_.end(), [&](const auto& each) {
    return each.first.deadline_ticks <= now && role_of(*each.second) == message_role::service;
  });
  if (due == timers_.end()) return false;
  run_block(take_timer([wanted = due->second](const envelope& each) { return &each == wanted; }));
  return true;
}

// Always true.
bool scheduler::run_in_order(const recorded_message& name, envelope* block) {
  order_->about_to_run(name);
  run_block(block);
  return true;
}

// The creation at the front of the inbox: what its sender sent before it has run.
bool scheduler::creation_may_run() {
  if (!order_->shuffles) return false;
  const envelope* const message = inbox_.front();
  return message != nullptr && role_of(*message) == message_role::creation &&
         !order_->pool.has(order_->channel_for(*message));
}

// Messages with a priority keep it among those that count as arrived. Of all others that may run, one is chosen: by
// chance, or in turns.
bool scheduler::run_chosen() {
  if (!order_->immediate.empty()) {
    envelope* const first = order_->immediate.front();
    order_->immediate.pop_front();
    return run_in_order({message_class::urgent, first->source, first->handler, first->stamp}, first);
  }
  const std::uint64_t now = os::ticks();
  auto& late = order_->late;
  for (std::size_t i = 0; i < late.size();) {
    if (late[i].first > now) {
      ++i;
      continue;
    }
    ordered_.push(late[i].second);
    late.erase(late.begin() + static_cast<std::ptrdiff_t>(i));
  }
  const auto run_first_ordered = [this] {
    envelope* const first = ordered_.pop();
    return run_in_order({message_class::urgent, first->source, first->handler, first->stamp}, first);
  };
  if (!ordered_.empty() && ordered_.comes_first()) return run_first_ordered();
  order_->ready.clear();
  order_->pool.list_ready(now, order_->ready);
  const std::size_t channels = order_->ready.size();
  std::size_t others[4];
  std::size_t count = 0;
  if (!local_.empty()) others[count++] = 0;
  if (creation_may_run()) others[count++] = 1;
  // A service that has become due since run_services() is for the next step: it is no part of the record.
  if (!timers_.empty() && timers_.begin()->first.deadline_ticks <= now &&
      role_of(*timers_.begin()->second) != message_role::service)
    others[count++] = 2;
  if (!own_process_.nodes->seems_empty()) others[count++] = 3;
  if (channels + count == 0) return !ordered_.empty() && run_first_ordered();
  const std::size_t chosen =
      order_->shuffles ? order_->shuffler.choose(channels + count) : order_->turns++ % (channels + count);
  if (chosen >= channels) {
    run_candidate(others[chosen - channels]);
    return true;
  }
  envelope message = order_->pool.pop(order_->ready[chosen]);
  order_->about_to_run(name_in_record(message));
  run(message);
  return true;
}

// Of those that do not lie in the pool: of the own queue, a creation, a timer, of the node queue.
void scheduler::run_candidate(std::size_t which) {
  if (which == 0) {
    envelope* const message = local_.front();
    order_->about_to_run({message_class::message, message->source, message->handler, 0});
    running_own_ = true;
    run(*message);
    running_own_ = false;
    local_.pop();
  } else if (which == 1) {
    envelope* const message = inbox_.front();
    order_->about_to_run(name_in_record(*message));
    run(*message);
    inbox_.pop();
  } else if (which == 2) {
    envelope* const message = pop_timer();
    run_in_order({message_class::timer, message->source, message->handler, message->stamp}, message);
  } else if (auto taken = order_->nodes.take(*own_process_.nodes)) {  // else another PE was faster
    counters_.node_messages.add();
    order_->about_to_run({message_class::node, taken->message.source, taken->message.handler, taken->number});
    run(taken->message);
  }
}

bool scheduler::recorded_is_here(const recorded_message& next) {
  switch (next.what) {
    case message_class::message:
    case message_class::request:
      if (next.what == message_class::message && static_cast<int>(next.source) == number_) return !local_.empty();
      return order_->pool.has(channel_of(next.what, next.source));
    case message_class::copy:
      return order_->copies.contains({counted_as(next.source, next.handler), next.number});
    case message_class::urgent:
      return order_->kept.contains({counted_as(next.source, next.handler), next.number});
    case message_class::node:
      return order_->nodes.has(next);
    case message_class::timer:
      return std::any_of(timers_.begin(), timers_.end(),
                         [&](const auto& each) { return is_timer(*each.second, next); });
    default:
      return false;
  }
}

bool scheduler::run_recorded() {
  const recorded_message* const next = order_->reader->next();
  if (next == nullptr || !recorded_is_here(*next)) {
    check_replay();
    return false;
  }
  if (order_->waits_since_ns != 0) {
    order_->waits_since_ns = 0;
    record_.replay_waits_for.store(0, std::memory_order_relaxed);  // relaxed: see check_replay
  }
  const recorded_message copy = *next;
  order_->reader->pop();
  run_next_recorded(copy);
  return true;
}

void scheduler::run_next_recorded(const recorded_message& next) {
  const auto check = [&](const envelope& came) {
    if (came.handler == next.handler) return;
    runtime_.fail(fmt::format("the replay leaves its record: entry {} of PE {} is {} there, but '{}' came: {}",
                              order_->reader->position(), number_, text_of(next), handler_table()[came.handler].name,
                              not_that_job));
  };
  switch (next.what) {
    case message_class::message:
    case message_class::request:
      if (next.what == message_class::message && static_cast<int>(next.source) == number_) {
        check(*local_.front());
        return run_candidate(0);
      } else {
        envelope message = order_->pool.pop(channel_of(next.what, next.source));
        check(message);
        return run(message);
      }
    case message_class::copy: {
      envelope message = order_->copies.extract({counted_as(next.source, next.handler), next.number}).mapped();
      return run(message);
    }
    case message_class::urgent: {
      envelope* const message = order_->kept.extract({counted_as(next.source, next.handler), next.number}).mapped();
      return run_block(message);
    }
    case message_class::node: {
      auto message = order_->nodes.take_collected(next);
      counters_.node_messages.add();
      return run(*message);
    }
    default: {
      envelope* const message = take_timer(
          [&](const envelope& each) { return each.stamp == next.number && role_of(each) != message_role::service; });
      check(*message);
      return run_block(message);
    }
  }
}

bool scheduler::ordered_work_waits() {
  if (order_->reader != nullptr) {
    const recorded_message* const next = order_->reader->next();
    return next != nullptr && recorded_is_here(*next);
  }
  return !order_->pool.empty() || !order_->immediate.empty() || !order_->late.empty() || !local_.empty() ||
         !ordered_.empty();
}

// The replay does not go on if all PEs of this host wait, and no message has run here for longer than a stall report
// takes (which may be part of the record). relaxed, the flags: the counts, read seconds apart, decide that nothing
// runs; a flag that is late is seen at the next look.
void scheduler::check_replay() {
  const order_reader& reader = *order_->reader;
  const std::int64_t now = os::now_ns();
  const std::uint64_t processed = runtime_.counts_of_host().processed;
  if (order_->waits_since_ns == 0 || processed != order_->processed_before) {
    order_->waits_since_ns = now;
    order_->processed_before = processed;
    record_.replay_waits_for.store(packed(reader.next()), std::memory_order_relaxed);
    return;
  }
  constexpr double longer_than_report_s = 3;
  constexpr double without_report_s = 10;
  const double report_s = runtime_.values().stall_report_s;
  const double limit_s = report_s > 0 ? report_s + longer_than_report_s : without_report_s;
  if (static_cast<double>(now - order_->waits_since_ns) * 1e-9 < limit_s) return;
  // One PE reports: the first that waits for a message, or, if none does, PE 0, whose program waits.
  int first_waiting = -1;
  for (int other = runtime_.first_pe_of_host(); other < runtime_.first_pe_of_host() + runtime_.pes_of_host(); ++other) {
    const std::uint64_t what = runtime_.record_of(other)->replay_waits_for.load(std::memory_order_relaxed);
    if ((what & waits) == 0) return;
    if ((what & at_end) == 0 && first_waiting < 0) first_waiting = other;
  }
  if (number_ == std::max(first_waiting, 0)) report_replay();
}

void scheduler::report_replay() const {
  const order_reader& reader = *order_->reader;
  if (reader.next() == nullptr)
    runtime_.fail(fmt::format("the replay has come to the end of its record, after {} entries on PE {}: {}",
                              reader.size(), number_,
                              reader.is_complete() ? not_that_job : "there the recorded job ended or hung"));
  std::string text = fmt::format("the replay does not go on: entry {} of {} of PE {} is {}, which does not come",
                                 reader.position() + 1, reader.size(), number_, text_of(*reader.next()));
  for (int other = number_ + 1; other < runtime_.first_pe_of_host() + runtime_.pes_of_host(); ++other) {
    const std::uint64_t what = runtime_.record_of(other)->replay_waits_for.load(std::memory_order_relaxed);
    if ((what & at_end) == 0) text += fmt::format("; PE {} waits for {}", other, text_of(unpacked(what)));
  }
  runtime_.fail(text + ": " + not_that_job);
}

std::uint64_t scheduler::repeatable_in_order(std::uint64_t value) {
  order_->about_to_run({message_class::value, 0, 0, value});
  if (order_->reader == nullptr) return value;
  const recorded_message* const next = order_->reader->next();
  if (next == nullptr) return value;  // the recorded job ended in this method
  if (next->what != message_class::value)
    runtime_.fail(
        fmt::format("the replay leaves its record: after entry {} of PE {} comes {} there, but the program "
                    "draws a number that all PEs share: {}",
                    order_->reader->position(), number_, text_of(*next), not_that_job));
  const std::uint64_t recorded = next->number;
  order_->reader->pop();
  return recorded;
}

// Whether there was something.
bool scheduler::drop_ordered() {
  bool dropped = false;
  for (; !order_->pool.empty(); dropped = true) {
    envelope message = order_->pool.pop(order_->pool.any_channel());
    drop(message);
  }
  for (; !order_->copies.empty(); dropped = true) {
    envelope message = order_->copies.extract(order_->copies.begin()).mapped();
    drop(message);
  }
  for (; !order_->immediate.empty(); dropped = true) {
    envelope* const message = order_->immediate.front();
    order_->immediate.pop_front();
    drop_block(message);
  }
  for (; !order_->late.empty(); dropped = true) {
    envelope* const message = order_->late.back().second;
    order_->late.pop_back();
    drop_block(message);
  }
  for (; !order_->kept.empty(); dropped = true) drop_block(order_->kept.extract(order_->kept.begin()).mapped());
  for (auto message = order_->nodes.take_any(); message; message = order_->nodes.take_any(), dropped = true)
    drop(*message);
  return dropped;
}

}  // namespace tri::sched
