// A processing element as seen by programs and upper layers: its identity, and how its handlers send. Its thread runs
// the handlers of the messages sent to it, one after another, each to completion; its scheduler does that
// (scheduler.hpp). Its state visible to other PEs is in host_records.hpp.
//
// Programs are compiled against this file: a message to the own PE is written inline, all else is behind
// calls.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "trireme/detail/arena/sanitizer_handover.hpp"
#include "trireme/detail/os/function_ref.hpp"
#include "trireme/detail/os/unique_function.hpp"
#include "trireme/detail/sched/counters.hpp"
#include "trireme/detail/sched/envelope.hpp"
#include "trireme/detail/sched/handler_table.hpp"
#include "trireme/detail/sched/inbox_slot.hpp"
#include "trireme/detail/sched/local_queue.hpp"

#pragma GCC visibility push(default)

namespace tri::board {
class board_pe;
}  // namespace tri::board

namespace tri::os {
class task_clock;
}  // namespace tri::os

namespace tri::trace {
class recorder;
enum class target : std::uint8_t;
}  // namespace tri::trace

namespace tri::sched {

class global_message_counts;
struct inbox_shared;
class runtime;
struct pe_record;

/// Unwinds the main program when another PE stops the job. Not a std::exception: programs should not catch it.
struct stop_unwinding {};

/// Handler of messages whose content was taken out of the queue before their turn.
extern const std::uint32_t taken_handler;

/// Names a message that was sent to later; in the order in which they run.
struct timer_name {
  std::uint64_t deadline_ticks = 0;
  std::uint64_t sequence = 0;
  friend auto operator<=>(const timer_name&, const timer_name&) = default;
};

/// Where to send to a PE of the job.
struct pe_peer {
  inbox_shared* inbox;  // null: the PE is on another host
  int process;
};

/// Calls are for the thread of this PE, unless noted otherwise.
class pe {
 public:
  pe(const pe&) = delete;
  pe& operator=(const pe&) = delete;

  int number() const { return number_; }              ///< in the job
  int local_number() const { return local_number_; }  ///< in the process
  runtime& job() const { return owner_; }
  /// The PE for which a request is being served (handler_row::may_be_served): this one, or another of its process.
  int serves() const { return serves_; }
  /// A request of another host is being served: what it sends to one PE is the answer, or goes with it.
  bool is_serving() const { return is_serving_; }
  /// The first answer with a block takes the slot of the request, if it holds one.
  bool take_slot() { return std::exchange(holds_slot_, false); }
  pe_record& record() const { return record_; }
  counter_block& counters() const { return counters_; }
  bool is_in_this_process(int destination) const {
    return peers_[static_cast<std::size_t>(destination)].process == process_;
  }
  /// A message has had its effect. PE 0 detects quiescence by this count, and its later sends to any PE of our process
  /// happen after the message.
  void count_processed() {
    if (!is_in_this_process(0)) arena::published_to_another_process();
    counters_.processed.add();
  }

  /// A main program of this PE besides that of PE 0 counts as a message that is being processed, except while it waits:
  /// quiescence and the stall report would overlook it. Before it, and after it.
  void main_program_begins() {
    main_program_counts_ = true;
    counters_.sent.add();
  }
  void main_program_ends() {
    count_processed();
    main_program_counts_ = false;
  }
  /// It waits for a result. False: it does not count, or waits already.
  bool main_program_waits() {
    if (!main_program_counts_) return false;
    main_program_counts_ = false;
    count_processed();
    return true;
  }
  /// Before the message that brings the result counts as processed.
  void main_program_resumes() {
    main_program_counts_ = true;
    counters_.sent.add();
  }

  /// Sends a message: `fill` writes every field of the envelope except stamp and source, and must not throw or send.
  /// Messages without a priority from one PE to another arrive in the order in which they were sent.
  /// Throws arena_exhausted (then nothing was sent). A failed send to another host ends the job.
  template <class Fill>
  void send(int destination, Fill&& fill) {
    if (destination == number_) {
      envelope& slot = local_.push();
      slot.source = static_cast<std::uint32_t>(number_);
      fill(slot);
      if (trace_ != nullptr) [[unlikely]]
        trace_send_to_pe(destination, slot);
      counters_.sent.add();
      return;
    }
    inbox_shared* const found = peers_[static_cast<std::size_t>(destination)].inbox;
    if (found == nullptr) [[unlikely]] {
      envelope message{};
      fill(message);
      send_to_host(destination, message);
      return;
    }
    const inbox_slot slot = claim_in(*found);
    slot.message->source = static_cast<std::uint32_t>(number_);
    fill(*slot.message);
    if (trace_ != nullptr) [[unlikely]]
      trace_send_to_pe(destination, *slot.message);
    counters_.sent.add();
    counters_.sent_to_others.add();
    publish_in(*found, slot);
  }
  /// Sends a message whose envelope has flags or exists already; honours priority and immediacy.
  void send_copy(int destination, const envelope& message);
  /// To whichever PE of a process is idle first. No order is kept.
  void send_to_node(int process, const envelope& message);
  /// To every PE of every other host; takes ownership of the payload.
  void send_to_other_hosts(envelope& message);
  /// The same for the creation of a collection, before any other PE of this host learns of it: all messages that
  /// causally follow it, from any sender, arrive later (creation_fence.hpp). It leaves this host when it lies in the
  /// inboxes there: then call creation_lies_in_inboxes, whether or not that failed.
  void send_creation(envelope& message);
  void creation_lies_in_inboxes(std::uint32_t collection);
  /// A seed, which begins on this PE when that has nothing else to do, or on another one that has nothing to do
  /// earlier; `message` names the handler that begins it (seed.hpp). No order is kept. Takes over the payload; throws
  /// arena_exhausted, then nothing was sent.
  virtual void send_seed(const envelope& message) = 0;
  /// To this PE itself once `delay_ns` have passed.
  virtual timer_name send_later(std::int64_t delay_ns, const envelope& message) = 0;
  /// Drops such a message. False: it has run, or been dropped, already.
  virtual bool cancel_later(const timer_name& which) = 0;

  /// Removes waiting messages that `match` from the queue of own messages, in order, and passes each to `use` (which
  /// takes ownership of its payload). For elements that leave while messages to them wait here. The message whose
  /// handler calls this is not among them.
  template <class Match, class Use>
  void extract_own(Match&& match, Use&& use) {
    local_.for_each(running_own_ ? 1 : 0, [&](envelope& message) {
      if (!match(message)) return;
      use(message);
      message.handler = taken_handler;  // does nothing; the message counts as processed when its turn comes
    });
  }

  /// Runs messages until `done()`, which is called after every step. `waiting_on_result`: the main program waits for a
  /// result; enables the stall report. When the job is stopped meanwhile, stop_unwinding is thrown, since the result
  /// may never come.
  virtual void run_until(os::function_ref<bool()> done, bool waiting_on_result = false) = 0;
  /// True while a handler runs, i.e. when waiting by running other messages is not allowed.
  bool in_handler() const { return handler_depth_ > 0; }
  /// This PE's questions to all hosts.
  virtual global_message_counts& global_counts() = 0;
  /// This PE's access to the host's board of open work.
  board::board_pe& board() const { return board_; }

  /// Something that other PEs change meanwhile, below 2^40, such as a number drawn from a counter of the host: while an
  /// order of messages is replayed (--tri-replay) it is what it was when it was recorded.
  virtual std::uint64_t repeatable(std::uint64_t value) = 0;

  /// Called on every idle turn; returns true if it did something. Used by services such as quiescence.
  virtual void add_idle_hook(os::unique_function<bool()> hook) = 0;

  /// From now on the CPU time for which this PE has no work, or runs chunks of other PEs' loops, is counted, by the
  /// clock of its thread.
  void measure_spare_time(os::task_clock& by) { spare_clock_ = &by; }
  /// So far, in ticks of that clock.
  std::uint64_t idle_ticks() const { return idle_ticks_; }
  std::uint64_t helped_ticks() const { return helped_ticks_; }

  /// Where events of this PE go now; null: nowhere. Switched by its own thread.
  trace::recorder* trace() const { return trace_; }
  /// From now on; does nothing on a PE that was not chosen to be traced.
  virtual void switch_trace(bool on) = 0;

  /// Per-PE state of upper layers (the objects layer's collections).
  void* upper = nullptr;

 protected:
  /// `peers` are all PEs of the job, by number.
  pe(runtime& owner, int number, int local_number, const pe_peer* peers, board::board_pe& board);
  ~pe() = default;

  void trace_send(trace::target to, int destination, envelope& message);

  runtime& owner_;
  const int number_;
  const int local_number_;
  const int process_;
  const std::uint32_t host_number_;
  pe_record& record_;
  counter_block& counters_;
  const pe_peer* const peers_;
  board::board_pe& board_;
  trace::recorder* trace_ = nullptr;
  os::task_clock* spare_clock_ = nullptr;
  std::uint64_t idle_ticks_ = 0;
  std::uint64_t helped_ticks_ = 0;
  local_queue local_;
  int handler_depth_ = 0;
  bool running_own_ = false;  // the first message of local_ runs
  bool main_program_counts_ = false;
  int serves_ = number_;
  bool is_serving_ = false;
  bool holds_slot_ = false;

 private:
  inbox_slot claim_in(inbox_shared& inbox);
  static void publish_in(inbox_shared& inbox, const inbox_slot& slot);
  void trace_send_to_pe(int destination, envelope& message);
  void send_to_host(int destination, envelope& message);
};

/// Between send_creation and creation_lies_in_inboxes, if there are several hosts.
class creation_in_host {
 public:
  creation_in_host(pe& here, envelope* creation) : here_(here), creation_(creation) {
    if (creation_ == nullptr) return;
    collection_ = creation_->collection;
    here_.send_creation(*creation_);
  }
  ~creation_in_host() {
    if (creation_ != nullptr) here_.creation_lies_in_inboxes(collection_);
  }
  creation_in_host(const creation_in_host&) = delete;
  creation_in_host& operator=(const creation_in_host&) = delete;

 private:
  pe& here_;
  envelope* creation_;
  std::uint32_t collection_ = 0;
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

#pragma GCC visibility pop
