// Numbers of the machine that the model needs, from repeated trials: single differences of times can be far off, even
// negative. How a trial is run is the caller's business.
#pragma once

#include <cstdint>
#include <functional>

#include "schedules/learning/fraction_record.hpp"

namespace tri::loops {

inline constexpr std::uint32_t fewest_trials = 9;

struct calibrated_value {
  double value = 0.0;  ///< the median of the trials, at least the floor
  double least = 0.0;  ///< of the trials, as they were
  double largest = 0.0;
  std::uint32_t trials = 0;
};

/// Throws std::invalid_argument when there are fewer than 9 trials or the floor is not above 0.
calibrated_value calibrate(const std::function<double()>& trial, std::uint32_t trials, double floor);

/// Time of a claim, from a dynamic and a static execution of the same loop: the extra time of the dynamic one, over all
/// participants, divided by its claims. May be negative; calibrate() handles that.
double claim_time_of(double dynamic_time, double static_time, std::uint32_t participants, std::uint64_t claims);

/// The time of a claim on this machine, in ticks: an empty loop chunk by chunk and in blocks, with the team of the
/// calling thread. Measured once, at the first call, in some milliseconds; what costs_of_this_machine() plans with.
const calibrated_value& claim_time_of_this_machine();

/// Numbers of this machine for the schedules with a model, in ticks, measured at the first call: some tens of
/// milliseconds.
const schedules::machine_costs& costs_of_this_machine();

}  // namespace tri::loops
