// One execution of a loop, from the choice of its layout to what its record learns from it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "board/board_pe.hpp"
#include "loops/loop_participant.hpp"
#include "schedules/loop_layout.hpp"
#include "trireme/detail/loops/loop_call.hpp"
#include "trireme/detail/loops/loop_record.hpp"
#include "trireme/detail/schedules/loop_schedule.hpp"

namespace tri::loops {

class site_times;

/// run_loop in two steps, which must be taken by the same thread. The record, if any, is in use in between.
class started_loop {
 public:
  /// `keeps_slot`: the object may outlive the calling thread, and then reports that instead of waiting.
  started_loop(loop_call& call, std::uint64_t items, const schedules::schedule& wanted, loop_record* record,
               bool keeps_slot = false);
  /// Waits, unless already done.
  ~started_loop() { wait(); }
  started_loop(const started_loop&) = delete;
  started_loop& operator=(const started_loop&) = delete;
  /// Takes part, then returns when all iterations have run. Throws std::logic_error on another thread.
  void wait();
  /// Every iteration has run. Throws std::logic_error on another thread.
  bool finished() const;

 private:
  void start(std::uint64_t items, const schedules::schedule& which);
  void run_in_place(std::uint64_t items);
  bool is_of_parent() const;
  void check_thread(const char* what) const;
  void run_alone(std::uint64_t items, const schedules::schedule& which, loop_record* record);
  bool run_on_one_core(std::uint64_t items);
  void prepare_report(loop_record* record, const schedules::schedule& which);
  void start_measuring(std::uint64_t items, std::uint32_t participants);
  void report();

  loop_call& call_;
  loop_participant* me_;
  std::shared_ptr<loop_participant> slot_;  // of a loop that may outlive its thread
  std::uint32_t generation_ = 0;            // of the process, when it is kept
  loop_record* record_ = nullptr;           // in use by us
  std::unique_ptr<schedules::loop_layout> own_layout_;
  board::task_handle posted_{};
  std::uint64_t began_ = 0;
  enum class learner : std::uint8_t { none, automatic, named } learner_ = learner::none;
  site_times* reported_ = nullptr;  // gets the times of this execution
  bool on_one_core_ = false;
  std::optional<schedules::schedule> which_;        // of a reported execution
  const schedules::loop_layout* layout_ = nullptr;  // that was posted
};

}  // namespace tri::loops
