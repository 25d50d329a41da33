// Weights from measured times: formulas, exact allocation, and how fast they follow.
#include "schedules/learning/weights.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>

namespace tri::schedules {
namespace {

using testing::DoubleEq;
using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

TEST(weights_of, mean_by_own_time) {  // K36
  EXPECT_THAT(weights_of(std::vector{1.0, 2.0}), ElementsAre(DoubleEq(1.5), DoubleEq(0.75)));
}

TEST(weights_of, a_time_that_says_nothing_weighs_one) {  // K36, guards
  EXPECT_THAT(weights_of(std::vector{1.0, 0.0, 2.0, -1.0, not_a_number}),
              ElementsAre(DoubleEq(1.5), 1.0, DoubleEq(0.75), 1.0, 1.0));
  EXPECT_THAT(weights_of(std::vector{0.0, 0.0}), Each(1.0));
}

TEST(allocate, shares_are_exact_and_in_proportion) {  // K37
  EXPECT_THAT(allocate(1000, std::vector{1.0, 1.0, 1.0, 0.5}), ElementsAre(286, 286, 285, 143))
      << "285.71 three times and 142.86: the largest remainders get what is missing";
  EXPECT_THAT(allocate(10, std::vector{0.0, 0.0, 0.0}), ElementsAre(4, 3, 3)) << "nothing known: equal";
  EXPECT_THAT(allocate(10, std::vector{1.0, not_a_number, 1.0}), ElementsAre(5, 0, 5));
  EXPECT_THAT(allocate(0, std::vector{1.0, 2.0}), ElementsAre(0, 0));
  EXPECT_THROW(allocate(1, {}), std::invalid_argument);
}

TEST(allocate, the_sum_is_the_total_for_any_weights) {  // K37
  std::mt19937_64 random(37);
  for (int round = 0; round < 2000; ++round) {
    std::vector<double> weights(1 + random() % 64);
    for (double& weight : weights) weight = std::exp(static_cast<double>(random() % 2000) / 100.0 - 10.0);
    const std::uint64_t total = random() >> (random() % 64);
    const std::vector<std::uint64_t> parts = allocate(total, weights);
    const std::vector<std::uint64_t> starts = starts_of(parts);
    ASSERT_EQ(starts.front(), 0u);
    ASSERT_EQ(starts.back(), total);
    ASSERT_TRUE(std::is_sorted(starts.begin(), starts.end()));
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    if (total > std::uint64_t{1} << 50) continue;
    for (std::size_t index = 0; index < parts.size(); ++index) {
      const double exact = static_cast<double>(total) * weights[index] / sum;
      ASSERT_NEAR(static_cast<double>(parts[index]), exact, 1.001);
    }
  }
}

// One execution: times of the static sections of participants with these speeds.
std::vector<double> times_of(const std::vector<std::uint64_t>& parts, const std::vector<double>& speeds) {
  std::vector<double> times;
  for (std::size_t index = 0; index < parts.size(); ++index) {
    times.push_back(static_cast<double>(parts[index]) / speeds[index]);
  }
  return times;
}
double largest_by_mean(const std::vector<double>& times) {
  return *std::max_element(times.begin(), times.end()) /
         (std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size()));
}

TEST(weight_tracker, converges_in_one_adjustment) {  // K38 (seed 4.3: max/avg 1.60 to 1.00)
  const std::vector speeds{1.0, 1.0, 1.0, 0.5};
  weight_tracker tracker(4);
  std::vector<std::uint64_t> parts = allocate(1000, tracker.weights());
  EXPECT_THAT(parts, Each(250));
  EXPECT_THAT(largest_by_mean(times_of(parts, speeds)), DoubleEq(1.6));
  tracker.measured(times_of(parts, speeds), parts);
  parts = allocate(1000, tracker.weights());
  EXPECT_THAT(parts, ElementsAre(286, 286, 285, 143));
  EXPECT_THAT(largest_by_mean(times_of(parts, speeds)), DoubleNear(1.0, 0.002));
}

TEST(weight_tracker, follows_a_change_of_speeds_within_five_steps) {  // K38
  std::vector speeds{1.0, 0.5, 1.0, 1.0};
  weight_tracker tracker(4);
  std::vector<double> ratios;
  for (int step = 0; step < 60; ++step) {
    if (step == 50) speeds = {1.0, 1.0, 1.0, 0.4};
    const std::vector<std::uint64_t> parts = allocate(10000, tracker.weights());
    ratios.push_back(largest_by_mean(times_of(parts, speeds)));
    tracker.measured(times_of(parts, speeds), parts);
  }
  EXPECT_LT(ratios[49], 1.001);
  EXPECT_GT(ratios[50], 1.5);
  EXPECT_LT(ratios[55], 1.1);
}

TEST(weight_tracker, one_hit_by_noise_changes_nothing) {  // K38, damping
  weight_tracker tracker(2);
  const std::vector<std::uint64_t> parts{500, 500};
  for (int step = 0; step < 3; ++step) tracker.measured(std::vector{1.0, 1.0}, parts);
  tracker.measured(std::vector{1.0, 9.0}, parts);
  EXPECT_THAT(tracker.weights(), Each(DoubleEq(1.0)));
  tracker.measured(std::vector{1.0, 9.0}, parts);
  EXPECT_LT(tracker.weights()[1], 1.0) << "twice is no accident";
}

TEST(weight_tracker, a_weight_at_most_doubles_or_halves_at_once) {  // K38, cap
  weight_tracker tracker(2, {.window = 1, .cap = 2.0});
  tracker.measured(std::vector{1.0, 100.0}, std::vector<std::uint64_t>{500, 500});
  EXPECT_THAT(tracker.weights()[0] / tracker.weights()[1], DoubleNear(1.98 / 0.5, 1e-3));
}

TEST(weight_tracker, a_participant_that_had_nothing_keeps_its_cost) {
  weight_tracker tracker(2, {.window = 1});
  tracker.measured(std::vector{1.0, 2.0}, std::vector<std::uint64_t>{10, 10});
  const std::vector<double> before(tracker.weights().begin(), tracker.weights().end());
  tracker.measured(std::vector{1.0, 0.0}, std::vector<std::uint64_t>{10, 0});
  tracker.measured(std::vector{1.0, -3.0}, std::vector<std::uint64_t>{10, 10});
  EXPECT_THAT(tracker.weights(), ElementsAre(DoubleEq(before[0]), DoubleEq(before[1])));
}

TEST(weight_tracker, refuses_what_does_not_fit) {
  weight_tracker tracker(2);
  EXPECT_THROW(tracker.measured(std::vector{1.0}, std::vector<std::uint64_t>{1, 1}), std::invalid_argument);
  EXPECT_THROW(weight_tracker(0), std::invalid_argument);
  EXPECT_THROW(weight_tracker(2, {.window = 0}), std::invalid_argument);
  EXPECT_THROW(weight_tracker(2, {.cap = 1.0}), std::invalid_argument);
}

}  // namespace
}  // namespace tri::schedules
