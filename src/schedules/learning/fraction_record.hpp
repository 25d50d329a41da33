// The memory of one loop for schedules with a model, and the resulting dynamic fraction. Constant memory, however often
// the loop runs. After V. Kale, PhD dissertation, Illinois 2015, section on run-time estimation (chapter 4). One user
// at a time; times in any unit, the same for all.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedules/learning/model.hpp"
#include "trireme/detail/schedules/loop_schedule.hpp"

namespace tri::schedules {

/// Numbers of the machine (calibration.hpp, noise.hpp).
struct machine_costs {
  double claim_time = 0.0;   ///< of one claim
  double noise_delay = 0.0;  ///< of a noise event
};

class fraction_record {
 public:
  static constexpr double first_fraction = 0.10;  ///< while nothing is known

  /// The dynamic fraction of the next execution. `which` selects the delay to plan for, the slack rule and the chunk. A
  /// different number of participants resets the memory.
  double next(const schedule& which, std::uint64_t items, std::uint32_t participants, const machine_costs& machine,
              double slack);

  /// The blocks of one execution: how long each participant took for how many iterations. Participants without
  /// iterations are skipped.
  void ended(std::span<const double> static_times, std::span<const std::uint64_t> static_iterations);
  /// delta_app, from application_delay().
  void set_application_delay(double delay) { application_delay_ = delay; }

  std::uint64_t executions() const { return executions_; }
  /// t_1: the least that each participant ever took for an iteration, mean over the participants. 0: unknown.
  double iteration_time() const;
  double region_time(std::uint64_t items) const;  ///< T_p
  double last_fraction() const { return last_fraction_; }

 private:
  std::vector<double> least_;  // time of an iteration, by participant; 0: unknown
  std::uint64_t executions_ = 0;
  double application_delay_ = 0.0;
  double last_fraction_ = first_fraction;
};

}  // namespace tri::schedules
