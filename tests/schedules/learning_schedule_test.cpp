// Named schedules with memory, in virtual time: weights that follow speed (K38, K39), tasklets that stay with who ran
// them (K15), the fraction of the model (K50, K56, K84, K85, K86) or of a search (K11, K83, K87), per loop (K82).
#include "schedules/learning/learning_schedule.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "sim/region_simulator.hpp"

namespace tri::schedules {
namespace {

using testing::DoubleNear;

constexpr double resolution = 1000;  // ticks of a unit of virtual time

const machine_costs& no_costs() {
  static const machine_costs none;
  return none;
}
const machine_costs& noisy() {
  static const machine_costs costs{.claim_time = 0, .noise_delay = 400 * resolution};
  return costs;
}

sim::region_run execute(learning_schedule& chosen, const char* schedule, const sim::region& what, std::uint64_t items,
                        std::uint32_t participants, const machine_costs& (*machine)() = &no_costs) {
  const learning_schedule::decision decided = chosen.next(parse_schedule(schedule), items, participants, machine);
  const sim::region_run run = simulate(what, *decided.layout);
  loop_times times(items, participants);
  for (const sim::executed_part& part : run.parts)
    times.record(static_cast<int>(part.participant), part.first, part.last,
                 static_cast<std::uint64_t>((part.end - part.begin) * resolution));
  if (decided.tasklet_owners != nullptr) {
    const std::vector<std::uint32_t> owners = run.owners(items);
    const loop_layout& layout = *decided.layout;
    for (std::uint32_t tasklet = 0; tasklet < layout.tasklets; ++tasklet)
      decided.tasklet_owners[tasklet] = owners[layout.first_item(layout.first_tasklet + tasklet)];
  }
  if (decided.measure) chosen.learn(times, static_cast<std::uint64_t>(run.time * resolution));
  return run;
}

TEST(weighted, blocks_follow_the_speed_of_the_cores) {
  learning_schedule chosen;
  sim::region what;
  what.slowness = {1, 1, 1, 2};
  for (int number = 0; number < 8; ++number) execute(chosen, "weighted", what, 1000, 4);
  EXPECT_THAT(execute(chosen, "weighted", what, 1000, 4).time, DoubleNear(1000 / 3.5, 1.0));
  what.slowness = {2, 1, 1, 1};  // another core has become slow
  EXPECT_GT(execute(chosen, "weighted", what, 1000, 4).time, 500);
  for (int number = 0; number < 8; ++number) execute(chosen, "weighted", what, 1000, 4);
  EXPECT_THAT(execute(chosen, "weighted", what, 1000, 4).time, DoubleNear(1000 / 3.5, 1.0));
}

TEST(weighted, also_with_tasklets_and_bands) {
  for (const char* schedule : {"weighted-tasklets", "weighted+staggered,0.8"}) {
    learning_schedule chosen;
    sim::region what;
    what.slowness = {1, 2};
    for (int number = 0; number < 8; ++number) execute(chosen, schedule, what, 3000, 2);
    EXPECT_LE(execute(chosen, schedule, what, 3000, 2).time, 1.05 * 2000) << schedule;
  }
}

TEST(tasklets, stay_with_the_participant_that_ran_them_last) {
  const auto kept = [](const char* schedule) {
    learning_schedule chosen;
    std::vector<std::uint32_t> before;
    double same = 0, all = 0;
    for (int step = 0; step < 12; ++step) {
      sim::region what;
      what.iteration_time = 1.0;
      what.arrivals = {0.0 + step % 4 * 0.3, 0.0 + (step + 1) % 4 * 0.3, 0.0 + (step + 2) % 4 * 0.3, 0.5};
      const std::vector<std::uint32_t> owners = execute(chosen, schedule, what, 32, 4).owners(32);
      for (std::size_t i = 0; i < before.size(); ++i) same += before[i] == owners[i], all += 1;
      before = owners;
    }
    return same / all;
  };
  EXPECT_GT(kept("tasklets,static=0,count=32"), 0.8);
  EXPECT_LT(kept("tasklets,static=0,count=32,tags=off"), 0.6);
}

TEST(model, the_first_execution_takes_a_tenth_and_the_next_what_the_noise_asks_for) {
  learning_schedule chosen;
  sim::region what;
  execute(chosen, "static-hybrid", what, 3200, 2, &noisy);
  EXPECT_DOUBLE_EQ(chosen.static_fraction(), 0.9);
  execute(chosen, "static-hybrid", what, 3200, 2, &noisy);
  EXPECT_THAT(chosen.static_fraction(), DoubleNear(0.75, 1e-6)) << "p delta / (N t) = 2 * 400 / 3200";
  execute(chosen, "static-hybrid", what, 6400, 2, &noisy);
  EXPECT_THAT(chosen.static_fraction(), DoubleNear(0.875, 1e-6)) << "the time of an iteration is still known";
  learning_schedule other;
  execute(other, "static-hybrid", what, 3200, 2, &no_costs);
  execute(other, "static-hybrid", what, 3200, 2, &no_costs);
  EXPECT_DOUBLE_EQ(other.static_fraction(), 1.0) << "no noise: everything in blocks";
}

TEST(model, uneven_iterations_count_as_a_delay) {
  learning_schedule chosen;
  sim::region what;
  what.cost = [](std::uint64_t i) { return static_cast<double>(i) / 1000.0; };
  for (int number = 0; number < 5; ++number) execute(chosen, "static-hybrid,delay=application", what, 2000, 2);
  EXPECT_LT(chosen.static_fraction(), 0.6);
  learning_schedule even;
  what.cost = nullptr;
  for (int number = 0; number < 5; ++number) execute(even, "static-hybrid,delay=application", what, 2000, 2);
  EXPECT_GT(even.static_fraction(), 0.99);
}

TEST(search, finds_the_best_fraction_and_keeps_it) {
  learning_schedule chosen;
  sim::region what;
  what.cost = [](std::uint64_t i) { return static_cast<double>(i) / 100.0; };
  what.claim_time = 2;
  std::uint64_t executions = 0;
  do {
    execute(chosen, "besf,chunk=1", what, 200, 2);
    ASSERT_LT(++executions, 5000u);
  } while (!chosen.search()->over());
  execute(chosen, "besf,chunk=1", what, 200, 2);
  const double best = chosen.static_fraction();
  EXPECT_EQ(best, chosen.search()->best());
  double least = 1e300;
  for (const auto& point : chosen.search()->curve()) least = std::min(least, point.mean());
  for (const auto& point : chosen.search()->curve()) {
    if (point.static_fraction == best) {
      EXPECT_EQ(point.mean(), least);
    }
  }
  EXPECT_GT(best, 0.0);
  EXPECT_LT(best, 1.0);
}

// Two processes have a memory each; what one finds says nothing to the other (K13).
TEST(search, each_process_keeps_the_fraction_of_its_own_imbalance) {
  learning_schedule even, uneven;
  sim::region same;
  same.claim_time = 2;
  sim::region rising = same;
  rising.cost = [](std::uint64_t i) { return static_cast<double>(i) / 100.0; };
  for (std::uint64_t executions = 0; !uneven.search().has_value() || !uneven.search()->over(); ++executions) {
    ASSERT_LT(executions, 5000u);
    execute(even, "besf,chunk=1", same, 200, 2);
    execute(uneven, "besf,chunk=1", rising, 200, 2);
  }
  for (int later = 0; later < 3; ++later) {
    execute(even, "besf,chunk=1", same, 200, 2);
    execute(uneven, "besf,chunk=1", rising, 200, 2);
    EXPECT_EQ(even.static_fraction(), 1.0);
    EXPECT_LT(uneven.static_fraction(), 0.95);
  }
}

TEST(search, near_the_model) {
  learning_schedule chosen;
  sim::region what;
  for (int number = 0; number < 4; ++number) execute(chosen, "usched", what, 3200, 2, &noisy);
  EXPECT_FALSE(chosen.search().has_value());
  for (int number = 0; number < 300; ++number) {
    execute(chosen, "usched", what, 3200, 2, &noisy);
    if (number < 2) continue;
    EXPECT_GE(chosen.static_fraction(), 0.75 - 0.0501);
    EXPECT_LE(chosen.static_fraction(), 0.75 + 0.0501);
  }
  EXPECT_TRUE(chosen.search()->over());
}

}  // namespace
}  // namespace tri::schedules
