#include "schedules/learning/weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace tri::schedules {
namespace {

bool says_something(double value) { return value > 0.0 && std::isfinite(value); }

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

void scale_to_mean_one(std::vector<double>& weights) {
  const double mean = std::accumulate(weights.begin(), weights.end(), 0.0) / static_cast<double>(weights.size());
  for (double& weight : weights) weight /= mean;
}

}  // namespace

std::vector<double> weights_of(std::span<const double> times) {
  double sum = 0.0;
  std::size_t known = 0;
  for (const double time : times) {
    if (!says_something(time)) continue;
    sum += time;
    ++known;
  }
  std::vector<double> weights(times.size(), 1.0);
  for (std::size_t index = 0; index < times.size(); ++index) {
    if (says_something(times[index])) weights[index] = sum / static_cast<double>(known) / times[index];
  }
  return weights;
}

std::vector<std::uint64_t> allocate(std::uint64_t total, std::span<const double> weights) {
  if (weights.empty()) throw std::invalid_argument("weights: there are none; one per participant is needed");
  long double sum = 0.0L;
  for (const double weight : weights) sum += says_something(weight) ? weight : 0.0;
  const bool equal = sum == 0.0L;
  if (equal) sum = static_cast<long double>(weights.size());

  std::vector<std::uint64_t> parts(weights.size());
  std::vector<long double> remainders(weights.size());
  std::uint64_t given = 0;
  for (std::size_t index = 0; index < weights.size(); ++index) {
    const long double weight = equal ? 1.0L : says_something(weights[index]) ? weights[index] : 0.0L;
    const long double exact = static_cast<long double>(total) * (weight / sum);
    // Never more than the rest: for totals beyond 2^60 the product itself may be rounded up.
    parts[index] = std::min(static_cast<std::uint64_t>(exact), total - given);
    remainders[index] = exact - static_cast<long double>(parts[index]);
    given += parts[index];
  }
  std::vector<std::size_t> by_remainder(weights.size());
  std::iota(by_remainder.begin(), by_remainder.end(), std::size_t{0});
  std::stable_sort(by_remainder.begin(), by_remainder.end(),
                   [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
  const std::uint64_t missing = total - given;  // below the number of weights, but for rounding of huge totals
  const std::uint64_t each = missing / weights.size();
  for (std::size_t index = 0; index < by_remainder.size(); ++index) {
    parts[by_remainder[index]] += each + (index < missing % weights.size() ? 1 : 0);
  }
  return parts;
}

std::vector<std::uint64_t> starts_of(std::span<const std::uint64_t> parts) {
  std::vector<std::uint64_t> starts{0};
  for (const std::uint64_t part : parts) starts.push_back(starts.back() + part);
  return starts;
}

weight_tracker::weight_tracker(std::uint32_t participants, limits allowed)
    : limits_(allowed), histories_(participants), weights_(participants, 1.0) {
  if (participants == 0) throw std::invalid_argument("weights: there are 0 participants; at least one is needed");
  if (allowed.window == 0) throw std::invalid_argument("weights: the window is 0 executions; at least 1 is needed");
  if (!(allowed.cap > 1.0)) {
    throw std::invalid_argument(fmt::format("weights: the cap is {}; it must be greater than 1", allowed.cap));
  }
}

void weight_tracker::measured(std::span<const double> times, std::span<const std::uint64_t> iterations) {
  if (times.size() != weights_.size() || iterations.size() != weights_.size()) {
    throw std::invalid_argument(fmt::format("weights: {} times and {} numbers of iterations for {} participants",
                                            times.size(), iterations.size(), weights_.size()));
  }
  std::vector<double> speeds(weights_.size(), 0.0);
  double mean_speed = 0.0;
  std::size_t known = 0;
  for (std::size_t index = 0; index < weights_.size(); ++index) {
    history& past = histories_[index];
    if (iterations[index] > 0 && says_something(times[index])) {
      const double cost = times[index] / static_cast<double>(iterations[index]);
      if (past.costs.size() < limits_.window) {
        past.costs.push_back(cost);
      } else {
        past.costs[past.next] = cost;
      }
      past.next = (past.next + 1) % limits_.window;
    }
    if (past.costs.empty()) continue;
    speeds[index] = 1.0 / median_of(past.costs);
    mean_speed += speeds[index];
    ++known;
  }
  if (known == 0) return;
  mean_speed /= static_cast<double>(known);
  for (std::size_t index = 0; index < weights_.size(); ++index) {
    const double wanted = speeds[index] > 0.0 ? speeds[index] / mean_speed : 1.0;
    weights_[index] = std::clamp(wanted, weights_[index] / limits_.cap, weights_[index] * limits_.cap);
  }
  scale_to_mean_one(weights_);
}

}  // namespace tri::schedules
