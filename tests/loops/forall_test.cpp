// The C interface: every iteration once, in threads of the program's own (K75); what is wrong is said.
#include "trireme/forall.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

using testing::Each;
using testing::HasSubstr;

const char* const schedules[] = {"automatic",  "static",
                                 "static,3",   "dynamic,4",
                                 "guided",     "sds,0.5",
                                 "hybrid,0.3", "factoring",
                                 "trapezoid",  "tasklets,0.5,count=16",
                                 "weighted",   "staggered,0,keep=1",
                                 "combo",      "static-hybrid"};

// Many loops in a row without any barrier: threads get ahead of each other.
TEST(forall, runs_every_iteration_once) {
  for (const int threads : {1, 2, 3, 5}) {
    constexpr int loops = 300;
    constexpr long longest = 400;
    std::vector<std::vector<int>> runs(loops, std::vector<int>(longest, 0));
    tri_team* const team = tri_team_create(threads);
    ASSERT_NE(team, nullptr);
    const auto work = [&](int number) {
      std::mt19937 random(3);  // the same for all threads: they must ask for the same loops
      std::mt19937 delays(static_cast<unsigned>(number));
      for (int loop = 0; loop < loops; ++loop) {
        const char* const schedule = schedules[random() % std::size(schedules)];
        const long first = static_cast<long>(random() % 50) - 25;
        const long count = static_cast<long>(random() % longest);
        if (delays() % 8 == 0) std::this_thread::yield();
        long start = 0, end = 0;
        TRI_FORALL_BEGIN(team, schedule, first, first + count, start, end, number)
        for (long i = start; i < end; ++i) ++runs[static_cast<std::size_t>(loop)][static_cast<std::size_t>(i - first)];
        TRI_FORALL_END(team, start, end, number)
      }
    };
    std::vector<std::thread> team_threads;
    for (int number = 0; number < threads; ++number) team_threads.emplace_back(work, number);
    for (std::thread& each : team_threads) each.join();
    tri_team_destroy(team);
    std::mt19937 random(3);
    for (int loop = 0; loop < loops; ++loop) {
      (void)random(), (void)random();
      const auto count = static_cast<std::size_t>(random() % longest);
      auto& row = runs[static_cast<std::size_t>(loop)];
      ASSERT_THAT(std::vector<int>(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(count)), Each(1)) << loop;
      ASSERT_THAT(std::vector<int>(row.begin() + static_cast<std::ptrdiff_t>(count), row.end()), Each(0)) << loop;
    }
  }
}

// All of the work lies in the last eighth. Once that is known, thread 0 begins with much more than half of half of the
// loop; how soon depends on what else the cores do.
TEST(forall, automatic_learns_from_each_place_in_the_program) {
  tri_team* const team = tri_team_create(2);
  constexpr long count = 2000;
  long most = 0;  // end of the chunk at 0 where thread 0 began with that
  std::atomic<bool> learned{false};
  std::atomic<int> came{0};
  const auto wait_for = [&](int both) {
    while (came < both) std::this_thread::yield();
  };
  // Not inlined: the loop is one place in the program.
  const auto work = [&](int number) __attribute__((noinline)) {
    for (int execution = 0; execution < 500; ++execution) {
      ++came;
      wait_for(4 * execution + 2);
      const bool over = learned;
      ++came;
      wait_for(4 * execution + 4);  // both have looked
      if (over) return;
      long start = 0, end = 0;
      TRI_FORALL_BEGIN(team, "automatic", 0, count, start, end, number)
      if (number == 0 && start == 0) most = std::max(most, end);
      for (long i = start; i < end; ++i) {
        volatile double value = 1.0;
        for (int turn = 0; turn < (i >= count * 7 / 8 ? 20000 : 0); ++turn) value = value * 0.999;
      }
      TRI_FORALL_END(team, start, end, number)
      if (number == 0 && most > count * 3 / 8) learned = true;
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  EXPECT_TRUE(learned) << "thread 0 never began with more than " << most << " iterations";
  tri_team_destroy(team);
}

TEST(forall, tells_all_threads_of_a_wrong_plan) {
  ASSERT_EQ(
      tri_schedule_add(
          "c_halves",
          [](void* context, long iterations, int participants, const double* values, int value_count, tri_plan* plan) {
            ++*static_cast<int*>(context);
            EXPECT_EQ(participants, 2);
            const long border = value_count > 0 ? static_cast<long>(values[0]) : iterations / 2;
            tri_plan_keep(plan, 1, 0, border);
            tri_plan_offer(plan, 0, border, iterations - 1);
            tri_plan_share(plan, iterations - 1, iterations);
          },
          [] {
            static int asked = 0;
            return &asked;
          }()),
      0);
  EXPECT_EQ(tri_schedule_add(
                "c_halves", [](void*, long, int, const double*, int, tri_plan*) {}, nullptr),
            -1);
  EXPECT_THAT(tri_forall_error(), HasSubstr("already"));
  EXPECT_EQ(tri_schedule_add("none", nullptr, nullptr), -1);
  EXPECT_EQ(tri_schedule_add(nullptr, nullptr, nullptr), -1);
  tri_team* const team = tri_team_create(2);
  long start = 0, end = 0;
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(tri_forall_start(team, "c_halves,200", 0, 100, &start, &end, 0), -1);
    EXPECT_THAT(tri_forall_error(),
                HasSubstr("'c_halves,200': the chunk from 0 up to 200 is outside of a loop of 100"));
    EXPECT_EQ(tri_forall_next(team, &start, &end, 0), 0);
    EXPECT_EQ(tri_forall_start(team, "c_halves,40", 0, 100, &start, &end, 0), 1) << "the next loop is a good one";
    EXPECT_EQ(std::pair(start, end), std::pair(40L, 99L));
    EXPECT_EQ(tri_forall_start(team, "c_halves,200", 0, 100, &start, &end, 1), -1);
    EXPECT_EQ(tri_forall_start(team, "c_halves,40", 0, 100, &start, &end, 1), 1);
    EXPECT_EQ(std::pair(start, end), std::pair(0L, 40L));
    EXPECT_EQ(tri_forall_next(team, &start, &end, 1), 1);
    EXPECT_EQ(std::pair(start, end), std::pair(99L, 100L));
    EXPECT_EQ(tri_forall_next(team, &start, &end, 0) + tri_forall_next(team, &start, &end, 1), 0);
  }
  tri_team_destroy(team);
}

TEST(forall, says_what_is_wrong) {
  EXPECT_EQ(tri_team_create(0), nullptr);
  EXPECT_THAT(tri_forall_error(), HasSubstr("a team of 0 threads; it must be 1 to"));
  tri_team* const team = tri_team_create(2);
  long start = 0, end = 0;
  EXPECT_EQ(tri_forall_start(team, "statik", 0, 10, &start, &end, 0), -1);
  EXPECT_THAT(tri_forall_error(), HasSubstr("statik"));
  EXPECT_THAT(tri_forall_error(), HasSubstr("static"));
  EXPECT_EQ(tri_forall_start(team, "static", 0, 10, &start, &end, 2), -1);
  EXPECT_THAT(tri_forall_error(), HasSubstr("thread number 2; the team has threads 0 to 1"));
  EXPECT_EQ(tri_forall_start(nullptr, "static", 0, 10, &start, &end, 0), -1);
  EXPECT_EQ(tri_forall_start(team, nullptr, 0, 10, &start, &end, 0), -1);
  EXPECT_EQ(tri_forall_next(team, &start, &end, 0), 0) << "in no loop";
  EXPECT_EQ(tri_forall_start(team, "static", 5, -5, &start, &end, 0), 0) << "empty";
  EXPECT_EQ(tri_forall_start(team, "static", 5, -5, &start, &end, 1), 0);
  tri_team_destroy(team);
  tri_team_destroy(nullptr);
}

}  // namespace
