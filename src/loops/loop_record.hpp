// What is remembered of one loop of the program from execution to execution, and how a loop is run with it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>

#include "loops/loop_call.hpp"
#include "loops/loop_reporter.hpp"
#include "schedules/automatic_schedule.hpp"
#include "schedules/learning_schedule.hpp"
#include "schedules/loop_schedule.hpp"
#include "schedules/loop_times.hpp"

namespace tri::loops {

/// The memory of one call site that runs a loop. Any thread may use it; when two run the loop at the same
/// time, one of them runs without memory.
class loop_record {
 public:
  /// `location`: what reports call it.
  explicit loop_record(const std::source_location& location = std::source_location::current()) : location_(location) {}
  loop_record(const loop_record&) = delete;
  loop_record& operator=(const loop_record&) = delete;

  /// What was learned. Only while no execution is under way.
  const automatic_schedule& automatic() const { return automatic_; }
  const learning_schedule& named() const { return named_; }

 private:
  friend class record_user;
  std::atomic<bool> in_use_{false};
  loop_times times_{0, 0};
  automatic_schedule automatic_;
  learning_schedule named_;  // the schedule that the user named last
  std::source_location location_;
  std::atomic<const schedule*> tuned_{nullptr};  // what the tune file says, once that was asked for
  std::atomic<site_times*> report_{nullptr};     // where its time goes, once that is asked for; kept by the report
};

/// Runs all iterations and returns when they are done; what a body throws is in the call. Any thread.
void run_loop(loop_call& call, std::uint64_t items, const schedule& which, loop_record* record);

/// The same in two steps, which must be taken by the same thread. The record, if any, is in use in between.
class started_loop {
 public:
  /// `keeps_slot`: the object may outlive the calling thread, and then says so instead of waiting.
  started_loop(loop_call& call, std::uint64_t items, const schedule& wanted, loop_record* record,
               bool keeps_slot = false);
  /// Waits, if nobody has.
  ~started_loop() { wait(); }
  started_loop(const started_loop&) = delete;
  started_loop& operator=(const started_loop&) = delete;
  /// Takes part, then returns when all iterations have run. Throws std::logic_error on another thread.
  void wait();
  /// Every iteration has run. Throws std::logic_error on another thread.
  bool finished() const;

 private:
  void start(std::uint64_t items, const schedule& which);
  void run_in_place(std::uint64_t items);
  bool is_of_parent() const;
  void check_thread(const char* what) const;
  void run_alone(std::uint64_t items, const schedule& which, loop_record* record);
  bool run_on_one_core(std::uint64_t items);
  void prepare_report(loop_record* record, const schedule& which);
  void start_measuring(std::uint64_t items, std::uint32_t participants);
  void report();

  loop_call& call_;
  loop_participant* me_;
  std::shared_ptr<loop_participant> slot_;  // of a loop that may outlive its thread
  std::uint32_t generation_ = 0;            // of the process, when it is kept
  loop_record* record_ = nullptr;           // in use by us
  std::unique_ptr<loop_layout> own_layout_;
  board::task_handle posted_{};
  std::uint64_t began_ = 0;
  enum class learner : std::uint8_t { none, automatic, named } learner_ = learner::none;
  site_times* reported_ = nullptr;  // gets the times of this execution
  bool on_one_core_ = false;
  std::optional<schedule> which_;        // of a reported execution
  const loop_layout* layout_ = nullptr;  // that was posted
};

}  // namespace tri::loops
