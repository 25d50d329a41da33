// A collective operation on up to millions of ranks in virtual time, with noise: the plans that ranks run
// (coll/plan.hpp), by the time rules of the cost model (coll/virtual_host.hpp), without all plans in memory.
//
// The plans of a host are generated when it has something to do, and dropped when all its ranks have ended. All ranks
// of a job begin at the same time, so that would still be all plans at once: hosts beyond a bound are put aside after
// their turn, keep which steps have ended, and have their plans generated again at the next. The result is the same
// with every bound. Without noise the time is that of coll::cost_of(). One thread; deterministic for a seed.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "coll/algorithms.hpp"
#include "coll/cost_parameters.hpp"
#include "coll/request.hpp"
#include "coll/virtual_host.hpp"

namespace tri::sim {

/// Times in nanoseconds.
struct simulated_collective {
  coll::request asked;
  const coll::algorithm* by = nullptr;
  coll::cost_parameters costs;
  double hit_chance = 0.0;      ///< that a send, receive, copy or reduction is held up
  double longest_hit = 0.0;     ///< such an event lasts from 0 to this
  double longest_jitter = 0.0;  ///< each message between hosts is under way for longer, from 0 to this
  std::uint64_t seed = 1;
  std::uint64_t most_steps = 1'000'000'000;                ///< of all ranks
  std::uint64_t most_plan_bytes = std::uint64_t{1} << 30;  ///< beyond it hosts are put aside; one always has its plans
};

struct simulated_traffic {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

struct collective_run {
  double time = 0.0;
  std::uint64_t steps = 0;
  simulated_traffic between_hosts;
  simulated_traffic inside_hosts;
  std::uint64_t most_sent_by_host = 0;  ///< messages to other hosts
  std::uint64_t most_received_by_host = 0;
  std::vector<coll::round_times> rounds;  ///< between hosts, by number
  std::uint64_t peak_bytes = 0;           ///< of plans, and of what the simulation keeps of hosts and messages
  std::uint64_t peak_plan_bytes = 0;      ///< of plans, with the counts of what each step waits for
  std::uint64_t most_hosts_with_plans = 0;
  std::uint64_t generated_hosts = 0;  ///< how many times the plans of a host were generated
};

/// About how many steps all ranks have together, from the plans of some of them; needs next to no memory.
double expected_steps(const coll::request& asked, const coll::algorithm& by);

/// `progress`, if any, hears now and then which part of the steps has ended. Throws std::invalid_argument when a number
/// is out of its range, and when there are more steps than `most_steps`: with how many, and which algorithms have less.
collective_run simulate_collective(const simulated_collective& wanted,
                                   const std::function<void(double part)>& progress = {});

}  // namespace tri::sim
