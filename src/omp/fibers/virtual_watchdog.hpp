// Prints one warning when no virtual thread has started, waited or ended for some seconds although there are more of
// them than threads that run them: a program whose threads wait for each other by polling variables then never ends,
// because a polling virtual thread occupies its thread, and the awaited write may be another one's. This cannot be
// distinguished from a long computation, so the watchdog does nothing else.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace tri::omp {

class virtual_watchdog {
 public:
  /// By the thread `carrier` of the runtime, whenever a virtual thread begins, waits or ends.
  void note_step(std::uint32_t carrier) {
    std::atomic<std::uint64_t>& own = steps_[carrier % steps_.size()].count;
    // relaxed: that it changes is all that counts, also where two carriers share one and a step is lost
    own.store(own.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  /// Before the first region; 0: no watch.
  void set_timeout(double seconds) { most_ = std::chrono::milliseconds(static_cast<std::int64_t>(1e3 * seconds)); }
  /// A region with more virtual threads than carriers begins, or ends. The first call starts the thread that watches;
  /// there is none in a forked child.
  void region_begins();
  void region_ends() { in_region_.store(false, std::memory_order_relaxed); }  // relaxed: only looked at

 private:
  struct alignas(64) step_count {
    std::atomic<std::uint64_t> count{0};
  };

  std::uint64_t steps_so_far() const;
  void start();
  static void* watch(void* self);

  std::array<step_count, 64> steps_;
  std::atomic<bool> in_region_{false};
  bool started_ = false;               // of the one thread that is in a region
  std::chrono::milliseconds most_{0};  // without a step
};

/// Seconds, from TRIREME_OMP_STALL; 10 if it is not set, 0: no watch. Throws std::invalid_argument with a message.
double stall_seconds(const char* text);
inline constexpr const char* stall_variable = "TRIREME_OMP_STALL";

}  // namespace tri::omp
