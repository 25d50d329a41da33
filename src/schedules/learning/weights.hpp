// How much of a loop's static part each participant gets: in proportion to its measured speed, adjusted from one
// execution to the next. After V. Kale, PhD dissertation, Illinois 2015, chapter 3, with the weights normalised (as
// printed they add up to more than the loop) and with guards. Plain values; one thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tri::schedules {

/// mean(times) / time of each, for equal work. A time that is not a positive number gives the weight 1.
std::vector<double> weights_of(std::span<const double> times);

/// Distributes `total` in proportion, exactly: the parts lost by rounding down go to the largest remainders (the first
/// of equals). A weight that is not a positive number gets nothing, unless all are so: then all get the same. Throws
/// std::invalid_argument when there are no weights.
std::vector<std::uint64_t> allocate(std::uint64_t total, std::span<const double> weights);

/// Where each part begins, and the end: 0, parts[0], parts[0] + parts[1], ...
std::vector<std::uint64_t> starts_of(std::span<const std::uint64_t> parts);

/// Weights that follow the measured speed of each participant.
/// One slow execution changes nothing: the cost of an iteration is the median over a window. A weight changes at most
/// by the factor `cap` from one execution to the next, so a wrong measurement does little harm.
class weight_tracker {
 public:
  struct limits {
    std::uint32_t window = 3;  ///< executions of which the median counts
    double cap = 2.0;          ///< the most that a weight grows or shrinks at once
  };
  explicit weight_tracker(std::uint32_t participants) : weight_tracker(participants, limits{}) {}
  weight_tracker(std::uint32_t participants, limits allowed);

  /// The static sections of one execution: how long each participant took for how many iterations. A participant
  /// without iterations, or with a time that is not a positive number, keeps its cost.
  void measured(std::span<const double> times, std::span<const std::uint64_t> iterations);

  /// Mean 1. All 1 before the first measurement.
  std::span<const double> weights() const { return weights_; }

 private:
  struct history {
    std::vector<double> costs;  // ring of the last `window` costs of an iteration
    std::size_t next = 0;
  };
  limits limits_;
  std::vector<history> histories_;
  std::vector<double> weights_;
};

}  // namespace tri::schedules
