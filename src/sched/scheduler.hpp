// What runs the messages of a PE: its queues, its step, its sleep. Private to the thread of the PE.
//
// Order of work in a step: immediate messages, messages with a priority before 0, arrivals and own messages in order of
// arrival, messages with a later priority, seeds (own ones, then those of others), the node queue, the board, then
// idling (idle_limits.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "arena/wait_policy.hpp"
#include "board/board_pe.hpp"
#include "live/idle_word.hpp"
#include "os/clock.hpp"
#include "sched/inbox_reader.hpp"
#include "sched/ordered_queue.hpp"
#include "sched/remote/global_counts.hpp"
#include "sched/remote/host_records.hpp"
#include "sched/seeds/pe_seeds.hpp"
#include "trace/recorder.hpp"
#include "trireme/detail/arena/sanitizer_handover.hpp"
#include "trireme/detail/os/unique_function.hpp"
#include "trireme/detail/sched/handler_table.hpp"
#include "trireme/detail/sched/pe.hpp"

namespace tri {
struct queue_policy;
}

namespace tri::sched {

class process_runtime;
struct pe_order;
struct recorded_message;
class wire_link;

class scheduler final : public pe {
 public:
  scheduler(process_runtime& owner, int number, int local_number);
  ~scheduler();

  timer_name send_later(std::int64_t delay_ns, const envelope& message) override;
  bool cancel_later(const timer_name& which) override;
  void send_seed(const envelope& message) override;
  void run_until(os::function_ref<bool()> done, bool waiting_on_result = false) override;
  global_message_counts& global_counts() override { return global_counts_; }
  void add_idle_hook(os::unique_function<bool()> hook) override { idle_hooks_.push_back(std::move(hook)); }
  void switch_trace(bool on) override;
  std::uint64_t repeatable(std::uint64_t value) override {
    return order_ == nullptr ? value : repeatable_in_order(value);
  }
  pe_seeds& seeds() { return seeds_; }

  /// Of this process, before its PEs begin: their messages for elements run in that order; null: in order of arrival.
  static void order_methods(const queue_policy* by);

  /// Runs a request for a PE of this process, between two messages; by the thread that makes progress on the wire.
  void serve(int destination, envelope& message);
  /// One step: true if anything was done.
  bool step();
  /// Before the program computes, maybe for long: what this PE has sent to other hosts leaves.
  void flush_wire();
  /// After the last step: lets go of every message that still waits here, in whatever queue, and of those of the node.
  void drop_messages();

 private:
  static void run_traced(pe& here, envelope& message);
  static void run_after_idle(pe& here, envelope& message);
  static void run_timed(pe& here, envelope& message);
  static void run_by_policy(pe& here, envelope& message);
  const handler_function* usual_handlers() const;
  void looks_idle(bool is_published);
  void idle_ended(std::uint64_t now);
  void begin_sample();
  void end_sample();
  void cancel_sample();
  bool wire_is_due() const { return makes_progress_on_wire_ && os::ticks() - last_wire_ticks_ > wire_every_ticks_; }
  void run(envelope& message) {
    if ((message.flags & envelope::any_of_wire) != 0) [[unlikely]]
      return run_from_host(message);
    ++handler_depth_;
    arena::taken_over();
    handlers_[message.handler](*this, message);
    --handler_depth_;
    count_processed();
  }
  void run_from_host(envelope& message);
  void release_memory(std::uint8_t count, std::uint64_t bytes);
  void drop(envelope& message);
  void run_block(envelope* message);
  void drop_block(envelope* message);
  bool sort_urgent();
  bool run_ordered(bool only_first);
  bool run_arrivals();
  bool run_first_own();
  bool run_own();
  void order_own();
  bool run_seed(bool only_own);
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
  void count_idle();
  void sleep(bool waiting_on_result);
  void sleep_until_rung(std::uint32_t heard, std::int64_t limit_ns, bool is_poller);
  std::int64_t longest_sleep_ns(bool waiting_on_result) const;
  bool found_late_work(bool is_poller);

  // order/ordered_step.cpp: the same with an order of their own.
  bool step_in_order();
  std::uint64_t repeatable_in_order(std::uint64_t value);
  bool take_arrivals();
  void take_urgent();
  void keep_arrival(envelope& message);
  recorded_message name_in_record(const envelope& message) const;
  bool run_services();
  bool run_chosen();
  void run_candidate(std::size_t chosen);
  bool creation_may_run();
  bool run_in_order(const recorded_message& name, envelope* block);
  bool run_recorded();
  bool recorded_is_here(const recorded_message& next);
  void run_next_recorded(const recorded_message& next);
  envelope* take_timer(os::function_ref<bool(const envelope&)> wanted);
  bool ordered_work_waits();
  void check_replay();
  [[noreturn]] void report_replay() const;
  bool drop_ordered();

  process_runtime& runtime_;
  process_record& own_process_;
  // While this PE is traced, is idle, or samples its overhead: a table whose every row does that around the handler.
  const handler_function* handlers_;
  inbox_reader inbox_;
  wire_link* const wire_;              // null with one host
  const bool makes_progress_on_wire_;  // no communication thread does
  const std::uint64_t wire_every_ticks_;
  std::uint64_t last_wire_ticks_ = 0;
  board::board_pe own_board_;
  const std::unique_ptr<pe_order> order_;  // null: messages run as they come
  ordered_queue ordered_;
  bool is_its_turn_ = false;  // a message of it is about to run
  pe_seeds seeds_;
  std::map<timer_name, envelope*> timers_;  // arena blocks
  std::uint64_t timer_sequence_ = 0;
  global_message_counts global_counts_;
  arena::wait_policy waiting_;
  live::idle_meter idle_;
  // The sample of the overhead that is under way.
  bool samples_ = false;
  int sampled_depth_ = 0;
  std::uint64_t sample_began_ = 0;
  std::uint32_t sampled_steps_ = 0;  // steps_ at the last one
  std::uint64_t in_handlers_ticks_ = 0;
  std::uint64_t idle_before_sample_ = 0;
  std::vector<os::unique_function<bool()>> idle_hooks_;
  bool may_be_rung_ = false;   // it was marked asleep since the last step
  bool owes_poller_ = false;   // it got up when there was no poller, and no other PE was rung to become it
  std::uint64_t idle_at_ = 0;  // of the clock of spare time, when it was idle last
  std::uint32_t steps_ = 0;
  std::uint64_t fruitless_ = 0;
};

}  // namespace tri::sched
