// Injected noise, for experiments: victims, times and durations follow from a seed, so an experiment can be repeated,
// on this machine or in virtual time (region_simulator.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "schedules/learning/noise_samples.hpp"
#include "sim/region_simulator.hpp"

namespace tri::sim {

enum class noise_kind : std::uint8_t {
  sleeping,  ///< the victim yields its core, which looks idle
  computing  ///< the victim's core is busy with other work
};

struct noise_plan {
  std::uint32_t participants = 1;
  double chance = 0.0;    ///< that a participant is hit in a step
  double shortest = 0.0;  ///< of an event, nanoseconds
  double longest = 0.0;
  noise_kind kind = noise_kind::sleeping;
  std::uint64_t seed = 1;
};

class noise_generator {
 public:
  /// Throws std::invalid_argument when a value is out of its range.
  explicit noise_generator(const noise_plan& plan);

  /// The events of a step that takes `step_time`: at most one per participant, at a random moment, in the order of
  /// participants. The same for the same step number, independent of earlier calls. Any thread.
  std::vector<noise_event> events(std::uint64_t step, double step_time) const;

  /// For how long one thing is held up, which two numbers name (a rank and its step): 0 where it is not hit. The same
  /// whenever it is asked. Any thread.
  double delay_of(std::uint64_t first, std::uint64_t second) const;

  noise_kind kind() const { return plan_.kind; }

 private:
  noise_plan plan_;
};

/// Holds up the calling thread for `length` nanoseconds. The functions are the machine's, or a test's.
void disturb(noise_kind kind, double length, const schedules::clock_function& now,
             const std::function<void(double nanoseconds)>& sleep);

}  // namespace tri::sim
