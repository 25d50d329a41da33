#include "loops/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "loops/weights.hpp"

namespace tri::loops {

calibrated_value calibrate(const std::function<double()>& trial, std::uint32_t trials, double floor) {
  if (trials < fewest_trials) {
    throw std::invalid_argument(fmt::format("calibration: {} trials; at least {} are needed", trials, fewest_trials));
  }
  if (!(floor > 0.0))
    throw std::invalid_argument(fmt::format("calibration: the floor is {}; it must be above 0", floor));
  std::vector<double> values;
  for (std::uint32_t index = 0; index < trials; ++index) values.push_back(trial());
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  // Also where the median is no number.
  return {median > floor ? median : floor, values.front(), values.back(), trials};
}

double claim_time_of(double dynamic_time, double static_time, std::uint32_t participants, std::uint64_t claims) {
  return claims == 0 ? 0.0 : (dynamic_time - static_time) * participants / static_cast<double>(claims);
}

std::vector<double> probe_weights(std::uint32_t cores, std::uint32_t trials,
                                  const std::function<double(std::uint32_t core)>& quantum) {
  if (trials == 0) throw std::invalid_argument("speed probe: 0 trials; at least 1 is needed");
  std::vector<double> times(cores);
  for (std::uint32_t trial = 0; trial < trials; ++trial) {
    for (std::uint32_t core = 0; core < cores; ++core) {
      const double time = quantum(core);
      times[core] = trial == 0 ? time : std::min(times[core], time);
    }
  }
  return weights_of(times);
}

}  // namespace tri::loops
