// One process of a job as seen by its PEs: the size and topology of the job, and job-wide operations. The
// implementation is process_runtime.hpp.
//
// Programs are compiled against this file, so it has only numbers and calls, no implementation.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "trireme/detail/os/unique_function.hpp"
#include "trireme/detail/sched/counters.hpp"

#pragma GCC visibility push(default)

namespace tri::config {
struct configuration;
struct placement;
}  // namespace tri::config

namespace tri::sched {

struct host_record;
class offload_thread;
struct pe_record;
struct process_record;

/// Thread-safe, except add_stall_reporter, which must be called before the PEs run; all but `fail` and the numbers are
/// for PEs.
class runtime {
 public:
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;

  /// Jobs that this process began before this one; distinguishes PEs of two jobs at the same address.
  std::uint64_t number() const { return number_; }
  int pes() const { return processes() * pes_per_process_; }
  int pes_per_process() const { return pes_per_process_; }
  int processes() const { return static_cast<int>(host_of_process_.size()); }
  int process() const { return process_; }
  int process_of(int pe) const { return pe / pes_per_process_; }
  int host_of(int pe) const { return host_of_process(process_of(pe)); }
  int host_of_process(int process) const { return host_of_process_[static_cast<std::size_t>(process)]; }
  int hosts() const { return hosts_; }
  int host() const { return host_of_process(process_); }
  bool is_on_own_host(int pe) const { return host_of(pe) == host(); }
  virtual std::string name_of_host(int host) const = 0;
  virtual int processes_of_host(int host) const = 0;
  virtual int first_process_of(int host) const = 0;
  int first_pe_of(int host) const { return first_process_of(host) * pes_per_process_; }
  int first_pe_of_host() const { return first_pe_of(host()); }
  int pes_of_host() const { return processes_of_host(host()) * pes_per_process_; }
  /// PE number counted from the first PE of its host.
  std::uint32_t host_pe_number(int pe) const { return static_cast<std::uint32_t>(pe - first_pe_of(host_of(pe))); }
  /// Machines of the job: hosts that are emulated on one machine count once.
  virtual int machines() const = 0;

  /// Records of another PE or process of this host; null on another host.
  virtual pe_record* record_of(int pe) const = 0;
  virtual process_record* process_record_of(int process) const = 0;
  virtual host_record& own_host() const = 0;

  /// A number unique among the collections and node groups of the job.
  virtual std::uint32_t new_collection_number() const = 0;
  /// The host that has drawn the number of a collection; not for 0.
  int host_of_collection(std::uint32_t number) const {
    return static_cast<int>((number - 1) % static_cast<std::uint32_t>(hosts_));
  }
  /// False: the number belongs to this host, and was not drawn. True for all numbers of other hosts.
  virtual bool may_exist(std::uint32_t collection) const = 0;

  virtual const config::configuration& values() const = 0;
  virtual const config::placement& placement() const = 0;
  /// The thread of this process for work that may block.
  virtual offload_thread& offloads() = 0;
  /// Wakes up to `count` sleeping PEs of this host (or of one process): after work was posted on the board.
  virtual void wake_helpers(std::uint32_t count, std::int32_t only_process) const = 0;

  /// Of the PEs of this host. With one host, `all_processed` of it is quiescence (README.md); with several, a count
  /// over all hosts (global_counts.hpp) does.
  virtual message_counts counts_of_host() const = 0;

  /// All PEs of the job leave their loops soon; messages in flight are dropped. PE 0 of the job decides: the first
  /// request it sees counts, so all processes end with the same status.
  virtual void request_stop(int exit_status) = 0;
  bool stopping() const { return stopping_.load(std::memory_order_acquire); }  // pairs: runtime.stop
  /// Ends the whole job with this message, from any thread. Does not return.
  [[noreturn]] void fail(const std::string& message) const;
  /// Upper layers' descriptions of missing results; called when the job stalls.
  virtual void add_stall_reporter(os::unique_function<std::string()> reporter) = 0;

 protected:
  runtime() = default;
  ~runtime() = default;

  std::uint64_t number_ = 0;
  int pes_per_process_ = 1;
  int process_ = 0;
  int hosts_ = 1;
  std::vector<int> host_of_process_;
  std::atomic<bool> stopping_{false};
};

/// The status with which every process of the job ends: that of the request which has stopped it. Only once
/// runtime::stopping(); from any thread.
int exit_status_of(const runtime& stopped);

/// The runtime of this process, or null.
runtime* current_runtime();

}  // namespace tri::sched

#pragma GCC visibility pop
