// One process of a job at work: configuration, arena, job membership and the PEs. Made by `start` (which every process
// of the job calls), ended by `request_stop` on any PE. At most one exists per process at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "arena/arena.hpp"
#include "board/board.hpp"
#include "boot/job.hpp"
#include "config/configuration.hpp"
#include "config/placement.hpp"
#include "sched/remote/host_records.hpp"
#include "sched/remote/wakeup_socket.hpp"
#include "sched/scheduler.hpp"
#include "trireme/detail/os/unique_function.hpp"
#include "trireme/detail/sched/runtime.hpp"

namespace tri::trace {
class process_trace;
}  // namespace tri::trace

namespace tri::sched {

class offload_thread;
class process_order;
class wire_link;

class process_runtime final : public runtime {
 public:
  /// Collective over the processes of the job: maps the arena, lays out the PEs' records, waits for all.
  explicit process_runtime(config::configuration values);
  ~process_runtime();

  /// What to run: `prepare` first on every PE, `main_program` on PE 0 of the job only, or `everywhere`; when it ends on
  /// PE 0 the job stops, with the status it returned. At the end, on every PE: `drop_held` lets go of the messages that
  /// an upper layer keeps back, `finish` of everything else it has; then, on local PE 0 of each process,
  /// `finish_process` of what the PEs share. What destructors send meanwhile is dropped too, so `drop_held` is called
  /// once more. `leave` is the last on every PE, when no message is left. Any may be empty.
  struct program {
    os::unique_function<void(pe&)> prepare;
    os::unique_function<int()> main_program;
    bool everywhere = false;
    os::unique_function<void(pe&)> drop_held;
    os::unique_function<void(pe&)> finish;
    os::unique_function<void(pe&)> finish_process;
    os::unique_function<void(pe&)> leave;
  };
  /// Starts the PEs of this process; local PE 0 is the calling thread. Returns the exit status, the same in every
  /// process.
  int run(const program& steps);
  /// The same in two parts, for programs whose main program is not ours: the calling thread, which calls both, is the
  /// only PE of this process. `steps` stay valid in between, and are `everywhere`.
  void begin(const program& steps);
  int end(const program& steps);

  std::string name_of_host(int host) const override { return job_.name_of_host(host); }
  int processes_of_host(int host) const override { return job_.processes_of(host); }
  int first_process_of(int host) const override { return job_.first_process_of(host); }
  int machines() const override { return job_.machines(); }
  pe_record* record_of(int pe) const override;
  process_record* process_record_of(int process) const override;
  host_record& own_host() const override { return *host_; }
  std::uint32_t new_collection_number() const override;
  bool may_exist(std::uint32_t collection) const override;
  const config::configuration& values() const override { return values_; }
  const config::placement& placement() const override { return placement_; }
  offload_thread& offloads() override { return *offloads_; }
  void wake_helpers(std::uint32_t count, std::int32_t only_process) const override;
  message_counts counts_of_host() const override;
  void request_stop(int exit_status) override;
  int exit_status() const { return exit_status_; }  ///< once stopping()
  void add_stall_reporter(os::unique_function<std::string()> reporter) override {
    stall_reporters_.push_back(std::move(reporter));
  }

  /// A further line of `--tri-counters`, of a layer above; called after the last message. One thread at a time.
  void add_counter_reporter(os::unique_function<std::string()> reporter) {
    counter_reporters_.push_back(std::move(reporter));
  }

  void stop_all(pe& here, int exit_status);  ///< handler of the request, on PE 0
  void stop_here(int exit_status);           ///< handler of the decision, on local PE 0 of each process
  /// Called now and then by a PE whose program waits for a result: ends the job when none can come any more.
  void check_for_stall(pe& here);

  /// What the wire of another process published; see boot::job::endpoint_address_of.
  std::vector<std::byte> endpoint_address_of(int process) const { return job_.endpoint_address_of(process); }
  /// The way to other hosts; null when there is only one.
  wire_link* wire() const { return wire_.get(); }
  /// Where the events of this process go; null: nowhere.
  trace::process_trace* traces() const { return traces_.get(); }
  /// Messages run in an order of their own; null: as they come.
  process_order* order() const { return order_.get(); }
  /// What the poller sleeps on. Only with a wire.
  const wakeup_socket& wire_wakeup() const { return *wire_wakeup_; }
  /// Where to send to each PE of the job, by number.
  const pe_peer* peers() const { return peers_.data(); }
  /// The access of one of this process's PEs to the board of the host; for that PE's thread.
  board::board_pe join_board(int pe) const;

 private:
  friend class runtime;  // fail(): the compiler takes a virtual function for one that returns
  [[noreturn]] void end_job(const std::string& message) const;
  void open_traces();
  void lay_out_records();
  void find_peers();
  bool is_stalled(const message_counts& now);
  board::board_shape shape_of_host() const;
  void start();
  void run_pe(scheduler& which, const program& steps);
  void enter_pe(scheduler& which, const program& steps);
  void leave_pe(scheduler& which, const program& steps);
  int finish();
  void wait_for_job(const pe& which);
  void meet_with_wire();
  void communicate();
  void end_offloads(const pe& which);
  void drop_messages(scheduler& which, const program& steps);
  void print_counters() const;
  void print_footprint() const;
  std::string footprint_by_pe() const;

  config::configuration values_;
  int own_file_;
  boot::job job_;
  config::placement placement_;
  std::unique_ptr<trace::process_trace> traces_;
  std::unique_ptr<process_order> order_;
  std::unique_ptr<arena::arena_space> arena_;
  window_root* root_ = nullptr;
  host_record* host_ = nullptr;
  std::vector<process_record*> process_records_;  // by process; null on another host
  std::vector<pe_peer> peers_;
  std::optional<board::board> board_;
  std::optional<wakeup_socket> wire_wakeup_;
  std::unique_ptr<wire_link> wire_;  // after the arena, which has what is under way
  std::atomic<bool> communication_ends_{false};
  std::vector<std::unique_ptr<scheduler>> pes_;
  std::unique_ptr<offload_thread> offloads_;  // as long as PEs run
  std::vector<int> cpus_before_;              // of the thread that is local PE 0
  std::thread communication_;
  std::unique_ptr<arena::cache_guard> own_cache_;  // between begin and end
  bool stop_sent_ = false;                         // by PE 0 of the job
  int exit_status_ = 0;
  struct pe_barriers;
  std::unique_ptr<pe_barriers> phase_;  // the PEs of this process start and end together
  std::vector<os::unique_function<std::string()>> stall_reporters_;
  std::vector<os::unique_function<std::string()>> counter_reporters_;
  struct stall_watch;
  std::unique_ptr<stall_watch> stall_;
};

}  // namespace tri::sched
