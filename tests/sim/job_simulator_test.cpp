// Jobs of several nodes in virtual time: what the parts of the composed schedule bring, alone and together (K88, K95),
// how far slack-conscious fractions are from an oracle's (K63), staggering under noise (K74), step times (K23).
#include "sim/job_simulator.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "schedules/learning/noise_samples.hpp"

namespace tri::sim {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;

job_run run(const simulated_job& job, const char* text) { return simulate_job(job, schedules::parse_schedule(text)); }

double best_time(const schedules::fraction_search& search) {
  double best = search.curve().front().mean();
  for (const schedules::fraction_search::point& each : search.curve()) best = std::min(best, each.mean());
  return best;
}

// 8 nodes of 16 participants; an event of 0.3 region times in one of seven steps of a node; data that moves costs 15 %.
simulated_job noisy(double unequal_nodes = 0.0, double unevenness = 0.0) {
  simulated_job job;
  job.items = 3200;
  job.steps = 60;
  job.claim_time = 60.0;
  job.move_time = 150.0;
  job.hit_chance = 0.15;
  job.noise_length = 60000.0;
  job.latest_noise = 0.6;
  job.unevenness = unevenness;
  job.node_work.clear();
  for (int number = 0; number < 8; ++number) job.node_work.push_back(1.0 - unequal_nodes * number);
  return job;
}

TEST(job, two_nodes_by_hand) {
  simulated_job job;
  job.participants = 2;
  job.items = 100;
  job.iteration_time = 10.0;
  job.steps = 3;
  job.node_work = {1.0, 0.4};
  const job_run plain = run(job, "static");
  EXPECT_THAT(plain.step_times, ElementsAre(500.0, 500.0, 500.0)) << "the longer node decides";
  EXPECT_EQ(plain.claims_per_step, 0.0);
  EXPECT_EQ(plain.moved_per_step, 0.0);
  EXPECT_EQ(plain.idle_share, 0.0);
  // A claim of 5 for every 4 iterations: 25 of them, 13 by one participant, the last after its 12 others.
  job.claim_time = 5.0;
  EXPECT_THAT(run(job, "dynamic,4").step_times, Each(AllOf(Ge(13 * 45.0), Le(13 * 50.0))));
  EXPECT_EQ(run(job, "dynamic,4").claims_per_step, 25.0);
  // All iterations of one half cost more than those of the other.
  job.claim_time = 0.0;
  job.node_work = {1.0};
  job.unevenness = 1.0;  // 0.1, 0.3, ... 19.9: the upper half costs 750
  EXPECT_DOUBLE_EQ(run(job, "static").step_time, 750.0);
  EXPECT_DOUBLE_EQ(run(job, "static").idle_share, 250.0 / 750.0);
}

TEST(job, data_that_moves_costs_where_it_arrives) {
  simulated_job job;
  job.participants = 2;
  job.items = 100;
  job.iteration_time = 10.0;
  job.steps = 20;
  job.hit_chance = 1.0;
  job.noise_length = 100.0;
  job.move_time = 0.0;
  const job_run free_moves = run(job, "dynamic,1");
  EXPECT_GT(free_moves.moved_per_step, 0.0);
  job.move_time = 5.0;
  const job_run dear = run(job, "dynamic,1");
  EXPECT_GT(dear.step_time, free_moves.step_time + 0.4 * 5.0 * dear.moved_per_step / 2);
  EXPECT_EQ(run(job, "static").step_time, 600.0) << "nothing moves";
}

TEST(job, is_the_same_again_and_the_same_noise_for_all_schedules) {
  simulated_job job = noisy(0.03);
  EXPECT_EQ(run(job, "combined").step_times, run(job, "combined").step_times);
  job.seed = 2;
  EXPECT_NE(run(job, "combined").step_times, run(noisy(0.03), "combined").step_times);
}

TEST(job, faults_are_refused) {
  const auto fault = [](const simulated_job& job, const char* text) {
    try {
      simulate_job(job, schedules::parse_schedule(text));
    } catch (const std::invalid_argument& problem) {
      return std::string(problem.what());
    }
    return std::string("none");
  };
  simulated_job job;
  job.hit_chance = 2.0;
  EXPECT_THAT(fault(job, "static"), HasSubstr("hit_chance is 2; it must be between 0 and 1"));
  job = {};
  job.node_work = {};
  EXPECT_THAT(fault(job, "static"), HasSubstr("no nodes"));
  EXPECT_THAT(fault({}, "weighted"), HasSubstr("'weighted' needs speeds"));
  EXPECT_THROW(ask_oracle({}, schedules::parse_schedule("slack")), std::invalid_argument);
  EXPECT_THROW(ask_oracle({}, schedules::parse_schedule("hybrid"), 0.0), std::invalid_argument);
}

TEST(oracle, slack_conscious_fractions_come_near_the_best_constant_one) {  // K63
  for (const double unequal : {0.0, 0.03}) {
    const simulated_job job = noisy(unequal);
    const schedules::fraction_search pool = ask_oracle(job, schedules::parse_schedule("hybrid"), 0.1);
    const schedules::fraction_search bands = ask_oracle(job, schedules::parse_schedule("staggered"), 0.1);
    ASSERT_EQ(pool.curve().size(), 11u);
    // Neither nothing nor everything dealt out in advance: the dissertation's check mark.
    EXPECT_THAT(pool.best(), AllOf(Ge(0.5), Le(0.95)));
    EXPECT_GT(pool.curve().back().mean(), 1.1 * best_time(pool)) << "static";
    EXPECT_GT(pool.curve().front().mean(), 1.05 * best_time(pool)) << "dynamic";
    EXPECT_LT(run(job, "slack").step_time, 1.025 * best_time(pool)) << unequal;
    EXPECT_LT(run(job, "combined").step_time, 1.001 * best_time(bands)) << unequal;
    EXPECT_LT(run(job, "static-hybrid").step_time, 1.015 * best_time(pool)) << unequal;
  }
}

TEST(oracle, without_noise_it_is_static_and_so_is_every_model) {  // K63, K64
  simulated_job job = noisy(0.03);
  job.noise_length = 0.0;
  job.hit_chance = 0.0;
  EXPECT_EQ(ask_oracle(job, schedules::parse_schedule("hybrid"), 0.25).best(), 1.0);
  for (const char* text : {"static-hybrid", "slack", "combined", "slack,rule=sharp"}) {
    const job_run with_model = run(job, text);
    EXPECT_THAT(with_model.static_fractions, Each(1.0)) << text;
    EXPECT_DOUBLE_EQ(with_model.step_times.back(), run(job, "static").step_times.back()) << text;
  }
}

TEST(composition, combo_is_staggered_and_uses_slack) {  // K88
  simulated_job job = noisy(0.03);
  job.hit_chance = 0.02;
  const job_run combo = run(job, "comboSched");
  simulated_job without = job;
  without.slack_known = false;
  const job_run staggered = run(without, "comboSched");
  // Slack: nodes that wait for the first one have a larger static part than they would have; the first one has not.
  EXPECT_NEAR(combo.static_fractions.front(), staggered.static_fractions.front(), 0.02);
  for (std::size_t node = 3; node < 8; ++node)
    EXPECT_GT(combo.static_fractions[node], staggered.static_fractions[node]) << node;
  EXPECT_LT(combo.claims_per_step, staggered.claims_per_step);
  EXPECT_LT(combo.step_time, 1.001 * staggered.step_time) << "nobody waits longer for it";
  // Staggering: what moves is a small part of what moves from one pool.
  EXPECT_LT(combo.moved_per_step, 0.1 * run(job, "slackSched").moved_per_step);
}

TEST(composition, the_parts_bring_less_than_their_sum) {  // K95
  const simulated_job job = noisy(0.03);
  simulated_job no_slack = job;
  no_slack.slack_known = false;
  const double base = run(job, "static").step_time;
  const auto gain = [&](const job_run& with) { return base / with.step_time - 1.0; };
  const double model = gain(run(job, "static-hybrid"));
  const double staggered = gain(run(no_slack, "combined"));
  const double slack = gain(run(job, "slack"));
  const double combo = gain(run(job, "combined"));
  EXPECT_GT(model, 0.10);
  EXPECT_GT(staggered, model);
  EXPECT_GE(combo, 0.999 * staggered);
  EXPECT_GT(slack, 0.09);
  EXPECT_LT(combo, slack + staggered);
}

TEST(staggered_stealing, wins_under_noise_and_moves_less) {  // K74
  for (const double fraction : {0.5, 0.7}) {
    const simulated_job job = noisy();
    schedules::schedule bands = schedules::parse_schedule("staggered");
    schedules::schedule pool = schedules::parse_schedule("hybrid");
    bands.static_fraction = pool.static_fraction = fraction;
    const job_run staggered = simulate_job(job, bands);
    const job_run hybrid = simulate_job(job, pool);
    EXPECT_LT(staggered.step_time, 0.86 * run(job, "static").step_time);
    EXPECT_LT(staggered.step_time, hybrid.step_time);
    EXPECT_LT(staggered.moved_per_step, 0.1 * hybrid.moved_per_step);
  }
  simulated_job quiet = noisy();
  quiet.hit_chance = 0.0;
  EXPECT_EQ(run(quiet, "staggered,0.5").moved_per_step, 0.0);
}

TEST(step_times, noise_makes_a_second_hump_that_hybrid_takes_away) {  // K23
  simulated_job job;
  job.participants = 8;
  job.items = 800;
  job.iteration_time = 1000.0;
  job.steps = 1000;
  job.hit_chance = 0.1;
  job.noise_length = 50000.0;
  job.latest_noise = 0.5;
  const auto bins = [&](const char* text) { return schedules::histogram_of(run(job, text).step_times, 5000.0); };
  const std::vector<std::uint64_t> fixed = bins("static");
  const std::uint64_t hits = fixed.at(30);  // 100 us and 50 us
  EXPECT_EQ(fixed.at(20) + hits, 1000u);
  EXPECT_NEAR(static_cast<double>(hits), 100.0, 30.0);
  const std::vector<std::uint64_t> shared = bins("staggered,0.3,1");
  EXPECT_LT(shared.size(), 24u) << "the delay is shared by eight";
  EXPECT_EQ(shared.at(20) + shared.at(21), 1000u);
}

}  // namespace
}  // namespace tri::sim
