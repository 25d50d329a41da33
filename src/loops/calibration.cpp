#include "loops/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

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
  // Also when the median is NaN.
  return {median > floor ? median : floor, values.front(), values.back(), trials};
}

double claim_time_of(double dynamic_time, double static_time, std::uint32_t participants, std::uint64_t claims) {
  return claims == 0 ? 0.0 : (dynamic_time - static_time) * participants / static_cast<double>(claims);
}

}  // namespace tri::loops
