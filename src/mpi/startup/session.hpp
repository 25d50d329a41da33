// The drop-in in this process, between MPI_Init and MPI_Finalize: whether it takes part, with whom, and the engine,
// which the ranks of each host have for themselves. If any requirement fails, all processes of the job agree to pass
// everything to the MPI library.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "coll/cost_parameters.hpp"
#include "mpi/engine/engine.hpp"
#include "mpi/internode/internode_messages.hpp"
#include "mpi/startup/job_hosts.hpp"

namespace tri::mpi {

class library_call_thread;

class session {
 public:
  /// After PMPI_Init; collective over the job. Does nothing when a rank cannot take part: then one line reports why.
  static void start(int thread_level);
  /// In MPI_Finalize, after the program's attribute delete functions; collective.
  static void stop();
  /// Whether `start` was called, whatever its outcome.
  static bool was_asked_to_start() { return was_asked_to_start_; }
  /// Null: everything is the MPI library's.
  static session* active() { return active_; }

  engine& ranks() { return *engine_; }
  bool is_threaded() const { return threaded_; }
  std::mutex& lock() { return lock_; }
  /// The call guard is more than `leave` of the engine.
  bool is_guarded() const { return guarded_; }
  void enter();
  void exit();
  /// This thread holds it, or has released it for a moment.
  static bool is_entered();
  int world_rank() const { return world_rank_; }
  int world_size() const { return static_cast<int>(number_of_world_rank_.size()); }
  /// On the host, or `on_another_host`.
  std::uint32_t number_of(int world_rank) const { return number_of_world_rank_[static_cast<std::size_t>(world_rank)]; }
  const job_hosts& hosts() const { return hosts_; }
  /// Messages to other hosts, where there are some.
  internode_messages& internode() { return *internode_; }
  /// The library's own limit, so that programs get the same errors.
  int largest_tag() const { return largest_tag_; }
  /// Null: the library may serve one thread only, or there is one host.
  library_call_thread* library_thread() const { return library_thread_; }
  MPI_Group world_group() const { return world_group_; }
  /// By these the algorithms of collectives between hosts are chosen; none: by their sizes.
  const std::optional<coll::cost_parameters>& collective_costs() const { return collective_costs_; }
  /// TRIREME_MPI_REPRODUCIBLE_SUMS, which all ranks have.
  bool sums_are_reproducible() const { return reproducible_sums_; }

  /// Whether a call must not block inside the library, because this rank moves operations on by calls of it; or may
  /// begin one meanwhile, on another thread.
  bool must_not_block() const {
    return hosts_.are_several() &&
           (threaded_ || polled_operations_ > 0 || engine_->has_open_receives() || internode_->is_active());
  }
  void begin_polled_operation() { ranks().set_asks_others(++polled_operations_ > 0); }
  void end_polled_operation() { ranks().set_asks_others(--polled_operations_ > 0); }
  /// What waits and polls of this rank advance beside its messages (engine::set_operations); null: nothing.
  enum class advancing { internode, collectives, sums_between_groups, all };
  void set_advance(advancing what, bool (*advance)(bool before_sleep));
  ~session();

 private:
  session();
  struct shared_parts;
  struct starting;
  static void report_statistics(const session& ended, const shared_parts& parts, double total_s);
  static bool advance_operations(bool before_sleep);
  static bool advance_internode(bool before_sleep);
  static inline session* active_ = nullptr;
  static inline bool (*advances_[static_cast<std::size_t>(advancing::all)])(bool before_sleep) = {};
  static inline bool was_asked_to_start_ = false;

  engine* engine_ = nullptr;
  internode_messages* internode_ = nullptr;
  library_call_thread* library_thread_ = nullptr;
  unsigned internode_steps_ = 0;
  bool threaded_ = false;
  bool guarded_ = false;
  bool reproducible_sums_ = false;
  std::optional<coll::cost_parameters> collective_costs_;
  std::mutex lock_;
  int world_rank_ = 0;
  int largest_tag_ = 32767;  // what MPI promises
  job_hosts hosts_;
  std::vector<std::uint32_t> number_of_world_rank_;
  MPI_Group world_group_ = MPI_GROUP_NULL;
  std::uint64_t polled_operations_ = 0;
  std::unique_ptr<shared_parts> parts_;
};

/// While a function of the program runs within a call that keeps the guard, such as the operation of a reduction: it
/// may call functions of MPI that do not communicate.
class program_function {
 public:
  program_function() : runs_before_(std::exchange(runs_, true)) {}
  ~program_function() { runs_ = runs_before_; }
  program_function(const program_function&) = delete;
  program_function& operator=(const program_function&) = delete;
  static bool runs() { return runs_; }

 private:
  static inline thread_local bool runs_ = false;
  const bool runs_before_;
};

/// An intercepted call of the program: one at a time where several threads call; at its end the other ranks take over
/// the progress of its pending operations.
class call_guard {
 public:
  explicit call_guard(session& in) : session_(in), enters_(in.is_guarded() && !program_function::runs()) {
    if (enters_) session_.enter();
  }
  ~call_guard() {
    session_.ranks().leave();
    if (enters_) session_.exit();
  }
  call_guard(const call_guard&) = delete;
  call_guard& operator=(const call_guard&) = delete;

 private:
  session& session_;
  const bool enters_;
};

/// Within a call that holds the guard: releases it while functions of the program may run, such as error handlers,
/// which may call MPI themselves. `in` may be null: then there is nothing to release.
class guard_release {
 public:
  explicit guard_release(session* in) : lock_(in != nullptr && in->is_threaded() ? &in->lock() : nullptr) {
    if (lock_ != nullptr) lock_->unlock();
  }
  ~guard_release() {
    if (lock_ != nullptr) lock_->lock();
  }
  guard_release(const guard_release&) = delete;
  guard_release& operator=(const guard_release&) = delete;

 private:
  std::mutex* lock_;
};

/// Returned by a call that is not intercepted after all: not an MPI error code.
inline constexpr int pass_through = -1;

/// A call of the program: `body(session)` with the call guard, and `library()` without it when there is no session or
/// the body returns `pass_through`.
template <class Body, class Library>
int intercept_or_pass(Body&& body, Library&& library) {
  if (session* const in = session::active()) {
    const call_guard guard(*in);
    if (const int error = body(*in); error != pass_through) return error;
  }
  return library();
}

}  // namespace tri::mpi
