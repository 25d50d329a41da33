// Claims of the dissertation in virtual time, with the real claiming code: noise, slack, weights, staggering.
// Times are in iterations (t_1 = 1) unless a test says otherwise.
#include "sim/region_simulator.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "schedules/learning/model.hpp"
#include "schedules/learning/weights.hpp"

namespace tri::sim {
namespace {

using testing::DoubleEq;
using testing::DoubleNear;
using testing::Each;

schedules::loop_layout laid_out(const std::string& text, std::uint64_t items, std::uint32_t participants,
                                const schedules::layout_inputs& known = {}) {
  return schedules::layout_of(schedules::parse_schedule(text), items, participants, known);
}
schedules::loop_layout hybrid_with(double dynamic, std::uint64_t items, std::uint32_t participants, const char* text) {
  schedules::layout_inputs known;
  known.dynamic_fraction = dynamic;
  return laid_out(text, items, participants, known);
}
region hit_at_start(double length, double claim_time = 0.0) {
  region what;
  what.claim_time = claim_time;
  if (length > 0.0) what.noise = {{0, 0.0, length}};
  return what;
}

TEST(simulator, a_region_by_hand) {
  region what;
  what.claim_time = 1.0;
  what.slowness = {1.0, 2.0};
  what.noise = {{0, 2.0, 3.0}};
  const schedules::loop_layout layout = laid_out("hybrid,0.5,2", 16, 2);
  const region_run run = simulate(what, layout);
  // 0: block [0,4) until 4, and 3 of noise: 7. 1: block [4,8) until 8.
  // pool: 0 at 7 [8,10) until 10; 1 at 8 [10,12), 1 + 4, until 13; 0 at 10 [12,14) until 13; then both at 13, 0 first.
  ASSERT_EQ(run.parts.size(), 6u);
  EXPECT_EQ(run.parts[2].participant, 0u);
  EXPECT_THAT(run.parts[3].end, DoubleEq(13));
  EXPECT_THAT(run.parts[4].begin, DoubleEq(10));
  EXPECT_EQ(run.parts[5].participant, 0u);
  EXPECT_THAT(run.time, DoubleEq(16));
  EXPECT_THAT(run.participants[1].finish, DoubleEq(13));
  EXPECT_THAT(run.participants[0].disturbed, DoubleEq(3));
  EXPECT_THAT(run.participants[0].static_time, DoubleEq(7));
  EXPECT_THAT(run.participants[0].claiming, DoubleEq(3));
  EXPECT_EQ(run.claims(), 4u);
  EXPECT_THAT(run.idle_time(), DoubleEq(1.5));
}

TEST(simulator, claims_from_one_pool_wait_for_each_other) {
  region what;
  what.claim_time = 10.0;
  const schedules::loop_layout layout = laid_out("dynamic,1", 4, 4);
  EXPECT_THAT(simulate(what, layout).time, DoubleEq(41)) << "four claims in a row";
  what.claims_wait = false;
  EXPECT_THAT(simulate(what, layout).time, DoubleEq(11));
}

TEST(simulator, noise_that_meets_nobody_at_work_costs_nothing) {
  region what;
  what.arrivals = {0.0, 100.0};
  what.noise = {{1, 0.0, 50.0}, {1, 90.0, 20.0}};
  const region_run run = simulate(what, laid_out("static", 200, 2));
  EXPECT_THAT(run.participants[1].disturbed, DoubleEq(10));
}

TEST(simulator, everything_runs_once_in_virtual_time_too) {  // K02
  for (const char* text : {"static", "static,3", "guided", "hybrid,0.3,2", "tasklets,0.4,count=20,sizes=skewed",
                           "staggered,0.5,3", "combined", "tasklets,0.2,tags=off,queues=3"}) {
    for (const std::uint32_t participants : {1u, 2u, 5u, 64u}) {
      region what = hit_at_start(40, 0.5);
      what.cost = [](std::uint64_t item) { return static_cast<double>(item % 7); };
      const region_run run = simulate(what, laid_out(text, 999, participants));
      EXPECT_EQ(std::accumulate(run.participants.begin(), run.participants.end(), std::uint64_t{0},
                                [](std::uint64_t sum, const participant_run& one) { return sum + one.iterations; }),
                999u);
      EXPECT_THAT(run.owners(999), Each(testing::Ne(schedules::no_owner)));
    }
  }
}

TEST(noise, hybrid_takes_the_region_time_plus_a_share_of_the_delay) {  // K09, K49
  for (const std::uint32_t p : {2u, 4u, 8u, 16u, 64u}) {
    for (const double delay : {100.0, 300.0}) {
      const std::uint64_t items = std::uint64_t{1000} * p;
      const double least = (p - 1) * delay / static_cast<double>(items);
      const double ideal = 1000.0 + delay / p;
      for (const char* text : {"static-hybrid,chunk=1", "combined,chunk=1"}) {  // one pool; bands
        const double time = simulate(hit_at_start(delay), hybrid_with(least, items, p, text)).time;
        EXPECT_NEAR(time, ideal, 0.01 * ideal) << text << " " << p;
        // No more is needed, and with less it takes longer.
        EXPECT_GE(time, ideal - 1e-9);
        EXPECT_GT(simulate(hit_at_start(delay), hybrid_with(0.7 * least, items, p, text)).time,
                  ideal + 0.2 * delay * (p - 1) / p);
      }
      EXPECT_THAT(simulate(hit_at_start(delay), laid_out("static", items, p)).time, DoubleEq(1000.0 + delay));
    }
  }
}

TEST(noise, without_it_the_overhead_is_that_of_the_claims) {  // K10
  for (const std::uint32_t p : {2u, 4u, 16u}) {
    for (const double dynamic : {0.0, 0.25, 0.5, 1.0}) {
      const std::uint64_t items = std::uint64_t{1600} * p;
      for (const char* text : {"static-hybrid,chunk=1", "combined,chunk=1"}) {
        region what = hit_at_start(0.0, 0.125);
        what.claims_wait = false;
        const double time = simulate(what, hybrid_with(dynamic, items, p, text)).time;
        EXPECT_EQ(time, 1600.0 + dynamic * static_cast<double>(items) * 0.125 / p) << text;
      }
    }
  }
}

TEST(noise, the_models_fraction_is_near_the_best_of_a_sweep) {  // K46, K49 (seed 5.3, q = 20 %)
  const std::pair<std::uint32_t, double> within[] = {{2, 0.018}, {4, 0.009}, {16, 0.003}};
  for (const auto& [p, margin] : within) {
    const std::uint64_t items = std::uint64_t{1600} * p;
    const schedules::loop_costs costs{static_cast<double>(items), 1.0, static_cast<double>(p), 0.2, 400.0};
    const auto time_at = [&](double dynamic) {
      region what = hit_at_start(400.0, 0.2);
      what.claims_wait = false;
      return simulate(what, hybrid_with(dynamic, items, p, "static-hybrid,chunk=1")).time;
    };
    double best = time_at(0.0);
    for (int step = 1; step <= 200; ++step) best = std::min(best, time_at(step * 0.005));
    EXPECT_LE(time_at(schedules::dynamic_fraction(costs)), best * (1 + margin + 0.001)) << p;
    EXPECT_LE(time_at(schedules::least_dynamic_fraction(costs)), time_at(schedules::dynamic_fraction(costs)) + 1.5)
        << "equal or better";
  }
}

// The 144 cases of seed 5.3: p = 2, 4, 8, 16; q = 0, 10, 20 % of t_1; two delays; six slacks from 0 to the delay.
// Exceeding: `time - slack` is more than 0.2 % (a few iterations) above the time without reduction.
struct cases {
  int exceeded = 0;
  int exceeded_elsewhere = 0;  // than at p = 2 and q > 0
  double worst = 0.0;
  double mean_cut_16 = 0.0;       // p = 16, larger delay
  double mean_fraction_16 = 0.0;  // before the cut
};
cases all_cases(bool least,
                const std::function<double(const schedules::loop_costs&, double fraction, double slack)>& reduce) {
  cases result;
  int of_16 = 0;
  for (const std::uint32_t p : {2u, 4u, 8u, 16u}) {
    for (const double claim : {0.0, 0.1, 0.2}) {
      for (const double of_region : {0.125, 0.25}) {
        for (const double of_delay : {0.0, 0.125, 0.25, 0.5, 0.75, 1.0}) {
          const std::uint64_t items = 3200;
          schedules::loop_costs costs{3200.0, 1.0, static_cast<double>(p), claim, 0.0};
          costs.delay = of_region * costs.region_time();
          const double slack = of_delay * costs.delay;
          const double full = least ? schedules::least_dynamic_fraction(costs) : schedules::dynamic_fraction(costs);
          const double less = reduce(costs, full, slack);
          const auto time_at = [&](double dynamic) {
            return simulate(hit_at_start(costs.delay, claim), hybrid_with(dynamic, items, p, "static-hybrid,chunk=1"))
                .time;
          };
          const double over = (time_at(less) - slack) / time_at(full) - 1.0;
          if (over > 0.002) {
            ++result.exceeded;
            result.exceeded_elsewhere += !(p == 2 && claim > 0.0);
          }
          result.worst = std::max(result.worst, over);
          if (p == 16 && of_region == 0.25) {
            ++of_16;
            result.mean_cut_16 += full - less;
            result.mean_fraction_16 += full;
          }
        }
      }
    }
  }
  result.mean_cut_16 /= of_16;
  result.mean_fraction_16 /= of_16;
  return result;
}

TEST(slack, the_careful_rule_keeps_the_time_in_all_144_cases) {  // K48, K49
  for (const schedules::claim_order order : {schedules::claim_order::serial, schedules::claim_order::parallel}) {
    const cases found = all_cases(false, [&](const schedules::loop_costs& costs, double fraction, double slack) {
      return schedules::reduced_by_slack(costs, fraction, slack, order);
    });
    EXPECT_EQ(found.exceeded, 0);
    EXPECT_THAT(found.mean_cut_16, DoubleNear(0.0075, 0.0008)) << "much too cautious for many participants";
    EXPECT_THAT(found.mean_fraction_16, DoubleNear(0.23, 0.005));
  }
}

TEST(slack, the_sharp_rule_keeps_it_from_either_form) {  // K48, K49
  for (const bool least : {false, true}) {
    const cases found = all_cases(least, schedules::reduced_by_slack_sharply);
    EXPECT_EQ(found.exceeded, 0);
    EXPECT_THAT(found.mean_cut_16, DoubleNear(0.10, 0.006));
    EXPECT_THAT(found.mean_fraction_16, DoubleNear(least ? 0.21 : 0.23, 0.006));
  }
}

TEST(slack, the_least_form_with_the_careful_rule_is_rightly_refused) {  // K48
  const auto with = [](schedules::claim_order order) {
    return all_cases(true, [order](const schedules::loop_costs& costs, double fraction, double slack) {
      return schedules::reduced_by_slack(costs, fraction, slack, order);
    });
  };
  const cases serial = with(schedules::claim_order::serial);
  EXPECT_EQ(serial.exceeded, 8);
  EXPECT_EQ(serial.exceeded_elsewhere, 0) << "all with two participants and claims that cost";
  EXPECT_THAT(serial.worst, DoubleNear(0.036, 0.001));
  const cases parallel = with(schedules::claim_order::parallel);
  EXPECT_EQ(parallel.exceeded, 7);
  EXPECT_EQ(parallel.exceeded_elsewhere, 0);
  EXPECT_THAT(parallel.worst, DoubleNear(0.0135, 0.001));
}

TEST(slack, a_process_with_slack_has_less_dynamic_and_the_total_is_no_longer) {  // K58
  const schedules::loop_costs costs{3200.0, 1.0, 4.0, 0.05, 200.0};
  const double critical = schedules::planned_fraction(costs, 0.0);
  const double relaxed = schedules::planned_fraction(costs, 150.0);
  EXPECT_LT(relaxed, critical);
  const auto time_at = [&](double dynamic) {
    return simulate(hit_at_start(200.0, 0.05), hybrid_with(dynamic, 3200, 4, "slack,chunk=1")).time;
  };
  // Both processes meet at the next operation; the second had 150 to wait there.
  EXPECT_LE(std::max(time_at(critical), time_at(relaxed) - 150.0), time_at(critical) + 1e-9);
  EXPECT_LT(simulate(hit_at_start(0.0, 0.05), hybrid_with(relaxed, 3200, 4, "slack,chunk=1")).claims(),
            simulate(hit_at_start(0.0, 0.05), hybrid_with(critical, 3200, 4, "slack,chunk=1")).claims());
}

TEST(slack, without_noise_nothing_is_dynamic_and_nothing_is_lost) {  // K64
  const schedules::loop_costs costs{3200.0, 1.0, 4.0, 0.05, 0.0};
  EXPECT_EQ(schedules::planned_fraction(costs, 0.0), 0.0);
  EXPECT_EQ(simulate(hit_at_start(0.0, 0.05), hybrid_with(0.0, 3200, 4, "slack,chunk=1")).time, 800.0);
}

TEST(noise, amplification_by_many_nodes) {  // K24
  const double region_time = 400.0;
  const double length = 200.0;
  for (const std::uint32_t nodes : {1u, 3u, 10u, 30u, 100u, 300u, 1000u}) {
    const double chance = 0.005;
    const many_nodes machine{nodes, nodes > 100 ? 500u : 2000u, chance, length, nodes};
    const double expected = region_time + length * (1 - std::pow(1 - chance, nodes));
    const double time = mean_step_time({}, laid_out("static", 1600, 4), machine);
    EXPECT_NEAR(time, expected, 0.05 * expected) << nodes << " nodes";
    if (nodes < 300) continue;
    // Spread over the participants of a node, but for events at the end, when nothing is left to share.
    const double hybrid = mean_step_time({}, laid_out("staggered,0.5,4", 1600, 4), machine);
    EXPECT_LT(hybrid, time - 0.1 * length) << nodes << " nodes";
  }
}

TEST(noise, half_of_the_loop_dynamic_absorbs_an_event_in_the_first_half) {  // K24
  for (const double at : {0.0, 100.0, 199.0}) {
    region what;
    what.noise = {{2, at, 60.0}};
    EXPECT_NEAR(simulate(what, laid_out("hybrid,0.5,1", 1600, 4)).time, 415.0, 1.0);
  }
  region late;
  late.noise = {{2, 399.5, 60.0}};
  EXPECT_GT(simulate(late, laid_out("hybrid,0.5,1", 1600, 4)).time, 455.0) << "too late to share anything";
}

TEST(weights, a_change_of_speed_in_the_middle) {  // K38
  schedules::weight_tracker tracker(4);
  std::vector<double> ratios;
  for (int step = 0; step < 60; ++step) {
    region what;
    what.slowness = step < 50 ? std::vector{1.0, 2.0, 1.0, 1.0} : std::vector{1.0, 1.0, 1.0, 2.5};
    schedules::layout_inputs known;
    const std::vector<double> weights(tracker.weights().begin(), tracker.weights().end());
    known.weights = weights;
    const region_run run = simulate(what, laid_out("weighted-tasklets,0.8", 10000, 4, known));
    std::vector<double> times;
    std::vector<std::uint64_t> iterations;
    double sum = 0.0;
    double largest = 0.0;
    for (const participant_run& one : run.participants) {
      times.push_back(one.static_time);
      iterations.push_back(one.static_iterations);
      sum += one.static_time;
      largest = std::max(largest, one.static_time);
    }
    ratios.push_back(largest / (sum / 4));
    tracker.measured(times, iterations);
  }
  EXPECT_THAT(ratios[0], DoubleEq(1.6));
  EXPECT_LT(ratios[1], 1.01) << "one adjustment";
  EXPECT_GT(ratios[50], 1.1);
  EXPECT_LT(ratios[55], 1.1);
}

TEST(weights, with_tasklets_better_than_either_alone) {  // K40
  region what;
  what.slowness = {1.0, 1.0, 1.0, 2.0};  // a slow one ...
  what.noise = {{0, 50.0, 150.0}};       // ... and a hit elsewhere
  what.claim_time = 0.1;
  const std::vector weights{1.0, 1.0, 1.0, 0.5};
  schedules::layout_inputs known;
  known.weights = weights;
  const double both = simulate(what, laid_out("weighted-tasklets,0.7,count=96", 4000, 4, known)).time;
  EXPECT_LE(both, simulate(what, laid_out("weighted", 4000, 4, known)).time);
  EXPECT_LE(both, simulate(what, laid_out("tasklets,0.7,count=96", 4000, 4)).time);
  EXPECT_LT(both, simulate(what, laid_out("static", 4000, 4)).time);
  EXPECT_LT(both, (4000.0 + 150.0) / 3.5 * 1.03) << "near what perfect balance would take";
}

TEST(staggered, own_band_first_and_static_when_nothing_disturbs) {  // K67, K68, K69
  for (const std::uint32_t p : {2u, 4u, 7u}) {
    const schedules::loop_layout bands = laid_out("staggered,0.5,chunk=5", 700, p);
    const region_run run = simulate(hit_at_start(0.0, 0.2), bands);
    EXPECT_EQ(run.owners(700), simulate({}, laid_out("static", 700, p)).owners(700));
    EXPECT_EQ(run.stolen_claims(), 0u) << "no range of another is touched";
    for (const executed_part& part : run.parts) EXPECT_EQ(part.from, part.participant);
    for (const participant_run& one : run.participants) EXPECT_EQ(one.waited, 0.0);
  }
}

TEST(staggered, after_noise_thieves_take_from_the_hit_neighbour_chunk_by_chunk) {  // K70, K72
  region what;
  what.noise = {{2, 0.0, 180.0}};
  const schedules::loop_layout layout = laid_out("staggered,0.5,chunk=10", 2400, 6);
  const region_run run = simulate(what, layout);
  std::uint64_t next_from_the_back = layout.ranges[2].last;
  for (const executed_part& part : run.parts) {
    if (part.from == part.participant) continue;
    EXPECT_EQ(part.from, 2u) << "nobody else has anything left";
    EXPECT_EQ(part.last, next_from_the_back);
    EXPECT_EQ(part.last - part.first, 10u);
    next_from_the_back = part.first;
  }
  EXPECT_GE(run.stolen_claims(), 14u);
  EXPECT_NEAR(run.time, 400.0 + 180.0 / 6, 10.0);
}

TEST(staggered, clipped_or_round_the_ring_both_come_to_an_end) {  // K71
  for (const std::uint32_t p : {1u, 2u, 3u, 6u}) {
    for (const char* text : {"staggered,0.3,chunk=4", "staggered,0.3,chunk=4,ends=clip"}) {
      const region_run run = simulate(hit_at_start(100.0), laid_out(text, std::uint64_t{120} * p, p));
      EXPECT_LT(run.time, p > 1 ? 220.0 : 221.0);
      EXPECT_EQ(run.stolen_claims() > 0, p > 1);
    }
  }
}

TEST(staggered, steals_fall_with_the_constraint) {  // K77
  std::uint64_t last = ~std::uint64_t{0};
  for (const char* keep : {"0", "0.25", "0.5", "0.75", "1"}) {
    const schedules::loop_layout layout = laid_out(std::string("staggered,0.2,chunk=4,keep=") + keep, 1600, 4);
    const std::uint64_t stolen = simulate(hit_at_start(350.0), layout).stolen_claims();
    EXPECT_LE(stolen, last) << keep;
    last = stolen;
  }
  EXPECT_EQ(last, 0u);
}

TEST(staggered, with_weights_the_slow_one_has_a_shorter_band) {  // K98
  const std::vector weights{1.0, 1.0, 1.0, 0.5};
  schedules::layout_inputs known;
  known.weights = weights;
  region what;
  what.slowness = {1.0, 1.0, 1.0, 2.0};
  const schedules::loop_layout weighted = laid_out("staggered,0.8,chunk=4,weights=on", 2800, 4, known);
  EXPECT_EQ(weighted.ranges[3].last - weighted.ranges[3].first, 400u);
  const region_run run = simulate(what, weighted);
  EXPECT_EQ(run.time, 800.0);
  EXPECT_EQ(run.stolen_claims(), 0u);
  EXPECT_GT(simulate(what, laid_out("staggered,0.8,chunk=4", 2800, 4)).time, 1100.0)
      << "equal bands: the static part of the slow one alone takes 1120";
}

TEST(simulator, sizes_that_do_not_fit_are_refused) {
  const schedules::loop_layout layout = laid_out("static", 10, 2);
  region what;
  what.slowness = {1.0};
  EXPECT_THROW(simulate(what, layout), std::invalid_argument);
  what = {};
  what.noise = {{2, 0.0, 1.0}};
  EXPECT_THROW(simulate(what, layout), std::invalid_argument);
  what.noise = {{1, 0.0, -1.0}};
  EXPECT_THROW(simulate(what, layout), std::invalid_argument);
}

}  // namespace
}  // namespace tri::sim
