// One execution of a loop in virtual time: participants of any speed, iterations of any cost, noise, claims that take
// time. The board's own claiming code decides their next steps over the lines of a real layout, so the simulation runs
// the real code. Deterministic: the participant with the smallest clock acts, the first of equals.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "schedules/loop_layout.hpp"

namespace tri::sim {

/// From `at` on, participant computes nothing for `length`. Events of one participant must not overlap.
struct noise_event {
  std::uint32_t participant = 0;
  double at = 0.0;
  double length = 0.0;
};

struct region {
  double iteration_time = 1.0;                  ///< of every iteration, when there is no `cost`
  std::function<double(std::uint64_t)> cost{};  ///< time of an iteration on a participant of slowness 1
  double claim_time = 0.0;                      ///< of a claim of dynamic work; blocks and failed searches are free
  bool claims_wait = true;                      ///< claims from the same range or pool are serialized
  std::vector<double> slowness{};               ///< factor on the time of an iteration, per participant; empty: 1
  std::vector<noise_event> noise{};
  std::span<const std::uint32_t> last_owners{};  ///< last owner of each iteration, or no_owner; empty: none
  double move_time = 0.0;                        ///< of an iteration whose last owner was another participant
  std::vector<double> arrivals{};  ///< when each participant comes; empty: 0. Then owners are not sure to come
};

struct participant_run {
  double static_time = 0.0;  ///< of its block, with the noise in it
  double finish = 0.0;       ///< when it found nothing more
  double computed = 0.0;     ///< in iterations
  double claiming = 0.0;     ///< in claims, without waiting
  double waited = 0.0;       ///< for others' claims
  double disturbed = 0.0;    ///< by noise
  std::uint64_t static_iterations = 0;
  std::uint64_t iterations = 0;
  std::uint64_t claims = 0;         ///< of dynamic work
  std::uint64_t pool_claims = 0;    ///< of these, from the pool
  std::uint64_t stolen_claims = 0;  ///< of these, from the range of another
};

struct executed_part {
  std::uint32_t participant = 0;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint32_t from = 0;  ///< whose range it was; the number of participants: the pool
  double begin = 0.0;      ///< when it was claimed
  double end = 0.0;
};

struct region_run {
  double time = 0.0;  ///< when the last participant finished
  std::vector<participant_run> participants;
  std::vector<executed_part> parts;  ///< in the order of claims

  std::uint64_t claims() const;
  std::uint64_t stolen_claims() const;
  double idle_time() const;  ///< mean over the participants, until the last finished
  std::vector<std::uint32_t> owners(std::uint64_t items) const;
};

/// Throws std::invalid_argument when sizes do not match the layout.
region_run simulate(const region& what, const schedules::loop_layout& layout);

/// Many nodes that wait for each other after every step, each hit with some probability by one event that begins at a
/// random moment of the step, on a random participant.
struct many_nodes {
  std::uint32_t nodes = 1;
  std::uint32_t steps = 1000;
  double hit_chance = 0.0;
  double length = 0.0;
  std::uint64_t seed = 1;
};
/// Mean time of a step.
double mean_step_time(const region& quiet, const schedules::loop_layout& layout, const many_nodes& machine);

}  // namespace tri::sim
