// Injected noise, for experiments with schedules: a thread is delayed at moments determined by a seed.
//
//   tri::noise::core_injector daemon({.period = 10ms, .duration = 1ms}, {0});   // core 0 loses 10 % until the end of
//   run_my_loops();                                                             // the block
//
//   tri::noise::thread_injector hiccup({.kind = tri::noise::kind::sleeping, .period = 5ms, .duration = 200us}, 4);
//   tri::parallel_for(n, [&](int i, int participant) { hiccup.delay(participant); work(i); });
//
// Times count from the creation of the injector. Each period has one event; victims, times and durations are the same
// for the same plan, on every machine.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#pragma GCC visibility push(default)

namespace tri::noise {

using std::chrono::nanoseconds;

enum class kind : std::uint8_t {
  computing,  ///< the core is busy with other work
  sleeping    ///< the thread yields its core, which looks idle
};

struct plan {
  noise::kind kind = noise::kind::computing;
  nanoseconds period{10'000'000};
  nanoseconds duration{1'000'000};  ///< of an event
  nanoseconds longest{0};           ///< above 0: events last between `duration` and this
  double jitter = 0.0;              ///< 0: events begin with the period; 1: anywhere in it; or in between
  bool together = false;            ///< periods of all cores begin together; otherwise at times given by the seed
  std::uint64_t seed = 1;
};

/// Throws std::invalid_argument that names the wrong value and valid ones.
void check(const plan& wanted);

struct event {
  nanoseconds begin{0};  ///< since the injector was made
  nanoseconds duration{0};
  friend bool operator==(const event&, const event&) = default;
};

/// The events of one victim, one after the other; they never overlap. One thread at a time.
class sequence {
 public:
  /// Throws as check().
  sequence(const plan& wanted, std::uint64_t victim);
  /// Event number 0, 1, ...: any order, always the same.
  event at(std::uint64_t number) const;

 private:
  plan plan_;
  std::uint64_t victim_;
  nanoseconds phase_;
};

struct counts {
  std::uint64_t events = 0;  ///< carried out
  std::uint64_t missed = 0;  ///< over before the victim could be hit
  nanoseconds delayed{0};    ///< sum of the durations of these events
};

/// Emulates another program that uses some cores now and then: a thread of its own on each of them, which computes for
/// the duration of each event (in processor time, so this much is really taken). Ends with the object.
class core_injector {
 public:
  /// An empty list: all cores that the calling thread may use. Throws std::invalid_argument for a bad plan (sleeping
  /// noise takes nothing from a core) or a core that is named twice, std::system_error for a core that may not be used.
  explicit core_injector(const plan& wanted, std::vector<int> cores = {});
  ~core_injector();
  core_injector(const core_injector&) = delete;
  core_injector& operator=(const core_injector&) = delete;

  /// Returns when no event is running and none will follow. A second call does nothing.
  void stop();
  /// Of all cores so far. Any thread.
  counts so_far() const;
  /// "SCHED_FIFO", above all others; or "ordinary" when that is not permitted: it shares cores with other threads.
  const std::string& priority() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Delays the calling threads where they request it, for example the participants of a loop. Has no threads of its own.
class thread_injector {
 public:
  /// Time and sleep of the machine; others for tests in virtual time.
  struct clock {
    std::function<nanoseconds()> now;
    std::function<void(nanoseconds)> sleep;
  };

  /// Victims are numbered from 0. Throws std::invalid_argument for a bad plan or no victims.
  thread_injector(const plan& wanted, int victims);
  thread_injector(const plan& wanted, int victims, clock time);
  ~thread_injector();
  thread_injector(const thread_injector&) = delete;
  thread_injector& operator=(const thread_injector&) = delete;

  /// If an event of this victim has begun since its last call, delays the calling thread for the event's whole
  /// duration. If several have, only for the last of them: the others hit it while it was doing something else. Costs
  /// one clock read. One thread per victim at a time. Throws std::out_of_range for a number that is not a victim.
  void delay(int victim);
  /// Ends all delays. Any thread.
  void stop() {
    stopped_.store(true, std::memory_order_relaxed);
  }  // relaxed: a victim that sees it late is hit once more
  /// Of all victims so far. Exact when no call of delay() is running. Any thread.
  counts so_far() const;

 private:
  struct victim;
  noise::kind kind_;
  clock clock_;
  nanoseconds start_;
  std::vector<victim> victims_;
  std::atomic<bool> stopped_{false};
};

}  // namespace tri::noise

#pragma GCC visibility pop
