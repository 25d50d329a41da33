// The equations of the model, their guards, and the search for the best fraction.
#include "schedules/learning/model.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "schedules/learning/fraction_search.hpp"
#include "sim/region_simulator.hpp"

namespace tri::schedules {
namespace {

using testing::DoubleEq;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr loop_costs k46{.iterations = 3200, .iteration_time = 1e-6, .participants = 2, .claim_time = 0, .delay = 4e-4};
loop_costs with_claims(double claim_time) {
  loop_costs costs = k46;
  costs.claim_time = claim_time;
  return costs;
}

TEST(model, dynamic_fractions) {  // K46 (4.2, 4.4, 4.5)
  EXPECT_THAT(dynamic_fraction(k46), DoubleEq(0.25));
  EXPECT_THAT(dynamic_fraction(with_claims(2e-7)), DoubleNear(0.2083, 5e-5));
  EXPECT_THAT(dynamic_fraction_without_cost(with_claims(2e-7)), DoubleEq(0.25));
  EXPECT_THAT(least_dynamic_fraction(k46), DoubleEq(0.125)) << "half of it with two participants";
  EXPECT_THAT(extra_time(k46, 0.25), DoubleEq(4e-4));
  EXPECT_THAT(extra_time(with_claims(2e-7), 0.25), DoubleEq(4e-4 + 0.25 * 3200 * 2e-7 / 2));
  loop_costs four = k46;
  four.participants = 4;
  EXPECT_THAT(extra_time(four, 0.0), DoubleEq(4e-4 / 3));
}

TEST(model, moved_work_and_what_it_costs) {  // K46 (4.7, 4.8)
  EXPECT_THAT(moved_work(k46, 0.1), DoubleEq(3.2e-4));
  EXPECT_THAT(extra_time_of_moving(k46, 0.1), DoubleEq(1.6e-4));
  EXPECT_THAT(extra_time_of_moving(with_claims(2e-7), 0.1), DoubleEq(1.6e-4 - 0.1 * 3200 * 2e-7));
  EXPECT_THAT(extra_time_of_moving(with_claims(2e-7), 0.1, claim_order::parallel),
              DoubleEq(1.6e-4 - 0.1 * 1600 * 2e-7));
}

TEST(model, guards) {  // K46
  const auto changed = [](auto change) {
    loop_costs costs = k46;
    change(costs);
    return dynamic_fraction(costs);
  };
  EXPECT_EQ(changed([](loop_costs& c) { c.iterations = 0; }), 0.0);
  EXPECT_EQ(changed([](loop_costs& c) { c.iteration_time = 0; }), 0.0);
  EXPECT_EQ(changed([](loop_costs& c) { c.participants = 1; }), 0.0);
  EXPECT_EQ(changed([](loop_costs& c) { c.delay = -1; }), 0.0);
  EXPECT_EQ(changed([](loop_costs& c) { c.delay = std::numeric_limits<double>::quiet_NaN(); }), 0.0);
  EXPECT_EQ(changed([](loop_costs& c) { c.delay = 1; }), 1.0);
  EXPECT_EQ(changed([](loop_costs& c) { c.delay = std::numeric_limits<double>::infinity(); }), 1.0);
  EXPECT_EQ(changed([](loop_costs& c) { c.delay = 0; }), 0.0) << "no noise, nothing dynamic";  // K64 (model)
}

TEST(model, chunks) {
  EXPECT_THAT(claim_time_per_iteration(8e-8, 8), DoubleEq(1e-8));
  EXPECT_EQ(claim_time_per_iteration(-1, 8), 0.0);
  EXPECT_EQ(worth_claiming(0.25, k46, 8), 0.25);
  EXPECT_EQ(worth_claiming(0.25, k46, 400), 0.25) << "just a chunk for everybody";
  EXPECT_EQ(worth_claiming(0.25, k46, 401), 0.0);
}

TEST(model, less_by_slack) {  // K47 (4.11)
  const loop_costs costs = with_claims(2e-7);
  const double full = dynamic_fraction(costs);
  EXPECT_EQ(reduced_by_slack(costs, full, 0), full);
  EXPECT_EQ(reduced_by_slack(costs, full, 1.0), 0.0);
  EXPECT_EQ(reduced_by_slack(costs, full, -1.0), full);
  double last = full;
  for (double slack = 0; slack < 1e-3; slack += 1e-6) {
    const double now = reduced_by_slack(costs, full, slack);
    ASSERT_LE(now, last);
    ASSERT_GE(now, 0.0);
    ASSERT_LE(now, 1.0);
    last = now;
  }
  EXPECT_THAT(reduced_by_slack(costs, full, 1e-4), DoubleEq(full - 1e-4 / (1.6e-3 - 6.4e-4)));
  EXPECT_EQ(reduced_by_slack(with_claims(6e-7), full, 0), 0.0) << "claims eat up the gain: denominator below 0";
  EXPECT_GT(reduced_by_slack(with_claims(6e-7), full, 0, claim_order::parallel), 0.0);
  loop_costs alone = k46;
  alone.participants = 1;
  EXPECT_EQ(reduced_by_slack(alone, 0.5, 0), 0.0);
}

TEST(model, sharp_rule) {  // K48
  for (const double slack : {0.0, 5e-5, 1e-4, 4e-4, 1e-2}) {
    EXPECT_THAT(reduced_by_slack_sharply(k46, 0.25, slack), DoubleNear(reduced_by_slack(k46, 0.25, slack), 1e-12))
        << "the same with two participants and free claims";
    for (const double participants : {2.0, 3.0, 8.0, 64.0}) {
      loop_costs costs = k46;
      costs.participants = participants;
      EXPECT_LE(reduced_by_slack_sharply(costs, 0.25, slack), reduced_by_slack(costs, 0.25, slack) + 1e-15);
    }
  }
  EXPECT_EQ(reduced_by_slack_sharply(k46, 0.125, 2e-4), 0.0) << "delta (p - 1) / p of slack need nothing dynamic";
}

TEST(model, the_least_fraction_goes_with_the_sharp_rule_only) {  // K48
  EXPECT_THAT([] { planned_fraction(k46, 0, {.least = true}); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("(p-1) form")));
  EXPECT_THAT(planned_fraction(k46, 1e-4, {.least = true, .sharp = true}), DoubleEq(0.125 - 1e-4 / 1.6e-3));
  EXPECT_THAT(planned_fraction(k46, 1e-4), DoubleEq(0.25 - 1e-4 / 1.6e-3));
}

TEST(model, delay_of_the_application) {  // K85, K86
  EXPECT_THAT(application_delay(150, 105, 10, 0.5), DoubleEq(50)) << "the claims are taken out of the dynamic time";
  EXPECT_THAT(application_delay(150, 105, 10, 0.5, true), DoubleEq(40)) << "as printed";
  EXPECT_EQ(application_delay(100, 105, 10, 0.5), 0.0) << "even iterations";
  EXPECT_EQ(application_delay(100, 150, 10, 0.5), 0.0);
  loop_costs costs = k46;
  costs.delay = sum_of_delays(2e-4, 1e-4);
  const double sum = dynamic_fraction(costs);
  costs.delay = larger_delay(2e-4, 1e-4);
  EXPECT_THAT(costs.delay, DoubleEq(2e-4));
  EXPECT_GT(sum, dynamic_fraction(costs));
  EXPECT_EQ(sum_of_delays(-1, 3), 3.0);
}

double run_once(const char* text, double static_fraction, const sim::region& what, std::uint64_t items,
                std::uint32_t count) {
  schedule which = parse_schedule(text);
  which.static_fraction = static_fraction;
  return simulate(what, layout_of(which, items, count)).time;
}
sim::region triangular(std::uint64_t items) {
  sim::region what;
  what.cost = [items](std::uint64_t item) { return static_cast<double>(items - item); };
  what.claim_time = 20.0;
  return what;
}

TEST(model, a_triangular_loop_has_an_application_delay_and_a_uniform_one_has_none) {  // K85
  const auto delay_of = [](const sim::region& what) {
    const sim::region_run fixed = simulate(what, layout_of(parse_schedule("static"), 400, 4));
    const sim::region_run shared = simulate(what, layout_of(parse_schedule("dynamic,1"), 400, 4));
    return application_delay(fixed.time, shared.time, static_cast<double>(shared.claims()) / 4, what.claim_time);
  };
  EXPECT_GT(delay_of(triangular(400)), 10000.0);
  sim::region uniform;
  uniform.iteration_time = 200;
  uniform.claim_time = 20;
  EXPECT_NEAR(delay_of(uniform), 0.0, 60.0) << "claims wait for each other a little";
}

TEST(fraction_search, everywhere_finds_the_best_of_the_full_sweep) {  // K11
  const sim::region what = triangular(400);
  const auto time_at = [&](double fraction) { return run_once("hybrid,chunk=4", fraction, what, 400, 4); };
  fraction_search search = fraction_search::everywhere({.step = 0.05, .trials = 2});
  std::vector<double> asked;
  while (const auto fraction = search.next()) {
    asked.push_back(*fraction);
    search.report(time_at(*fraction));
  }
  EXPECT_EQ(asked.size(), 42u);
  EXPECT_EQ(search.trials(), 42u);
  double best = 0.0;
  double shortest = std::numeric_limits<double>::infinity();
  for (int index = 0; index <= 20; ++index) {
    if (const double time = time_at(index * 0.05); time <= shortest) {
      shortest = time;
      best = index * 0.05;
    }
  }
  EXPECT_THAT(search.best(), DoubleEq(best));
  EXPECT_GT(best, 0.0);
  EXPECT_LT(best, 1.0);
  EXPECT_EQ(fraction_search::everywhere().curve().size(), 101u) << "a hundredth unless asked otherwise";
  EXPECT_EQ(fraction_search::everywhere({.step = 0.3}).curve().back().static_fraction, 1.0);
}

TEST(fraction_search, the_curve_as_a_table) {  // K12
  fraction_search search = fraction_search::everywhere({.step = 0.5, .trials = 2});
  for (const double time : {5.0, 7.0, 3.0, 3.0}) search.report(time);
  EXPECT_EQ(search.to_csv(), "static_fraction,mean,deviation,trials\n0,6,1.4142135623730951,2\n0.5,3,0,2\n");
  EXPECT_EQ(search.best(), 0.5);
  sim::region what;
  what.iteration_time = 1;
  what.noise = {{0, 0.0, 50.0}};
  fraction_search noisy = fraction_search::everywhere({.step = 0.05, .trials = 1});
  while (const auto fraction = noisy.next()) noisy.report(run_once("hybrid,chunk=1", *fraction, what, 400, 4));
  EXPECT_LT(noisy.best(), 1.0) << "with noise, all static is not the best";
}

TEST(fraction_search, any_schedule_with_a_fraction_can_be_searched) {  // K83
  for (const char* text : {"hybrid,chunk=4", "tasklets,count=50", "staggered,chunk=4"}) {
    const sim::region what = triangular(400);
    fraction_search search = fraction_search::everywhere({.step = 0.1, .trials = 1});
    while (const auto fraction = search.next()) search.report(run_once(text, *fraction, what, 400, 4));
    EXPECT_LT(search.best(), 1.0) << text;
    EXPECT_LE(run_once(text, search.best(), what, 400, 4), run_once(text, 1.0, what, 400, 4));
  }
}

TEST(fraction_search, near_the_model_only) {  // K87
  fraction_search search = fraction_search::near(0.83, {.step = 0.01, .trials = 3});
  std::uint64_t runs = 0;
  while (const auto fraction = search.next()) {
    ASSERT_NEAR(*fraction, 0.83, 0.05 + 1e-9);
    search.report(std::abs(*fraction - 0.85));
    ++runs;
  }
  EXPECT_EQ(runs, 33u);
  EXPECT_EQ(search.trials(), 33u);
  EXPECT_THAT(search.best(), DoubleNear(0.85, 1e-9));
  fraction_search edge = fraction_search::near(0.98, {.step = 0.01, .trials = 1});
  EXPECT_EQ(edge.curve().size(), 8u) << "0.93 to 1.00";
}

TEST(fraction_search, times_that_mean_nothing_are_asked_again) {
  fraction_search search = fraction_search::everywhere({.step = 1, .trials = 1});
  EXPECT_EQ(search.best(), 0.0);
  search.report(-1);
  search.report(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(search.next(), 0.0);
  search.report(2);
  EXPECT_EQ(search.next(), 1.0);
  search.report(2);
  EXPECT_TRUE(search.over());
  EXPECT_EQ(search.next(), std::nullopt);
  EXPECT_EQ(search.best(), 1.0) << "of equals the one with the fewest claims";
}

TEST(fraction_search, median_on_request) {
  fraction_search search =
      fraction_search::everywhere({.step = 1, .trials = 3, .of = fraction_search::estimate::median});
  for (const double time : {1.0, 1.0, 100.0, 2.0, 2.0, 2.0}) search.report(time);
  EXPECT_EQ(search.best(), 0.0) << "one slow run does not count";
}

TEST(fraction_search, wrong_options_are_refused) {
  EXPECT_THROW(fraction_search::everywhere({.step = 0}), std::invalid_argument);
  EXPECT_THROW(fraction_search::everywhere({.trials = 0}), std::invalid_argument);
  EXPECT_THROW(fraction_search::near(1.5), std::invalid_argument);
  EXPECT_THROW(fraction_search::near(0.5, {}, -1), std::invalid_argument);
}

}  // namespace
}  // namespace tri::schedules
