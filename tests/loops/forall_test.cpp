// The C interface: every iteration once, in threads of the program's own (K75); what is wrong is said.
#include "trireme/forall.h"

#include <gmock/gmock.h>

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
    tri_crew* const crew = tri_crew_create(threads);
    ASSERT_NE(crew, nullptr);
    const auto work = [&](int number) {
      std::mt19937 random(3);  // the same for all threads: they must ask for the same loops
      std::mt19937 delays(static_cast<unsigned>(number));
      for (int loop = 0; loop < loops; ++loop) {
        const char* const schedule = schedules[random() % std::size(schedules)];
        const long first = static_cast<long>(random() % 50) - 25;
        const long count = static_cast<long>(random() % longest);
        if (delays() % 8 == 0) std::this_thread::yield();
        long start = 0, end = 0;
        TRI_FORALL_BEGIN(crew, schedule, first, first + count, start, end, number)
        for (long i = start; i < end; ++i) ++runs[static_cast<std::size_t>(loop)][static_cast<std::size_t>(i - first)];
        TRI_FORALL_END(crew, start, end, number)
      }
    };
    std::vector<std::thread> crew_threads;
    for (int number = 0; number < threads; ++number) crew_threads.emplace_back(work, number);
    for (std::thread& each : crew_threads) each.join();
    tri_crew_destroy(crew);
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

TEST(forall, says_what_is_wrong) {
  EXPECT_EQ(tri_crew_create(0), nullptr);
  EXPECT_THAT(tri_forall_error(), HasSubstr("a crew of 0 threads; it must be 1 to"));
  tri_crew* const crew = tri_crew_create(2);
  long start = 0, end = 0;
  EXPECT_EQ(tri_forall_start(crew, "statik", 0, 10, &start, &end, 0), -1);
  EXPECT_THAT(tri_forall_error(), HasSubstr("statik"));
  EXPECT_THAT(tri_forall_error(), HasSubstr("static"));
  EXPECT_EQ(tri_forall_start(crew, "static", 0, 10, &start, &end, 2), -1);
  EXPECT_THAT(tri_forall_error(), HasSubstr("thread number 2; the crew has threads 0 to 1"));
  EXPECT_EQ(tri_forall_start(nullptr, "static", 0, 10, &start, &end, 0), -1);
  EXPECT_EQ(tri_forall_start(crew, nullptr, 0, 10, &start, &end, 0), -1);
  EXPECT_EQ(tri_forall_next(crew, &start, &end, 0), 0) << "in no loop";
  EXPECT_EQ(tri_forall_start(crew, "static", 5, -5, &start, &end, 0), 0) << "empty";
  EXPECT_EQ(tri_forall_start(crew, "static", 5, -5, &start, &end, 1), 0);
  tri_crew_destroy(crew);
  tri_crew_destroy(nullptr);
}

}  // namespace
