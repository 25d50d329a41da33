// The memory of one loop of the program across executions, and functions that run a loop with it. Programs are compiled
// against this file and loop_call.hpp. An execution is started_loop.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <source_location>

#include "trireme/detail/loops/loop_call.hpp"
#include "trireme/detail/schedules/loop_schedule.hpp"

namespace tri::loops {
class started_loop;
}  // namespace tri::loops
namespace tri::schedules {
class automatic_schedule;
class learning_schedule;
}  // namespace tri::schedules

#pragma GCC visibility push(default)

namespace tri::loops {

/// The memory of one call site that runs a loop. Any thread may use it; when two run the loop at the same
/// time, one of them runs without memory.
class loop_record {
 public:
  /// `location`: what reports call it.
  explicit loop_record(const std::source_location& location = std::source_location::current());
  ~loop_record();
  loop_record(const loop_record&) = delete;
  loop_record& operator=(const loop_record&) = delete;

  /// What was learned. Call only while no execution is running.
  const schedules::automatic_schedule& automatic() const;
  const schedules::learning_schedule& named() const;

 private:
  friend class record_user;
  struct memory;
  const std::unique_ptr<memory> memory_;
};

/// Runs all iterations and returns when they are done; an exception of a body is stored in the call. Any thread.
void run_loop(loop_call& call, std::uint64_t items, const schedules::schedule& which, loop_record* record);

/// The same in two steps, which must be taken by the same thread. The record, if any, is in use in between. If the loop
/// outlives the thread, it reports that instead of waiting.
struct end_started_loop {
  void operator()(started_loop* started) const;  ///< waits, unless that was done
};
using started_loop_ptr = std::unique_ptr<started_loop, end_started_loop>;
started_loop_ptr start_loop(loop_call& call, std::uint64_t items, const schedules::schedule& which,
                            loop_record* record);
/// Takes part, then returns when all iterations have run. Throws std::logic_error on another thread.
void wait_for(started_loop& started);
/// Every iteration has run. Throws std::logic_error on another thread.
bool has_finished(const started_loop& started);

/// An upper bound of the participant numbers in loops of the calling thread, whether or not it gets a slot. Starts the
/// team of the process at the first call outside of PEs.
std::uint32_t participant_bound();
/// Whether another participant of the calling thread's loops is idle.
bool any_participant_is_idle();

}  // namespace tri::loops

#pragma GCC visibility pop
