// The physical limit of every latency: how long a cache line takes from one core to another. Two threads (of one
// process or of two, the object may be in shared memory) pass one line back and forth, with nothing else in the loop.
// Exactly one thread calls lead() and one follow(), with the same number of round trips, each on its own core.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "framework/batches.hpp"

namespace tri::bench {

class alignas(64) cacheline_handoff {
 public:
  // Returns the time of one hand-off, one way, in nanoseconds. Returns when the partner has made all round trips.
  double lead(std::uint64_t round_trips);
  void follow(std::uint64_t round_trips);

 private:
  // Even: the leader's turn, odd: the follower's. Counts up over all calls, so an object can be used again and again.
  std::atomic<std::uint64_t> turn_{0};
};
static_assert(sizeof(cacheline_handoff) == 64 && std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::is_trivially_destructible_v<cacheline_handoff>);

// Measures the hand-off between two CPUs of the operating system with two threads of its own, pinned to them.
samples measure_handoff(const batch_runner& runner, int leader_cpu, int follower_cpu);

// Two CPUs that the calling thread may use, for measurements between two cores. Throws std::runtime_error when there
// is only one.
struct cpu_pair {
  int first;
  int second;
};
cpu_pair two_cpus();

}  // namespace tri::bench
