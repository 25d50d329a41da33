// A job of several nodes in virtual time: in each step every node runs the same loop, then all wait for the last one,
// as in a collective operation. Noise hits nodes at random, nodes may have unequal work, and an iteration that runs
// elsewhere than in the step before costs more, because its data must move. Each node learns like a real one: the
// fraction from the model, the slack predicted from its waits, or the state of `automatic`. Deterministic for a seed;
// built on region_simulator. The dissertation's measurements on thousands of cores can be reproduced here.
#pragma once

#include <cstdint>
#include <vector>

#include "schedules/learning/fraction_search.hpp"
#include "trireme/detail/schedules/loop_schedule.hpp"

namespace tri::sim {

/// Times in any unit, the same for all.
struct simulated_job {
  std::uint32_t participants = 16;     ///< of a node
  std::vector<double> node_work{1.0};  ///< one per node: factor on the time of its iterations
  std::uint64_t items = 6400;          ///< of a node
  std::uint32_t steps = 50;            ///< after one that is not counted, in which nothing has been learned
  double iteration_time = 1000.0;      ///< mean of the node
  double unevenness = 0.0;             ///< iterations cost from 1 - this to 1 + this times the mean, rising
  double claim_time = 0.0;             ///< of dynamic work
  double move_time = 0.0;              ///< of an iteration whose last execution was on another participant
  double hit_chance = 0.0;             ///< that an event begins in a step of a node; on a random participant
  double noise_length = 0.0;           ///< of an event, known to models
  double latest_noise = 1.0;           ///< events begin in this part of the time that a step needs at least
  bool slack_known = true;             ///< false: the predictor is off, and slack schedules use the model alone
  std::uint64_t seed = 1;
};

struct job_run {
  double step_time = 0.0;  ///< mean
  std::vector<double> step_times;
  std::vector<double> static_fractions;  ///< of the nodes in the last step; of schedules that have one
  double claims_per_step = 0.0;          ///< of a node
  double moved_per_step = 0.0;           ///< iterations of a node that ran elsewhere than before
  double idle_share = 0.0;               ///< of all participants' time, in the loops: without waiting for other nodes
};

/// Throws std::invalid_argument when a number is out of its range, and for schedules that need features not simulated
/// here: speeds of participants, tags of tasklets, searches.
job_run simulate_job(const simulated_job& job, const schedules::schedule& which);

/// The oracle: constant static fractions, the same for all nodes and steps, each tried once. best() is the one with the
/// least step time. `which`: of a kind with a given fraction, such as hybrid or staggered. Throws std::invalid_argument
/// for another one, or an increment that is not above 0 and at most 1.
schedules::fraction_search ask_oracle(const simulated_job& job, schedules::schedule which, double increment = 0.05);

}  // namespace tri::sim
