// Schedules that the program adds (K76): how plans become layouts, which plans are refused, loops that run by them.
// mirrored_schedule.cpp adds one as a program would: a file of its own.
#include "schedules/user_schedule.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "layout_runner.hpp"
#include "schedules/learning/learning_schedule.hpp"
#include "schedules/loop_layout.hpp"
#include "sim/region_simulator.hpp"
#include "trireme/detail/schedules/loop_schedule.hpp"
#include "trireme/forall.h"
#include "trireme/loops.hpp"
#include "trireme/schedule.hpp"

namespace tri::schedules {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

std::string fault(const std::string& text, std::uint64_t items = 100, std::uint32_t participants = 2) {
  try {
    layout_of(parse_schedule(text), items, participants);
  } catch (const std::invalid_argument& problem) {
    return problem.what();
  }
  return "none";
}

TEST(user_schedule, of_another_file_runs_as_it_was_planned) {
  const loop_layout layout = layout_of(parse_schedule("mirrored,8"), 100, 3);
  layout_runner runner(layout);
  runner.finish(2);
  EXPECT_EQ(runner.blocks.front(), (executed_block{2, 0, 33}));
  runner.finish(0);
  EXPECT_EQ(runner.blocks.back(), (executed_block{0, 66, 100}))
      << "what is kept is run by its owner alone, though others were done before";
  runner.finish(1);
  EXPECT_EQ(runner.blocks.back(), (executed_block{1, 33, 66}));
  EXPECT_THAT(runner.runs(), Each(1));
}

TEST(user_schedule, chunks_are_claimed_in_the_order_of_the_plan) {
  add_schedule("in_order", [](const loop_shape& loop, loop_plan& plan) {
    EXPECT_EQ(loop.iterations, 100u);
    EXPECT_EQ(loop.participants, 2);
    plan.share(10, 20);
    plan.offer(1, 90, 100);
    plan.offer(1, 50, 90);
    plan.offer(1, 30, 50);
    plan.share(0, 10);
    plan.keep(0, 20, 25);
    plan.keep(0, 25, 30);
    plan.share(7, 7);  // empty
  });
  const loop_layout layout = layout_of(parse_schedule("in_order"), 100, 2);
  layout_runner runner(layout);
  ASSERT_TRUE(runner.step(1));
  runner.finish(0);
  runner.finish(1);
  EXPECT_THAT(runner.blocks,
              ElementsAre(executed_block{1, 90, 100}, executed_block{0, 20, 30}, executed_block{0, 10, 20},
                          executed_block{0, 0, 10}, executed_block{0, 30, 50}, executed_block{0, 50, 90}));
}

TEST(user_schedule, plans_that_miss_the_loop_are_refused) {
  add_schedule("faulty", [](const loop_shape& loop, loop_plan& plan) {
    const auto fault = static_cast<int>(loop.values[0]);
    if (fault == 1) plan.share(0, 40), plan.share(45, 100);
    if (fault == 2) plan.keep(0, 0, 60), plan.share(50, 100);
    if (fault == 3) plan.keep(2, 0, 100);
    if (fault == 4) plan.share(0, 101);
    if (fault == 5) plan.share(0, 100), plan.share(100, 90);
    if (fault == 6) plan.share(0, 99);
    if (fault == 7) throw std::runtime_error("no idea");
    if (fault == 8) plan.keep(-2, 0, 100);
  });
  EXPECT_THAT(fault("faulty,1"), HasSubstr("'faulty,1': iterations 40 to 44 of 100 are not assigned"));
  EXPECT_THAT(fault("faulty,2"), HasSubstr("iteration 50 is given twice, to participant 0 and to the shared pool"));
  EXPECT_THAT(fault("faulty,3"), HasSubstr("participant 2; there are 0 to 1"));
  EXPECT_THAT(fault("faulty,4"), HasSubstr("from 0 up to 101 is outside of a loop of 100"));
  EXPECT_THAT(fault("faulty,5"), HasSubstr("from 100 up to 90"));
  EXPECT_THAT(fault("faulty,6"), HasSubstr("99 to 99"));
  EXPECT_THAT(fault("faulty,8"), HasSubstr("participant -2"));
  EXPECT_THROW(layout_of(parse_schedule("faulty,7"), 100, 2), std::runtime_error);
  // The caller of the loop hears of it, and the next loop runs.
  std::atomic<int> runs{0};
  const auto count = [&](int) { ++runs; };
  EXPECT_THROW(parallel_for(100, count, "faulty,7"), std::runtime_error);
  EXPECT_THROW(parallel_for(100, count, "faulty,2"), std::invalid_argument);
  EXPECT_EQ(runs, 0);
  parallel_for(100, count, "mirrored");
  EXPECT_EQ(runs, 100);
}

TEST(user_schedule, has_a_text_and_a_place_among_the_others) {
  EXPECT_EQ(to_text(parse_schedule(" Mirrored, 8 ")), "mirrored,8");
  EXPECT_EQ(parse_schedule("mirrored,8"), parse_schedule("tri:mirrored,8.0"));
  EXPECT_NE(parse_schedule("mirrored,8"), parse_schedule("mirrored"));
  EXPECT_THAT(features_of(parse_schedule("mirrored")), ElementsAre("plan of the program"));
  EXPECT_THAT(fault("mirored"), HasSubstr("the nearest is 'mirrored'"));
  EXPECT_THAT(fault("mirrored,x"), HasSubstr("value 1 of 'mirrored' is 'x'; it must be a number without a key"));
  EXPECT_THAT(fault("mirrored,chunk=8"), HasSubstr("a number without a key"));
  EXPECT_THAT(fault("mirrored+weighted"), HasSubstr("'mirrored' is a complete schedule"));
  schedule unknown{.kind = schedule_kind::user, .user = 1u << 20};
  EXPECT_THROW(check_schedule(unknown), std::invalid_argument);
}

TEST(user_schedule, names_are_checked) {
  const plan_function plan = [](const loop_shape& loop, loop_plan& all) { all.share(0, loop.iterations); };
  const auto refused = [&](const std::string& name, const plan_function& given) {
    try {
      add_schedule(name, given);
    } catch (const std::invalid_argument& problem) {
      return std::string(problem.what());
    }
    return std::string("not at all");
  };
  EXPECT_THAT(refused("static", plan), HasSubstr("add_schedule('static'): there is a schedule of this name already"));
  EXPECT_THAT(refused("mirrored", plan), HasSubstr("already"));
  EXPECT_THAT(refused("Mine", plan),
              HasSubstr("a name has lower-case letters, digits, - and _, and begins with a letter"));
  EXPECT_THAT(refused("a,b", plan),
              HasSubstr("a name has lower-case letters, digits, - and _, and begins with a letter"));
  EXPECT_THAT(refused("", plan), HasSubstr("a name has lower-case letters, digits, - and _, and begins with a letter"));
  EXPECT_THAT(refused("void", nullptr), HasSubstr("there is no function"));
}

TEST(user_schedule, learns_from_the_last_execution_where_it_wants_to) {
  // Shares in proportion to the speed of the execution before.
  add_schedule(
      "by_speed",
      [](const loop_shape& loop, loop_plan& plan) {
        double all = 0.0;
        std::vector<double> speeds(static_cast<std::size_t>(loop.participants), 1.0);
        for (std::size_t index = 0; index < loop.last.size(); ++index)
          speeds[index] = static_cast<double>(loop.last[index].iterations) / loop.last[index].seconds;
        for (const double speed : speeds) all += speed;
        std::uint64_t first = 0;
        double so_far = 0.0;
        for (int number = 0; number < loop.participants; ++number) {
          so_far += speeds[static_cast<std::size_t>(number)];
          const auto last = static_cast<std::uint64_t>(so_far / all * static_cast<double>(loop.iterations) + 0.5);
          plan.keep(number, first, last);
          first = last;
        }
      },
      plan_again::every_time);
  learning_schedule memory;
  const schedule which = parse_schedule("by_speed");
  EXPECT_THAT(features_of(which), ElementsAre("plan of the program, made anew from the last execution"));
  const machine_costs& (*const never_asked)() = nullptr;
  for (int execution = 0; execution < 3; ++execution) {
    const learning_schedule::decision decided = memory.next(which, 1000, 2, never_asked);
    EXPECT_TRUE(decided.measure);
    const std::uint64_t border = decided.layout->bounds.at(1);
    EXPECT_EQ(border, execution == 0 ? 500u : 250u);  // participant 0 is three times slower
    loop_times times(1000, 2);
    times.record(0, 0, border, 3000 * border);
    times.record(1, border, 1000, 1000 * (1000 - border));
    memory.learn(times, 1);
  }
  const learning_schedule::decision fresh = memory.next(which, 1000, 4, never_asked);
  EXPECT_EQ(fresh.layout->ranges.size(), 4u) << "times of two participants say nothing about four";
  // A plan for once and for all is asked for once.
  int asked = 0;
  add_schedule("once", [&](const loop_shape& loop, loop_plan& plan) { ++asked, plan.share(0, loop.iterations); });
  learning_schedule other;
  for (int execution = 0; execution < 3; ++execution) {
    EXPECT_FALSE(other.next(parse_schedule("once"), 1000, 2, never_asked).measure);
  }
  EXPECT_EQ(asked, 1);
}

TEST(user_schedule, runs_in_virtual_time_like_any_other) {
  // Neighbours first, as staggered has it: the same plan by hand takes the same time.
  add_schedule("banded", [](const loop_shape& loop, loop_plan& plan) {
    const auto count = static_cast<std::uint64_t>(loop.participants);
    for (std::uint64_t index = 0; index < count; ++index) {
      const std::uint64_t begin = loop.iterations * index / count;
      const std::uint64_t end = loop.iterations * (index + 1) / count;
      const std::uint64_t middle = begin + (end - begin) / 2;
      const int number = static_cast<int>(index);
      plan.keep(number, begin, middle);
      for (std::uint64_t first = middle; first < end; first += 4) plan.offer(number, first, std::min(first + 4, end));
    }
    plan.neighbours_first();
  });
  sim::region what;
  what.claim_time = 0.25;
  what.noise = {{1, 3.0, 30.0}};
  const double added = simulate(what, layout_of(parse_schedule("banded"), 384, 4)).time;
  const double own = simulate(what, layout_of(parse_schedule("staggered,0.5,4"), 384, 4)).time;
  EXPECT_DOUBLE_EQ(added, own);
  EXPECT_LT(added, 130.0);
}

TEST(user_schedule, every_iteration_once_in_the_team_and_in_threads_of_the_program) {
  for (const int n : {1, 2, 7, 1000}) {
    std::vector<std::atomic<int>> runs(static_cast<std::size_t>(n));
    for (int execution = 0; execution < 20; ++execution)
      parallel_for(
          n, [&](int i) { ++runs[static_cast<std::size_t>(i)]; }, "mirrored,3");
    for (const auto& each : runs) ASSERT_EQ(each, 20);
  }
  tri_team* const team = tri_team_create(3);
  std::vector<std::atomic<int>> runs(500);
  std::vector<std::thread> threads;
  for (int number = 0; number < 3; ++number) {
    threads.emplace_back([&, number] {
      for (int execution = 0; execution < 50; ++execution) {
        long start = 0, end = 0;
        TRI_FORALL_BEGIN(team, "mirrored,5", 0, 500, start, end, number)
        for (long i = start; i < end; ++i) ++runs[static_cast<std::size_t>(i)];
        TRI_FORALL_END(team, start, end, number)
      }
    });
  }
  for (std::thread& each : threads) each.join();
  tri_team_destroy(team);
  for (const auto& each : runs) ASSERT_EQ(each, 50);
}

}  // namespace
}  // namespace tri::schedules
