// Worksharing loops with memory (K60): in virtual time through the code that the OpenMP drop-in runs, and on
// threads. One tick is 0.4 ns.
#include "schedules/loop_memory.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "trireme/detail/schedules/loop_schedule.hpp"

namespace tri::schedules {
namespace {

constexpr automatic_limits limits{.in_place = 3000, .claim = 2500, .least_left = 5000, .most_left = 50000};
constexpr double claim_ticks = 50;
constexpr double microsecond = 2500;

using cost_function = std::function<double(std::uint64_t item, std::uint32_t participant)>;

struct execution {
  double time = 0;
  bool measured = false;
  std::vector<std::vector<std::uint64_t>> order;  // iterations as each participant ran them
};

// Participants fetch in the order of their clocks. The loop has been armed.
execution fetch_all(worksharing_loop& loop, std::uint64_t items, std::uint32_t participants, const cost_function& cost,
                    double began) {
  execution done;
  done.measured = loop.measurement() != nullptr;
  done.order.resize(participants);
  std::vector<fetch_position> positions;
  std::vector<double> clocks(participants, began);
  std::vector<bool> going(participants, true);
  std::vector<int> ran(items, 0);
  for (std::uint32_t number = 0; number < participants; ++number) positions.emplace_back(loop, number);
  for (;;) {
    std::uint32_t next = participants;
    for (std::uint32_t number = 0; number < participants; ++number)
      if (going[number] && (next == participants || clocks[number] < clocks[next])) next = number;
    if (next == participants) break;
    const item_span got =
        done.measured ? positions[next].next_at(static_cast<std::uint64_t>(clocks[next])) : positions[next].next();
    clocks[next] += claim_ticks;
    if (got.empty()) {
      going[next] = false;
      continue;
    }
    for (std::uint64_t item = got.first; item < got.last; ++item) {
      clocks[next] += cost(item, next);
      ++ran.at(item);
      done.order[next].push_back(item);
    }
  }
  EXPECT_EQ(ran, std::vector<int>(items, 1)) << "every iteration once";
  done.time = *std::max_element(clocks.begin(), clocks.end()) - began;
  return done;
}

// One team that runs the loop again and again.
class team {
 public:
  explicit team(loop_memory& memory) : memory_(memory) {}
  void arm(std::uint64_t items, std::uint32_t participants) {
    const held_before held = items_ == 0       ? held_before::another_loop
                             : items_ == items ? held_before::same_key
                                               : held_before::same_loop;
    items_ = items;
    if (memory_.arm(loop_, items, participants, held)) loop_.measure(static_cast<std::uint64_t>(now_));
  }
  execution run(std::uint64_t items, std::uint32_t participants, const cost_function& cost) {
    arm(items, participants);
    execution done = fetch_all(loop_, items, participants, cost, now_);
    now_ += done.time + 1000;
    return done;
  }
  worksharing_loop& loop() { return loop_; }

 private:
  loop_memory& memory_;
  worksharing_loop loop_;
  std::uint64_t items_ = 0;
  double now_ = 1e6;
};

memory_setup setup_of(const char* schedule, claim_direction direction = claim_direction::any,
                      const machine_costs& (*machine)() = nullptr) {
  return {parse_schedule(schedule), direction, limits, machine};
}

double time_of_fixed(const char* schedule, std::uint64_t items, std::uint32_t participants, const cost_function& cost) {
  worksharing_loop loop;
  loop.arm(layout_of(parse_schedule(schedule), items, participants));
  return fetch_all(loop, items, participants, cost, 0).time;
}

struct load {
  const char* name;
  std::uint64_t items;
  cost_function cost;
};
std::vector<load> loads() {
  return {
      {"uniform", 10000, [](std::uint64_t, std::uint32_t) { return 2500.0; }},
      {"linear", 10000, [](std::uint64_t item, std::uint32_t) { return static_cast<double>(item); }},
      {"falling", 5000, [](std::uint64_t item, std::uint32_t) { return 2.0 * static_cast<double>(5000 - item); }},
      {"all at the end", 10000, [](std::uint64_t item, std::uint32_t) { return item < 9000 ? 25.0 : 12500.0; }},
      {"a bump", 4000, [](std::uint64_t item, std::uint32_t) { return item > 1500 && item < 1900 ? 25000.0 : 750.0; }},
      {"a slow core", 9000, [](std::uint64_t, std::uint32_t who) { return who == 0 ? 4000.0 : 2000.0; }},
      {"short", 400, [](std::uint64_t, std::uint32_t) { return 100.0; }},
  };
}

class any_team : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(participants, any_team, testing::Values(2u, 3u, 4u, 16u));

TEST_P(any_team, automatic_comes_within_two_percent_of_the_best_fixed_schedule_in_20_executions) {
  for (const load& each : loads()) {
    loop_memory memory(setup_of("automatic"));
    team one(memory);
    double time = 0;
    for (int number = 0; number < 25; ++number) time = one.run(each.items, GetParam(), each.cost).time;
    double best = std::numeric_limits<double>::infinity();
    for (const char* fixed : {"static", "static,16", "dynamic,1", "dynamic,16", "guided", "trapezoid", "factoring",
                              "hybrid,0.5", "staggered,0.5", "staggered,0.8"})
      best = std::min(best, time_of_fixed(fixed, each.items, GetParam(), each.cost));
    EXPECT_LE(time, 1.02 * best + microsecond) << each.name;
  }
}

TEST_P(any_team, automatic_is_never_worse_than_static_once_it_has_seen_the_loop) {
  for (const load& each : loads()) {
    loop_memory memory(setup_of("automatic"));
    team one(memory);
    const double blocks = time_of_fixed("static", each.items, GetParam(), each.cost);
    one.run(each.items, GetParam(), each.cost);
    for (int number = 1; number < 600; ++number) {  // the variants are compared again at 512
      ASSERT_LE(one.run(each.items, GetParam(), each.cost).time, 1.02 * blocks + microsecond)
          << each.name << ", execution " << number;
    }
  }
}

// What a monotonic loop may be promised: nobody goes back.
TEST_P(any_team, where_iterations_must_rise_they_do_and_the_time_comes_near_the_best) {
  for (const load& each : loads()) {
    loop_memory memory(setup_of("automatic", claim_direction::rising));
    team one(memory);
    double time = 0;
    for (int number = 0; number < 40; ++number) {
      const execution done = one.run(each.items, GetParam(), each.cost);
      for (const std::vector<std::uint64_t>& own : done.order) ASSERT_TRUE(std::ranges::is_sorted(own)) << each.name;
      time = done.time;
    }
    double best = std::numeric_limits<double>::infinity();
    for (const char* fixed : {"static", "dynamic,16", "guided", "factoring", "hybrid,0.5", "hybrid,0.8"})
      best = std::min(best, time_of_fixed(fixed, each.items, GetParam(), each.cost));
    EXPECT_LE(time, 1.02 * best + microsecond) << each.name;
  }
}

TEST(loop_memory, a_loop_that_gets_shorter_every_time_is_known_when_it_comes_again) {
  loop_memory memory(setup_of("automatic"));
  team one(memory);
  const cost_function linear = [](std::uint64_t item, std::uint32_t) { return static_cast<double>(item); };
  for (std::uint64_t items = 16000; items > 12000; items -= 100) {
    const double time = one.run(items, 2, linear).time;
    const double ideal = static_cast<double>(items) * static_cast<double>(items - 1) / 4;
    if (items <= 15500) {
      EXPECT_LE(time, 1.02 * ideal) << items;
    }
  }
}

TEST(loop_memory, few_executions_are_measured_once_the_loop_is_known) {
  loop_memory memory(setup_of("automatic"));
  team one(memory);
  int measured = 0;
  const cost_function even = [](std::uint64_t, std::uint32_t) { return 1000.0; };
  for (int number = 0; number < 500; ++number) measured += one.run(100, 2, even).measured ? 1 : 0;
  EXPECT_GE(measured, 20 + 480 / 16);
  EXPECT_LE(measured, 20 + 480 / 16 + 10);
  // Of a loop of 4 us fewer.
  loop_memory another(setup_of("automatic"));
  team two(another);
  measured = 0;
  const cost_function cheap = [](std::uint64_t, std::uint32_t) { return 100.0; };
  for (int number = 0; number < 500; ++number) measured += two.run(100, 2, cheap).measured ? 1 : 0;
  EXPECT_EQ(measured, 20 + 480 / 128);
}

TEST(loop_memory, of_several_teams_one_at_a_time_is_measured_and_one_that_is_gone_is_given_up) {
  loop_memory memory(setup_of("automatic"));
  const cost_function even = [](std::uint64_t, std::uint32_t) { return 100.0; };
  {
    team gone(memory);
    gone.arm(1000, 2);
    EXPECT_NE(gone.loop().measurement(), nullptr);
  }
  team one(memory), two(memory);
  int without = 0;
  while (!one.run(1000, 2, even).measured) ASSERT_LT(++without, 20);
  EXPECT_EQ(without, 15);
  EXPECT_FALSE(two.run(1000, 2, even).measured) << "the other one is measured";
  EXPECT_FALSE(two.run(1000, 2, even).measured);
  EXPECT_TRUE(one.run(1000, 2, even).measured) << "was read just now";
  loop_memory::summary learned;
  ASSERT_TRUE(memory.ask(learned));
  EXPECT_GT(learned.ticks_per_item, 0);
}

TEST(loop_memory, an_execution_that_was_cancelled_teaches_nothing) {
  loop_memory memory(setup_of("automatic"));
  team one(memory);
  for (int number = 0; number < 10; ++number) {
    one.arm(1000, 2);
    ASSERT_NE(one.loop().measurement(), nullptr) << "is measured again at once";
    fetch_position first(one.loop(), 0), second(one.loop(), 1);
    EXPECT_FALSE(first.next_at(1000000).empty());
    EXPECT_FALSE(second.next_at(1000000).empty());
    while (!second.next_at(90000000).empty()) {
    }
  }
  loop_memory::summary learned;
  ASSERT_TRUE(memory.ask(learned));
  EXPECT_EQ(learned.executions, 10u);
  EXPECT_EQ(learned.ticks_per_item, 0);
}

TEST(loop_memory, weights_follow_the_speed_of_the_threads) {
  const cost_function slow_first = [](std::uint64_t, std::uint32_t who) { return who == 0 ? 4000.0 : 2000.0; };
  for (const char* schedule : {"weighted", "weighted-tasklets", "weighted+staggered,0.8"}) {
    loop_memory memory(setup_of(schedule));
    team one(memory);
    double time = 0;
    for (int number = 0; number < 10; ++number) time = one.run(9000, 2, slow_first).time;
    EXPECT_LE(time, 1.05 * 9000 * 4000.0 / 3) << schedule;
  }
}

TEST(loop_memory, tasklets_stay_with_the_thread_that_ran_them_last) {
  const auto kept = [](const char* schedule) {
    loop_memory memory(setup_of(schedule));
    team one(memory);
    std::vector<std::uint32_t> before;
    double same = 0, all = 0;
    for (std::uint32_t step = 0; step < 12; ++step) {
      // Another one is late each time.
      const execution done =
          one.run(32, 4, [&](std::uint64_t, std::uint32_t who) { return who == step % 4 ? 2600.0 : 2500.0; });
      std::vector<std::uint32_t> owners(32);
      for (std::uint32_t who = 0; who < 4; ++who)
        for (const std::uint64_t item : done.order[who]) owners[item] = who;
      for (std::size_t item = 0; item < before.size(); ++item) same += before[item] == owners[item], all += 1;
      before = owners;
    }
    return same / all;
  };
  EXPECT_GT(kept("tasklets,static=0,count=32"), 0.8);
  EXPECT_LT(kept("tasklets,static=0,count=32,tags=off"), 0.7);
}

const machine_costs& noisy() {
  static const machine_costs costs{.claim_time = 0, .noise_delay = 400};
  return costs;
}

TEST(loop_memory, the_model_asks_for_as_much_as_noise_may_cost) {
  loop_memory memory(setup_of("static-hybrid", claim_direction::any, &noisy));
  team one(memory);
  loop_memory::summary learned;
  const cost_function even = [](std::uint64_t, std::uint32_t) { return 1.0; };
  one.run(3200, 2, even);
  ASSERT_TRUE(memory.ask(learned));
  EXPECT_NEAR(learned.dynamic_fraction, 0.1, 1e-9);
  one.run(3200, 2, even);
  ASSERT_TRUE(memory.ask(learned));
  EXPECT_NEAR(learned.dynamic_fraction, 2 * 400 / 3200.0, 0.015) << "a claim counts as part of what it brings";
}

TEST(loop_memory, a_process_that_waits_after_the_loop_needs_less_of_it_dynamic) {
  slack::predictor& waits = slack::of_this_process();
  waits.set({.by = slack::history::operation, .window = 1, .subtract_least = false});
  const auto fraction_with = [&](double wait_ns) {
    loop_memory memory(setup_of("slack", claim_direction::any, &noisy));
    team one(memory);
    const cost_function even = [](std::uint64_t, std::uint32_t) { return 1.0; };
    for (int step = 0; step < 4; ++step) {
      one.run(3200, 2, even);
      waits.waited({slack::operation_type("reduction"), 0, 8}, wait_ns);
    }
    loop_memory::summary learned;
    EXPECT_TRUE(memory.ask(learned));
    EXPECT_DOUBLE_EQ(learned.slack, wait_ns);
    return learned.dynamic_fraction;
  };
  EXPECT_NEAR(fraction_with(0), 0.25, 0.015);
  EXPECT_EQ(fraction_with(1e6), 0.0);
  waits.set({.by = slack::history::off});
}

TEST(loop_memory, knows_which_schedules_learn) {
  for (const char* name : {"automatic", "weighted", "weighted-tasklets", "tasklets", "static-hybrid", "slack", "combo",
                           "besf", "usched", "weighted+staggered,0.7"})
    EXPECT_TRUE(learns(parse_schedule(name))) << name;
  for (const char* name : {"static", "static,4", "dynamic", "guided", "trapezoid", "factoring", "hybrid,0.8",
                           "staggered,0.5", "tasklets,tags=off"})
    EXPECT_FALSE(learns(parse_schedule(name))) << name;
}

// Teams of threads on one memory, each going through its own sequence: every iteration once, whatever is learned.
TEST(loop_memory, teams_that_run_the_loop_at_the_same_time_do_not_disturb_each_other) {
  constexpr std::uint32_t teams = 3, threads = 2, executions = 400;
  for (const char* schedule : {"automatic", "tasklets", "weighted"}) {
    loop_memory memory(setup_of(schedule));
    std::vector<loop_sequence> sequences(teams);
    std::vector<std::vector<std::atomic<std::uint32_t>>> ran(teams);
    for (auto& each : ran) each = std::vector<std::atomic<std::uint32_t>>(200);
    std::vector<std::thread> all;
    for (std::uint32_t who = 0; who < teams * threads; ++who) {
      all.emplace_back([&, number = who % threads, of = who / threads] {
        loop_sequence::position here;
        for (std::uint32_t step = 0; step < executions; ++step) {
          const std::uint64_t items = 100 + (step / 50) % 2 * 100;
          worksharing_loop& loop = sequences[of].enter(
              here,
              [&] {
                return loop_key{&memory, items, 1, 0, threads};
              },
              [&](worksharing_loop& record, const loop_key& key, held_before held) {
                if (memory.arm(record, key.items, key.participants, held)) record.measure(os::ticks());
              });
          fetch_position position(loop, number);
          for (item_span got = position.next(); !got.empty(); got = position.next()) {
            // relaxed: joined before they are read
            for (std::uint64_t item = got.first; item < got.last; ++item)
              ran[of][item].fetch_add(1, std::memory_order_relaxed);
          }
        }
      });
    }
    for (std::thread& each : all) each.join();
    for (const auto& each : ran)
      for (std::uint64_t item = 0; item < 200; ++item)
        ASSERT_EQ(each[item].load(), item < 100 ? executions : executions / 2) << schedule;
  }
}

}  // namespace
}  // namespace tri::schedules
