// Metrics of loops from recorded times.
#include "schedules/loop_metrics.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

#include "loops/random_numbers.hpp"
#include "sim/region_simulator.hpp"

namespace tri::schedules {
namespace {

using testing::DoubleEq;
using testing::DoubleNear;
using testing::HasSubstr;

TEST(metrics, imbalance_across_cores_and_nodes) {  // K28
  const std::vector loads{4.0, 0.0, 2.0, 2.0};
  EXPECT_THAT(imbalance_of(loads), DoubleEq(2.0));
  EXPECT_THAT(node_imbalance_of(loads, 2), DoubleEq(1.0));
  EXPECT_THAT(node_imbalance_of(loads, 1), DoubleEq(2.0));
  EXPECT_EQ(imbalance_of(std::vector{0.0, 0.0}), 1.0);
  EXPECT_THROW(node_imbalance_of(loads, 3), std::invalid_argument);
}

TEST(metrics, idle_time) {  // K27
  EXPECT_THAT(idle_time_of(std::vector{60.0, 40.0}, 0.0, 60.0), DoubleEq(10.0));
  EXPECT_THAT(idle_time_of(std::vector{60.0, 0.0}, 20.0, 60.0), DoubleEq(20.0)) << "never there: since the beginning";
  EXPECT_EQ(idle_time_of({}, 0.0, 1.0), 0.0);
  sim::region what;
  what.noise = {{0, 0.0, 20.0}};  // 20 on one of two, in virtual time
  const sim::region_run run = simulate(what, layout_of(parse_schedule("static"), 80, 2));
  std::vector<double> done;
  for (const sim::participant_run& one : run.participants) done.push_back(one.finish);
  EXPECT_THAT(idle_time_of(done, 0.0, run.time), DoubleEq(10.0));
  EXPECT_THAT(run.idle_time(), DoubleEq(10.0));
}

TEST(metrics, synchronisation_is_that_of_the_claims) {  // K29
  sim::region what;
  what.claim_time = 0.5;
  const sim::region_run fixed = simulate(what, layout_of(parse_schedule("static"), 1000, 4));
  EXPECT_EQ(fixed.claims(), 0u);
  EXPECT_EQ(breakdown_of(fixed.time, 1000.0, 4, 0.0, fixed.claims(), 0.5).synchronisation, 0.0);
  const sim::region_run shared = simulate(what, layout_of(parse_schedule("dynamic,10"), 1000, 4));
  EXPECT_EQ(shared.claims(), 100u);
  EXPECT_THAT(breakdown_of(shared.time, 1000.0, 4, 0.0, shared.claims(), 0.5).synchronisation, DoubleEq(12.5));
}

TEST(metrics, the_parts_add_up_to_the_total) {  // K30
  sim::region what;
  what.claim_time = 0.5;
  what.noise = {{1, 30.0, 40.0}};
  for (const char* text : {"static", "dynamic,10", "staggered,0.5,4"}) {
    const sim::region_run run = simulate(what, layout_of(parse_schedule(text), 1000, 4));
    const time_breakdown parts = breakdown_of(run.time, 1000.0, 4, run.idle_time(), run.claims(), 0.5);
    EXPECT_THAT(parts.compute + parts.idle + parts.synchronisation + parts.rest, DoubleNear(run.time, 1e-9)) << text;
    EXPECT_THAT(parts.rest, testing::Ge(40.0 / 4 - 1e-9)) << "the noise, and waiting for each other's claims";
    EXPECT_THAT(to_text(parts), HasSubstr("synchronisation"));
  }
  EXPECT_THROW(breakdown_of(1, 1, 0, 0, 0, 0), std::invalid_argument);
}

TEST(metrics, iterations_that_move) {  // K32
  migration_meter meter;
  EXPECT_EQ(meter.step(std::vector<std::uint32_t>{0, 0, 1, 1}), 0u);
  EXPECT_EQ(meter.step(std::vector<std::uint32_t>{0, 1, 1, 0}), 2u);
  EXPECT_EQ(meter.step(std::vector<std::uint32_t>{0, 1, 1, 0}), 0u);
  EXPECT_EQ(meter.moved(), 2u);
  EXPECT_THAT(meter.moved_per_step(), DoubleEq(1.0));
  EXPECT_EQ(meter.step(std::vector<std::uint32_t>{0, 1}), 0u) << "another loop length";
  for (const char* text : {"static", "staggered,0.5,4"}) {
    migration_meter still;
    for (int step = 0; step < 3; ++step) {
      still.step(sim::simulate({}, layout_of(parse_schedule(text), 1000, 4)).owners(1000));
    }
    EXPECT_EQ(still.moved(), 0u) << text << " in lock step";
  }
}

TEST(metrics, bands_move_less_than_a_pool_under_noise) {  // K74 (moved iterations)
  const auto moved = [](const char* text) {
    migration_meter meter;
    loops::random_numbers random(74);
    for (std::uint32_t step = 0; step < 20; ++step) {
      sim::region what;
      what.noise = {{step % 4, 10.0 * (step % 7), 60.0}};
      // No two steps are quite the same.
      for (int one = 0; one < 4; ++one) what.slowness.push_back(1.0 + 0.02 * random.fraction());
      meter.step(simulate(what, layout_of(parse_schedule(text), 1600, 4)).owners(1600));
    }
    return meter.moved_per_step();
  };
  EXPECT_LT(moved("staggered,0.5,4"), 0.5 * moved("hybrid,0.5,4"));
}

}  // namespace
}  // namespace tri::schedules
