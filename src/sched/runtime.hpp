// One process of a job at work: configuration, arena, job membership and the PEs. Made by `start` (which every process
// of the job calls), ended by `request_stop` on any PE. At most one exists per process at a time.
#pragma once

#include <atomic>
#include <barrier>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "arena/arena.hpp"
#include "board/board.hpp"
#include "host/configuration.hpp"
#include "host/job.hpp"
#include "host/placement.hpp"
#include "sched/host_records.hpp"
#include "sched/pe.hpp"

namespace tri::sched {

class runtime {
 public:
  /// Collective over the processes of the job: maps the arena, lays out the PEs' records, waits for everybody.
  explicit runtime(host::configuration values);
  ~runtime();
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;

  /// What to run: `prepare` first on every PE, `main_program` on PE 0 of the job only (when it ends the job stops, with
  /// the status it returned). At the end, on every PE: `drop_held` lets go of the messages that an upper layer keeps
  /// back, `finish` of everything else it has; then, on local PE 0 of each process, `finish_process` of what the PEs
  /// share. What destructors send meanwhile is dropped too, so `drop_held` is called once more. `leave` is the last on
  /// every PE, when no message is left. Any may be empty.
  struct program {
    std::function<void(pe&)> prepare;
    std::function<int()> main_program;
    std::function<void(pe&)> drop_held;
    std::function<void(pe&)> finish;
    std::function<void(pe&)> finish_process;
    std::function<void(pe&)> leave;
  };
  /// Starts the PEs of this process; local PE 0 is the calling thread. Returns the exit status, the same in every
  /// process.
  int run(const program& steps);

  /// On any PE: all PEs of the job leave their loops soon; messages that are still under way are dropped. PE 0 of the
  /// job decides: the first request it sees counts, so all processes end with the same status.
  void request_stop(int exit_status);
  void stop_all(pe& here, int exit_status);  ///< handler of the request, on PE 0
  void stop_here(int exit_status);           ///< handler of the decision, on local PE 0 of each process
  bool stopping() const { return stopping_.load(std::memory_order_acquire); }  // pairs: runtime.stop

  /// Jobs that this process began before this one; tells the PEs of two jobs apart that lie at the same address.
  std::uint64_t number() const { return number_; }
  int pes() const { return job_.processes() * job_.pes_per_process(); }
  int pes_per_process() const { return job_.pes_per_process(); }
  int processes() const { return job_.processes(); }
  int process() const { return job_.process(); }
  int process_of(int pe) const { return pe / job_.pes_per_process(); }
  int host_of(int pe) const { return job_.peers()[static_cast<std::size_t>(process_of(pe))].host; }
  /// Records of another PE or process of this host; null on another host.
  pe_record* record_of(int pe) const;
  process_record* process_record_of(int process) const;
  host_record& own_host() const { return *host_; }
  const host::configuration& values() const { return values_; }
  const host::placement& placement() const { return placement_; }
  /// The access of one of this process's PEs to the board of the host; for that PE's thread.
  board::board_pe join_board(int pe) const;
  /// Wakes up to `count` sleeping PEs of this host (or of one process): after work was posted on the board.
  void wake_helpers(std::uint32_t count, std::int32_t only_process) const;
  std::uint32_t host_pe_number(int pe) const;  ///< PE number counted from the first PE of its host
  int first_pe_of_host() const;
  int pes_of_host() const;

  /// True if every message of the job that was sent has been processed and no timer waits (see quiescence in
  /// README.md).
  bool all_processed() const;
  /// Messages processed by all PEs so far; a sign of life.
  std::uint64_t total_processed() const;

  /// Ends the whole job with this message, from any thread. Does not return.
  [[noreturn]] void fail(const std::string& message) const;
  /// What upper layers know about results that never came; asked when the job stalls.
  void add_stall_reporter(std::function<std::string()> reporter) { stall_reporters_.push_back(std::move(reporter)); }
  /// Called now and then by a PE whose program waits for a result: ends the job when none can come any more.
  void check_for_stall();

 private:
  void lay_out_records();
  void find_peers();
  bool only_held_left() const;
  board::board_shape shape_of_host() const;
  void run_pe(pe& which, const program& steps);
  void wait_for_job(const pe& which);
  void drop_messages(pe& which, const program& steps);
  void print_counters() const;
  void print_footprint() const;

  const std::uint64_t number_;
  host::configuration values_;
  int own_file_;
  host::job job_;
  host::placement placement_;
  std::unique_ptr<arena::arena_space> arena_;
  window_root* root_ = nullptr;
  host_record* host_ = nullptr;
  std::vector<process_record*> process_records_;  // by process; null on another host
  std::optional<board::board> board_;
  std::vector<std::unique_ptr<pe>> pes_;
  std::atomic<bool> stopping_{false};
  bool stop_sent_ = false;  // by PE 0 of the job
  int exit_status_ = 0;
  std::optional<std::barrier<>> phase_;  // the PEs of this process start and end together
  std::vector<std::function<std::string()>> stall_reporters_;
  std::mutex stall_lock_;  // for the next two
  std::uint64_t stall_progress_ = 0;
  std::int64_t stalled_since_ns_ = 0;
};

/// The runtime of this process, or null.
runtime* current_runtime();

}  // namespace tri::sched
