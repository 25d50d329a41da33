// When to balance, in virtual time.
#include "balance/decision.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>

namespace tri::balancing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr double level = 1000.0;

// Iterations until it is time, where imbalance grows by `growth` in each from `from` on.
int iterations_until(balance_decision& when, double growth, double from = 0.0, int most = 100'000) {
  for (int i = 1; i <= most; ++i) {
    when.add_iteration(level + from + growth * i, level);
    if (when.decide() == verdict::balance) return i;
  }
  return most;
}

TEST(balance_decision, the_period_for_growing_imbalance_is_the_cheapest_one) {
  for (const double growth : {0.5, 2.0, 30.0}) {
    balance_decision when;
    when.add_balancing(20'000.0);
    when.add_iteration(level, level);
    const int period = iterations_until(when, growth);
    EXPECT_NEAR(period, std::sqrt(2.0 * 20'000.0 / growth), 2.0) << growth;
    // Cost of an iteration with any other period.
    const auto cost = [&](int n) { return (20'000.0 + growth * n * (n + 1) / 2.0) / n; };
    for (int other = 1; other < 3 * period; ++other) EXPECT_LE(cost(period), 1.02 * cost(other)) << growth;
  }
}

TEST(balance_decision, steady_imbalance_loses_its_cost_once) {
  balance_decision when({.first_cost_ns = 5'000.0});
  const int period = iterations_until(when, 0.0, 100.0);
  EXPECT_EQ(period, 50);
  EXPECT_DOUBLE_EQ(when.lost_ns(), when.cost_ns());
}

TEST(balance_decision, balanced_iterations_never_ask_for_more) {
  balance_decision when({.first_cost_ns = 0.0});
  EXPECT_EQ(iterations_until(when, 0.0), 100'000);
  EXPECT_EQ(when.decide(), verdict::no_loss);
}

// One object is half of all work: times stay 1.5 of the level, whatever is moved.
TEST(balance_decision, what_balancing_cannot_mend_is_learnt) {
  balance_decision when({.first_cost_ns = 5'000.0});
  int balancings = 0;
  for (int i = 0; i < 10'000; ++i) {
    when.add_iteration(1.5 * level, level);
    if (when.decide() != verdict::balance) continue;
    ++balancings;
    when.add_balancing(5'000.0);
  }
  EXPECT_EQ(balancings, 1);
  EXPECT_DOUBLE_EQ(when.reachable(), 1.5);
}

TEST(balance_decision, the_end_may_be_too_near) {
  balance_decision when({.first_cost_ns = 1'000.0});
  for (int i = 0; i < 20; ++i) when.add_iteration(level + 100.0, level);
  EXPECT_EQ(when.decide(), verdict::balance);
  EXPECT_EQ(when.decide(11), verdict::balance);
  EXPECT_EQ(when.decide(10), verdict::too_few_to_come);
}

TEST(balance_decision, measured_costs_take_the_place_of_the_first_guess) {
  balance_decision when({.first_cost_ns = 1'000.0});
  when.add_balancing(8'000.0);
  EXPECT_DOUBLE_EQ(when.cost_ns(), 8'000.0);
  when.add_balancing(4'000.0);
  EXPECT_DOUBLE_EQ(when.cost_ns(), 6'000.0);
}

TEST(balance_decision, noise_around_balance_is_cheap) {
  std::mt19937_64 random(11);
  balance_decision when({.first_cost_ns = 50'000.0});
  int balancings = 0;
  for (int i = 0; i < 10'000; ++i) {
    when.add_iteration(level + static_cast<double>(random() % 20), level);
    if (when.decide() != verdict::balance) continue;
    ++balancings;
    when.add_balancing(50'000.0);
  }
  EXPECT_LE(balancings * 50'000.0, 10'000 * 10.0 * 1.1) << "no more than the noise itself";
}

TEST(balance_decision, moves_pay_when_the_gain_of_what_is_to_come_is_more) {
  balance_decision when;
  for (int i = 0; i < 10; ++i) when.add_iteration(2 * level, level);
  // Of ten iterations: 20,000 ns before, 10,000 after; each iteration gains 1000.
  const quality before{.longest_ns = 20'000.0};
  quality after{.longest_ns = 10'000.0};
  after.moved_objects = 10;
  after.moved_bytes = 1000;
  EXPECT_TRUE(when.pays(before, after, 100.0, 1.0, 1, 3)) << "2000 ns of moves, 3000 gained";
  EXPECT_FALSE(when.pays(before, after, 100.0, 1.0, 1, 2));
  EXPECT_TRUE(when.pays(before, after, 100.0, 1.0, 2, 2)) << "two PEs migrate at the same time";
  EXPECT_TRUE(when.pays(before, after, 100.0, 8.9, 1)) << "as long as it lasted: ten iterations";
  EXPECT_FALSE(when.pays(before, after, 100.0, 9.1, 1));
  EXPECT_FALSE(when.pays(before, before, 0.0, 0.0, 1, 1000)) << "nothing gained";
}

TEST(balance_decision, wrong_values_are_refused) {
  EXPECT_THAT([] { balance_decision({.smoothing = 0.0}); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("smoothing is 0; it must be above 0 and at most 1")));
  EXPECT_THAT([] { balance_decision({.first_cost_ns = -1.0}); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("first_cost_ns is -1")));
  balance_decision when;
  EXPECT_THAT([&] { when.add_iteration(std::nan(""), 1.0); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("longest_ns is nan")));
  EXPECT_THAT([&] { when.add_balancing(std::numeric_limits<double>::infinity()); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("cost_ns is inf")));
}

}  // namespace
}  // namespace tri::balancing
