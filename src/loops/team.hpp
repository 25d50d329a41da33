// The thread pool of a process without PEs, which shares its loops. Started by the first loop, one thread for each core
// of the process except one, which is the caller's. Between loops they spin a little, yield, then sleep
// (sched/idle_limits.hpp); a child of fork() starts its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "arena/sleeper.hpp"
#include "board/board.hpp"
#include "config/configuration.hpp"
#include "loops/loop_participant.hpp"

namespace tri::loops {

struct team_options {
  int participants = 0;   ///< 0: the cores this process may use
  std::vector<int> cpus;  ///< core of each participant from number 1 on; empty: left to the system
  config::idle_policy idle = config::idle_policy::automatic;
  int idle_spin_us = 200;
};

/// From TRIREME_PES, TRIREME_AFFINITY (a list), TRIREME_IDLE and TRIREME_IDLE_SPIN_US.
/// Throws config::configuration_error.
team_options team_options_of_environment();

class team {
 public:
  /// At most this many threads that are not workers may post loops at the same time: each needs a PE number of the
  /// board.
  static constexpr std::uint32_t most_guests = 14;

  explicit team(const team_options& options);
  /// Waits for the workers; no loop may be running.
  ~team();
  team(const team&) = delete;
  team& operator=(const team&) = delete;

  std::uint32_t participants() const { return participants_; }
  std::uint32_t sleeping() const { return sleepers_.load(std::memory_order_relaxed); }  // relaxed: informational
  /// A slot for the calling thread, until it is destroyed; null when all are taken. Any thread.
  std::unique_ptr<loop_participant> join();

 private:
  class worker;
  class guest;
  void wake(std::uint32_t count);
  bool any_idle() const;
  void work(std::uint32_t number);
  void stop();
  void sleep(worker& self);

  struct mapping {
    void* memory = nullptr;
    std::size_t bytes = 0;
    explicit mapping(std::size_t bytes);
    ~mapping();
  };

  team_options options_;
  std::uint32_t participants_;
  mapping memory_;
  board::board board_;
  std::atomic<std::uint32_t> guests_{0};  // bit per slot
  std::atomic<bool> stopping_{false};
  alignas(64) std::atomic<std::uint32_t> sleepers_{0};
  std::vector<std::unique_ptr<worker>> workers_;  // [i]: participant i + 1
  std::vector<std::thread> threads_;
};

/// The team of this process, started at the first call. Wrong variables of the environment end the process with a line
/// and exit status 2.
team& team_of_process();

/// Keeps the calling thread's slot in the team, if `me` is that, beyond the end of the thread.
std::shared_ptr<loop_participant> share_slot(const loop_participant& me);
/// In a child of fork(): forgets a slot in the team of the parent, whose memory is only a copy here.
void leave_to_parent(std::shared_ptr<loop_participant>& slot);
/// The number of forks between the program's start and this process: slots and loops of another process are not ours.
std::uint32_t process_generation();

}  // namespace tri::loops
