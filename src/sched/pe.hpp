// A processing element: a thread that runs the handlers of the messages sent to it, one after another, each to its end.
// This file is the PE's own, private side; what others see of it is in host_records.hpp.
//
// Order of work in a step: immediate messages, messages with a priority before 0, arrivals and own messages in order of
// arrival, messages with a later priority, the node queue, the board, then idling (idle.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "board/board_pe.hpp"
#include "os/clock.hpp"
#include "os/function_ref.hpp"
#include "os/unique_function.hpp"
#include "sched/handler_table.hpp"
#include "sched/idle.hpp"
#include "sched/inbox.hpp"
#include "sched/local_queue.hpp"
#include "sched/ordered_queue.hpp"
#include "sched/remote/global_counts.hpp"
#include "sched/remote/host_records.hpp"
#include "trace/recorder.hpp"

namespace tri::sched {

class runtime;
class wire_link;

/// Leaves the main program when somebody else stops the job. Not a std::exception: programs should not catch it.
struct stop_unwinding {};

/// Handler of messages whose content was taken out of the queue before their turn.
extern const std::uint32_t taken_handler;

class pe {
 public:
  pe(runtime& owner, int number, int local_number);
  ~pe();
  pe(const pe&) = delete;
  pe& operator=(const pe&) = delete;

  int number() const { return number_; }              ///< in the job
  int local_number() const { return local_number_; }  ///< in the process
  runtime& job() const { return owner_; }
  pe_record& record() const { return *record_; }
  counter_block& counters() const { return record_->counters; }
  bool is_in_this_process(int destination) const {
    return peers_[static_cast<std::size_t>(destination)].process == process_;
  }
  /// A message has had its effect. PE 0 finds quiescence by this count, and what it then sends to our process, to
  /// whichever PE, comes after the message.
  void count_processed() {
    if (!is_in_this_process(0)) arena::published_to_another_process();
    counters().processed.add();
  }

  /// Sends a message: `fill` writes every field of the envelope but stamp and source, and must not throw or send.
  /// Messages without a priority from one PE to another arrive in the order in which they were sent.
  /// Throws arena_exhausted (then nothing was sent). What cannot be sent to another host ends the job.
  template <class Fill>
  void send(int destination, Fill&& fill) {
    if (destination == number_) {
      envelope& slot = local_.push();
      slot.source = static_cast<std::uint32_t>(number_);
      fill(slot);
      if (trace_ != nullptr) [[unlikely]]
        trace_send(trace::target::pe, destination, slot);
      counters().sent.add();
      return;
    }
    inbox_shared* const found = peers_[static_cast<std::size_t>(destination)].inbox;
    if (found == nullptr) [[unlikely]] {
      envelope message{};
      fill(message);
      send_to_host(destination, message);
      return;
    }
    inbox_shared& inbox = *found;
    const inbox_slot slot = claim(inbox, host_number_);
    if (slot.ring == nullptr) [[unlikely]]
      counters().overflowed.add();
    slot.message->source = static_cast<std::uint32_t>(number_);
    fill(*slot.message);
    if (trace_ != nullptr) [[unlikely]]
      trace_send(trace::target::pe, destination, *slot.message);
    counters().sent.add();
    counters().sent_to_others.add();
    publish(inbox, slot);
  }
  /// Sends a message whose envelope has flags or exists already; honours priority and immediacy.
  void send_copy(int destination, const envelope& message);
  /// To whichever PE of a process is idle first. No order is kept.
  void send_to_node(int process, const envelope& message);
  /// To every PE of every other host; takes the payload over.
  void send_to_other_hosts(envelope& message);
  /// The same with the creation of a collection, before any other PE of this host hears of it: all that is sent because
  /// of it, by any sender, arrives later (creation_fence.hpp).
  void send_creation(envelope& message);
  /// To this PE itself once `delay_ns` have passed.
  void send_later(std::int64_t delay_ns, const envelope& message);

  /// Takes out of the queue of own messages those that wait and `match`, in order, and hands each to `use` (which takes
  /// over its payload). For elements that leave while messages to them wait here. The message whose handler calls this
  /// does not wait any more.
  template <class Match, class Use>
  void extract_own(Match&& match, Use&& use) {
    local_.for_each(running_own_ ? 1 : 0, [&](envelope& message) {
      if (!match(message)) return;
      use(message);
      message.handler = taken_handler;  // does nothing; the message counts as processed when its turn comes
    });
  }

  /// Runs messages until `done()`; it is asked after every step. `waiting_on_result`: the main program waits for
  /// something; turns the stall report on. When the job is stopped meanwhile, stop_unwinding is thrown, for what is
  /// waited for may never come.
  void run_until(host::function_ref<bool()> done, bool waiting_on_result = false);
  /// One step: true if anything was done.
  bool step();
  /// After the last step: lets go of every message that still waits here, in whatever queue, and of those of the node.
  void drop_messages();
  /// True while a handler runs, i.e. when waiting by running other messages is not allowed.
  bool in_handler() const { return handler_depth_ > 0; }
  /// This PE's questions to all hosts.
  global_message_counts& global_counts() { return global_counts_; }
  /// This PE's access to the host's board of open work.
  board::board_pe& board() { return board_; }

  /// Called on every fruitless turn; returns true if it did something. Used by services such as quiescence.
  void add_idle_hook(host::unique_function<bool()> hook) { idle_hooks_.push_back(std::move(hook)); }

  /// Where events of this PE go now; null: nowhere. Switched by its own thread.
  trace::recorder* trace() const { return trace_; }
  /// From now on; does nothing on a PE that was not chosen to be traced.
  void switch_trace(bool on);

  /// Per-PE state of upper layers (the objects layer's collections).
  void* upper = nullptr;

 private:
  struct peer {
    inbox_shared* inbox;  // null: the PE is on another host
    int process;
  };
  struct timer {
    std::uint64_t deadline_ticks;
    std::uint64_t sequence;
    envelope* message;  // an arena block
    bool operator>(const timer& other) const {
      return deadline_ticks != other.deadline_ticks ? deadline_ticks > other.deadline_ticks : sequence > other.sequence;
    }
  };

  void send_to_host(int destination, envelope& message);
  void trace_send(trace::target to, int destination, envelope& message);
  static void run_traced(pe& here, envelope& message);
  bool wire_is_due() const { return makes_progress_on_wire_ && host::ticks() - last_wire_ticks_ > wire_every_ticks_; }
  void run(envelope& message) {
    if ((message.flags & envelope::any_count) != 0) [[unlikely]]
      return run_counted(message);
    ++handler_depth_;
    arena::taken_over();
    handlers_[message.handler](*this, message);
    --handler_depth_;
    count_processed();
  }
  void run_counted(envelope& message);
  void release_memory(std::uint8_t count, std::uint64_t bytes);
  void drop(envelope& message);
  void run_block(envelope* message);
  void drop_block(envelope* message);
  bool sort_urgent();
  bool run_ordered(bool only_first);
  bool run_arrivals();
  bool run_own();
  bool run_node_message();
  envelope* pop_timer();
  bool run_timers();
  bool help_on_board();
  bool own_work_waits();
  bool answer_ring();
  bool hand_on_polling();
  void wake_another_helper();
  bool run_idle_hooks();
  void idle(bool waiting_on_result);
  void sleep(bool waiting_on_result);
  void sleep_until_rung(std::uint32_t heard, std::int64_t limit_ns, bool is_poller);
  std::int64_t longest_sleep_ns(bool waiting_on_result) const;
  bool found_late_work(bool is_poller);

  runtime& owner_;
  const int number_;
  const int local_number_;
  const int process_;
  std::uint32_t host_number_;
  pe_record* record_;
  process_record& own_process_;
  const handler_function* handlers_;  // while this PE is traced: a table whose every row is run_traced
  trace::recorder* trace_ = nullptr;
  std::vector<peer> peers_;
  inbox_reader inbox_;
  wire_link* const wire_;              // null with one host
  const bool makes_progress_on_wire_;  // no communication thread does
  const std::uint64_t wire_every_ticks_;
  std::uint64_t last_wire_ticks_ = 0;
  board::board_pe board_;
  local_queue local_;
  ordered_queue ordered_;
  std::vector<timer> timers_;  // a heap, the first deadline first
  std::uint64_t timer_sequence_ = 0;
  global_message_counts global_counts_;
  idle_policy idle_policy_;
  std::vector<host::unique_function<bool()>> idle_hooks_;
  int handler_depth_ = 0;
  bool running_own_ = false;  // the first message of local_ runs
  bool may_be_rung_ = false;  // it was marked asleep since the last step
  bool owes_poller_ = false;  // it got up when there was no poller, and nobody else was rung to become it
  std::uint32_t steps_ = 0;
  std::uint64_t fruitless_ = 0;
};

namespace detail {
inline thread_local pe* this_pe = nullptr;
[[noreturn]] void not_on_a_pe();
}  // namespace detail

/// The PE of the calling thread. Throws std::logic_error on other threads.
inline pe& this_pe() {
  if (detail::this_pe == nullptr) [[unlikely]]
    detail::not_on_a_pe();
  return *detail::this_pe;
}

}  // namespace tri::sched
