// One process of a job at work: configuration, arena, job membership and the PEs. Made by `start` (which every process
// of the job calls), ended by `request_stop` on any PE. At most one exists per process at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arena/arena.hpp"
#include "board/board.hpp"
#include "boot/job.hpp"
#include "config/configuration.hpp"
#include "config/placement.hpp"
#include "os/unique_function.hpp"
#include "sched/pe.hpp"
#include "sched/remote/host_records.hpp"
#include "sched/remote/wakeup_socket.hpp"

namespace tri::trace {
class process_trace;
}  // namespace tri::trace

namespace tri::sched {

class offload_thread;
class wire_link;

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
    host::unique_function<void(pe&)> prepare;
    host::unique_function<int()> main_program;
    host::unique_function<void(pe&)> drop_held;
    host::unique_function<void(pe&)> finish;
    host::unique_function<void(pe&)> finish_process;
    host::unique_function<void(pe&)> leave;
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
  int host_of(int pe) const { return host_of_process(process_of(pe)); }
  int host_of_process(int process) const { return job_.host_of(process); }
  std::string name_of_host(int host) const { return job_.name_of_host(host); }
  int processes_of_host(int host) const { return job_.processes_of(host); }
  int hosts() const { return job_.hosts(); }
  int machines() const { return job_.machines(); }
  int host() const { return job_.host(); }
  int first_process_of(int host) const { return job_.first_process_of(host); }
  int first_pe_of(int host) const { return first_process_of(host) * pes_per_process(); }
  bool is_on_own_host(int pe) const { return host_of(pe) == host(); }
  /// What the wire of another process published; see host::job::endpoint_address_of.
  std::vector<std::byte> endpoint_address_of(int process) const { return job_.endpoint_address_of(process); }
  /// The way to other hosts; null when there is only one.
  wire_link* wire() const { return wire_.get(); }
  /// The thread of this process for work that may block.
  offload_thread& offloads() { return *offloads_; }
  /// Where the events of this process go; null: nowhere.
  trace::process_trace* traces() const { return traces_.get(); }
  /// What the poller sleeps on. Only with a wire.
  const wakeup_socket& wire_wakeup() const { return *wire_wakeup_; }
  /// Records of another PE or process of this host; null on another host.
  pe_record* record_of(int pe) const;
  process_record* process_record_of(int process) const;
  host_record& own_host() const { return *host_; }
  /// A number that no other collection or node group of the job has. On any PE.
  std::uint32_t new_collection_number() const;
  /// Whose host has drawn the number of a collection; not of 0.
  int host_of_collection(std::uint32_t number) const {
    return static_cast<int>((number - 1) % static_cast<std::uint32_t>(hosts()));
  }
  /// False: this host would have drawn the number, and has not. Of those of other hosts nothing is known.
  bool may_exist(std::uint32_t collection) const;
  const host::configuration& values() const { return values_; }
  const host::placement& placement() const { return placement_; }
  /// The access of one of this process's PEs to the board of the host; for that PE's thread.
  board::board_pe join_board(int pe) const;
  /// Wakes up to `count` sleeping PEs of this host (or of one process): after work was posted on the board.
  void wake_helpers(std::uint32_t count, std::int32_t only_process) const;
  std::uint32_t host_pe_number(int pe) const;  ///< PE number counted from the first PE of its host
  int first_pe_of_host() const { return first_pe_of(host()); }
  int pes_of_host() const;

  /// Of the PEs of this host. With one host, `all_processed` of it is quiescence (README.md); with several, a count
  /// over all hosts (global_counts.hpp) does.
  message_counts counts_of_host() const;

  /// Ends the whole job with this message, from any thread. Does not return.
  [[noreturn]] void fail(const std::string& message) const;
  /// What upper layers know about results that never came; asked when the job stalls.
  void add_stall_reporter(host::unique_function<std::string()> reporter) {
    stall_reporters_.push_back(std::move(reporter));
  }
  /// Called now and then by a PE whose program waits for a result: ends the job when none can come any more.
  void check_for_stall(pe& here);

 private:
  void open_traces();
  void lay_out_records();
  void find_peers();
  bool is_stalled(const message_counts& now);
  board::board_shape shape_of_host() const;
  void run_pe(pe& which, const program& steps);
  void wait_for_job(const pe& which);
  void meet_with_wire();
  void communicate();
  void end_offloads(const pe& which);
  void drop_messages(pe& which, const program& steps);
  void print_counters() const;
  void print_footprint() const;

  const std::uint64_t number_;
  host::configuration values_;
  int own_file_;
  host::job job_;
  host::placement placement_;
  std::unique_ptr<trace::process_trace> traces_;
  std::unique_ptr<arena::arena_space> arena_;
  window_root* root_ = nullptr;
  host_record* host_ = nullptr;
  std::vector<process_record*> process_records_;  // by process; null on another host
  std::optional<board::board> board_;
  std::optional<wakeup_socket> wire_wakeup_;
  std::unique_ptr<wire_link> wire_;  // after the arena, which has what is under way
  std::atomic<bool> communication_ends_{false};
  std::vector<std::unique_ptr<pe>> pes_;
  std::unique_ptr<offload_thread> offloads_;  // as long as PEs run
  std::atomic<bool> stopping_{false};
  bool stop_sent_ = false;  // by PE 0 of the job
  int exit_status_ = 0;
  struct meeting;
  std::unique_ptr<meeting> phase_;  // the PEs of this process start and end together
  std::vector<host::unique_function<std::string()>> stall_reporters_;
  struct stall_watch;
  std::unique_ptr<stall_watch> stall_;
};

/// The runtime of this process, or null.
runtime* current_runtime();

}  // namespace tri::sched
