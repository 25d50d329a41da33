#include "framework/cacheline.hpp"

#include <stdexcept>
#include <thread>
#include <vector>

#include "framework/pinned_thread.hpp"
#include "os/clock.hpp"
#include "os/cpu/pinning.hpp"

namespace tri::bench {
namespace {

// Spins without pausing: a pause would add its own length to the figure. Yields the core now and then, so that two
// threads placed on one core still finish.
void wait_for(const std::atomic<std::uint64_t>& turn, std::uint64_t expected) {
  constexpr std::uint32_t spins_before_yield = 1U << 16;
  std::uint32_t spins = 0;
  while (turn.load(std::memory_order_acquire) != expected) {  // pairs: handoff.turn
    if (++spins == spins_before_yield) {
      spins = 0;
      std::this_thread::yield();
    }
  }
}

}  // namespace

double cacheline_handoff::lead(std::uint64_t round_trips) {
  // Relaxed: the last value was written before the follower's last store, which the previous call has waited for.
  std::uint64_t turn = turn_.load(std::memory_order_relaxed);
  const std::int64_t start_ns = os::now_ns();
  for (std::uint64_t trip = 0; trip < round_trips; ++trip) {
    turn_.store(turn + 1, std::memory_order_release);  // pairs: handoff.turn
    turn += 2;
    wait_for(turn_, turn);
  }
  return static_cast<double>(os::now_ns() - start_ns) / (2.0 * static_cast<double>(round_trips));
}

void cacheline_handoff::follow(std::uint64_t round_trips) {
  // The follower may arrive before or after the leader's first store: both values round to the same even number.
  std::uint64_t turn = turn_.load(std::memory_order_acquire) & ~std::uint64_t{1};  // pairs: handoff.turn
  for (std::uint64_t trip = 0; trip < round_trips; ++trip) {
    wait_for(turn_, turn + 1);
    turn += 2;
    turn_.store(turn, std::memory_order_release);  // pairs: handoff.turn
  }
}

samples measure_handoff(const batch_runner& runner, int leader_cpu, int follower_cpu) {
  cacheline_handoff line;
  pinned_thread leader(leader_cpu);
  pinned_thread follower(follower_cpu);
  return runner.collect([&](std::uint64_t operations) {
    // Two hand-offs are one round trip.
    const std::uint64_t round_trips = operations / 2 + 1;
    double one_way_ns = 0;
    bool disturbed = false;
    follower.start([&] { line.follow(round_trips + 1); });
    leader.start([&] {
      line.lead(1);  // waits until the system has given the follower its core; not part of the figure
      one_way_ns = line.lead(round_trips);
    });
    disturbed |= leader.wait();
    disturbed |= follower.wait();
    return batch_result{.elapsed_ns = one_way_ns * static_cast<double>(operations), .disturbed = disturbed};
  });
}

cpu_pair two_cpus() {
  const std::vector<int> cpus = os::cpus_of_this_thread();
  if (cpus.size() < 2) throw std::runtime_error("this row needs two CPUs, and this process may use only one");
  return {cpus[0], cpus[1]};
}

}  // namespace tri::bench
