// A thread of the rank that stays in a wait, so that messages progress while the program computes; for the modes
// `thread` and `reserved`. It is serialized with the program's threads. It never calls the MPI library, which may not
// support several threads.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>

#include "mpi/engine/engine.hpp"

namespace tri::mpi {

/// The cores that are reserved: the last `count` of those of all ranks.
cpu_set_t last_of(const cpu_set_t& cores, std::uint32_t count);
/// Removes these CPUs from the calling thread's mask, and from threads that it starts later, unless it was bound to no
/// others.
void leave_to_progress(const cpu_set_t& reserved);

class progress_thread {
 public:
  /// `api_mutex`: the mutex that was given to engine::set_api_mutex. `cores`: where it runs; nothing: where the rank
  /// does.
  progress_thread(engine& of, std::mutex& api_mutex, const std::optional<cpu_set_t>& cores);
  ~progress_thread();
  progress_thread(const progress_thread&) = delete;
  progress_thread& operator=(const progress_thread&) = delete;

  /// The calling thread is one of these.
  static bool is_this();

 private:
  void run(const std::optional<cpu_set_t>& cores);

  engine& engine_;
  std::mutex& api_mutex_;
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

}  // namespace tri::mpi
