// The default schedule in virtual time, driven by the code that claims chunks in real loops. One unit is a microsecond.
#include "schedules/automatic_schedule.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <string>

#include "sim/region_simulator.hpp"
#include "trireme/detail/schedules/loop_schedule.hpp"

namespace tri::schedules {
namespace {

constexpr automatic_limits limits{.in_place = 1.2, .claim = 1, .least_left = 2, .most_left = 20};
constexpr double resolution = 1000;  // ticks of a unit: what is recorded has no fractions

automatic_limits in_ticks() {
  return {limits.in_place * resolution, limits.claim * resolution, limits.least_left * resolution,
          limits.most_left * resolution};
}

struct execution {
  double time = 0;
  double stolen = 0;  // share of the iterations
  bool in_place = false;
};

execution execute(automatic_schedule& chosen, const sim::region& what, std::uint64_t items,
                  std::uint32_t participants) {
  const automatic_schedule::decision decided = chosen.next(items, participants);
  loop_times times(items, participants);
  execution done;
  done.in_place = decided.in_place;
  if (decided.in_place) {
    for (std::uint64_t i = 0; i < items; ++i) done.time += what.cost ? what.cost(i) : what.iteration_time;
    times.record(0, 0, items, static_cast<std::uint64_t>(done.time * resolution));
  } else {
    const sim::region_run run = simulate(what, *decided.layout);
    done.time = run.time;
    for (const sim::executed_part& part : run.parts) {
      if (part.from != part.participant)
        done.stolen += static_cast<double>(part.last - part.first) / static_cast<double>(items);
      times.record(static_cast<int>(part.participant), part.first, part.last,
                   static_cast<std::uint64_t>((part.end - part.begin) * resolution));
    }
  }
  if (decided.measure) chosen.learn(times, static_cast<std::uint64_t>(done.time * resolution));
  return done;
}

double total(const sim::region& what, std::uint64_t items) {
  double sum = 0;
  for (std::uint64_t i = 0; i < items; ++i) sum += what.cost ? what.cost(i) : what.iteration_time;
  return sum;
}

struct workload {
  std::string name;
  std::uint64_t items;
  sim::region what;
};

std::vector<workload> workloads() {
  std::vector<workload> all;
  const auto add = [&](const char* name, std::uint64_t items, std::function<double(std::uint64_t)> cost) {
    sim::region what;
    what.cost = std::move(cost);
    what.claim_time = 0.02;
    all.push_back({name, items, what});
  };
  add("uniform", 10000, [](std::uint64_t) { return 1.0; });
  add("linear", 10000, [](std::uint64_t i) { return static_cast<double>(i) / 5000.0; });
  add("falling", 5000, [](std::uint64_t i) { return 4.0 - static_cast<double>(i) / 1250.0; });
  add("all_at_the_end", 10000, [](std::uint64_t i) { return i < 9000 ? 0.01 : 5.0; });
  add("a_bump", 4000, [](std::uint64_t i) { return i > 1500 && i < 1900 ? 10.0 : 0.3; });
  add("alternating", 10000, [](std::uint64_t i) { return i % 2 == 0 ? 0.1 : 1.9; });
  add("tiny", 200, [](std::uint64_t) { return 0.088; });
  return all;
}

class any_team : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(participants, any_team, testing::Values(2u, 3u, 4u, 16u));

TEST_P(any_team, comes_within_two_percent_of_the_best_fixed_schedule_in_20_executions) {
  for (const workload& each : workloads()) {
    automatic_schedule chosen(in_ticks());
    double time = 0;
    for (int number = 0; number < 25; ++number) time = execute(chosen, each.what, each.items, GetParam()).time;
    double best = 1e300;
    for (const char* name : {"static", "dynamic,1", "dynamic,16", "guided", "factoring", "trapezoid", "hybrid,0.5",
                             "staggered,0.5", "staggered,0", "staggered,0.8"})
      best = std::min(best, simulate(each.what, layout_of(parse_schedule(name), each.items, GetParam())).time);
    const double ideal = total(each.what, each.items) / GetParam();
    EXPECT_LE(time, 1.02 * best + 1.0) << each.name << ", ideal " << ideal;
  }
}

// Where the work lies is not known yet, and it may all lie at one end (graphs whose vertices are sorted by degree).
TEST_P(any_team, the_first_execution_shares_work_that_lies_at_one_end) {
  const std::uint64_t items = 20000;
  const auto cost_at_front = [](std::uint64_t i) { return i < items / 16 ? 10.0 : 0.05; };
  sim::region front, back;
  front.cost = cost_at_front;
  back.cost = [&](std::uint64_t i) { return cost_at_front(items - 1 - i); };
  front.claim_time = back.claim_time = 0.02;
  for (const sim::region& what : {front, back}) {
    automatic_schedule chosen(in_ticks());
    const double first = execute(chosen, what, items, GetParam()).time;
    EXPECT_LE(first, 1.2 * total(what, items) / GetParam());
    EXPECT_LE(execute(chosen, what, items, GetParam()).time, 1.1 * total(what, items) / GetParam());
  }
}

// Uneven as they may be, loops that cost the same every time end up with blocks that nobody steals from.
TEST_P(any_team, nobody_steals_any_more_when_a_loop_is_known) {
  for (const workload& each : workloads()) {
    automatic_schedule chosen(in_ticks());
    execution last;
    for (int number = 0; number < 40; ++number) last = execute(chosen, each.what, each.items, GetParam());
    EXPECT_LE(last.stolen, each.name == "uniform" || each.name == "linear" ? 0.01 : 0.05) << each.name;
  }
}

TEST_P(any_team, is_never_worse_than_static) {
  std::mt19937 random(5);
  for (int round = 0; round < 40; ++round) {
    sim::region what;
    std::vector<double> costs(200 + random() % 3000);
    double cost = 1.0;
    for (double& each : costs) {
      if (random() % 50 == 0) cost = 0.05 + static_cast<double>(random() % 1000) / 300.0;
      each = cost;
    }
    what.cost = [&](std::uint64_t i) { return costs[i]; };
    what.claim_time = 0.02;
    automatic_schedule chosen(in_ticks());
    const double blocks = simulate(what, layout_of(parse_schedule("static"), costs.size(), GetParam())).time;
    for (int number = 0; number < 60; ++number) {
      const double time = execute(chosen, what, costs.size(), GetParam()).time;
      // The first knows nothing; plain blocks are tried again and again afterwards, with the borders of then.
      if (number == 0) continue;
      ASSERT_LE(time, 1.02 * blocks + 1.0) << "execution " << number << " of round " << round;
    }
  }
}

TEST(automatic, an_unequal_core_gets_less) {
  sim::region what;
  what.slowness = {1.0, 2.0};
  what.claim_time = 0.02;
  automatic_schedule chosen(in_ticks());
  execution last;
  for (int number = 0; number < 30; ++number) last = execute(chosen, what, 9000, 2);
  EXPECT_LE(last.time, 1.01 * 6000);
  EXPECT_LE(last.stolen, 0.01);
}

// A tenth of the time of one core is taken by noise, at any moment: whoever is hit is helped.
TEST(automatic, absorbs_noise) {
  std::mt19937 random(11);
  automatic_schedule chosen(in_ticks());
  double sum = 0, ideal = 0;
  for (int number = 0; number < 220; ++number) {
    sim::region what;
    what.claim_time = 0.02;
    const double length = 500;
    what.noise = {{static_cast<std::uint32_t>(random() % 2), static_cast<double>(random() % 4500), length}};
    const double time = execute(chosen, what, 10000, 2).time;
    if (number < 20) continue;
    sum += time;
    ideal += (10000 + length) / 2;
  }
  EXPECT_LE(sum, 1.03 * ideal);
}

TEST(automatic, a_short_loop_bothers_nobody_until_it_is_long) {
  automatic_schedule chosen(in_ticks());
  sim::region what;
  what.iteration_time = 0.05;
  EXPECT_FALSE(execute(chosen, what, 20, 2).in_place) << "nothing is known yet";
  EXPECT_TRUE(execute(chosen, what, 20, 2).in_place);
  EXPECT_FALSE(execute(chosen, what, 100, 2).in_place) << "the same iterations, but more";
  EXPECT_TRUE(execute(chosen, what, 20, 2).in_place);
  what.iteration_time = 1.0;
  for (int number = 0; number < 30; ++number) execute(chosen, what, 20, 2);
  EXPECT_FALSE(execute(chosen, what, 20, 2).in_place) << "it has become slow";
}

TEST(automatic, keeps_what_it_knows_when_the_length_changes) {
  automatic_schedule chosen(in_ticks());
  sim::region what;
  what.cost = [](std::uint64_t i) { return static_cast<double>(i) / 5000.0; };
  for (int number = 0; number < 20; ++number) execute(chosen, what, 10000, 2);
  what.cost = [](std::uint64_t i) { return static_cast<double>(i) / 2500.0; };
  EXPECT_LE(execute(chosen, what, 5000, 2).time, 1.02 * total(what, 5000) / 2);
  EXPECT_LE(execute(chosen, what, 5000, 3).time, 1.15 * total(what, 5000) / 3) << "another team: from the beginning";
}

// Ranges are exact whatever the numbers.
TEST(automatic, layouts_cover_the_loop) {
  std::mt19937_64 random(3);
  automatic_schedule chosen(in_ticks());
  for (int round = 0; round < 2000; ++round) {
    const std::uint64_t items = round % 7 == 0 ? random() : random() % 1000 + 1;
    const auto participants = static_cast<std::uint32_t>(random() % 70 + 1);
    const automatic_schedule::decision decided = chosen.next(items, participants);
    if (decided.in_place) continue;
    const board::task_spec task = task_of(*decided.layout);
    ASSERT_NO_THROW(board::check_task(task, {participants, 1}));
    ASSERT_EQ(decided.layout->ranges.size(), participants);
    loop_times times(items, participants);
    for (std::uint32_t number = 0; number < participants; ++number) {
      const auto& range = decided.layout->ranges[number];
      if (range.first == range.last) continue;
      times.record(static_cast<int>(number), decided.layout->first_item(range.first),
                   decided.layout->last_item(range.last - 1), random() % 100000);
    }
    if (decided.measure) chosen.learn(times, random() % 1000000);
  }
}

}  // namespace
}  // namespace tri::schedules
