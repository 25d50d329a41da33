// What loops live in: threads that come and go, jobs that follow each other, locks held across loops, the end of the
// process, children of fork(). A plain program's team unless a test runs a job of PEs.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

#include "config/configuration.hpp"
#include "loops/team.hpp"
#include "os/child_process.hpp"
#include "schedules/automatic_schedule.hpp"
#include "schedules/learning/learning_schedule.hpp"
#include "support/run_on_pes.hpp"
#include "trireme/detail/os/sanitizer.hpp"
#include "trireme/loops.hpp"

namespace tri {
namespace {

const bool several_threads = [] {
  if (std::getenv("TRIREME_PES") == nullptr) setenv("TRIREME_PES", "4", 1);
  return true;
}();

long sum_below(int count, const char* schedule) {
  return parallel_reduce(
      count, 0l, [](int i) { return static_cast<long>(i); }, std::plus<>(), schedule);
}

// Runs when the thread-local objects of the main thread have gone. The process ends with a signal if it does not work.
struct loops_in_a_destructor {
  ~loops_in_a_destructor() {
    std::atomic<int> ran{0};
    parallel_for(1000, [&](int) { ran.fetch_add(1, std::memory_order_relaxed); });
    if (ran != 1000) std::abort();
  }
} at_the_end;

TEST(loops, of_threads_that_come_and_go_on_few_places) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> drivers;
  for (unsigned driver = 0; driver < loops::team::most_guests + 10; ++driver)
    drivers.emplace_back([&] {
      for (int round = 0; round < 60; ++round)
        std::thread([&] { wrong += sum_below(2000, "static") != 1999000; }).join();
    });
  for (std::thread& each : drivers) each.join();
  EXPECT_EQ(wrong, 0);
}

// A worker waits in one thread's loop for a lock that another thread holds across a loop of its own, all of whose
// owners are expected to come.
TEST(loops, go_on_when_an_owner_waits_for_their_poster) {
  for (const char* const schedule : {"static", "hybrid,0.5", "staggered,0.5,keep=1"}) {
    std::mutex lock;
    std::atomic<long> ran{0};
    const auto work = [&] {
      for (int round = 0; round < 40; ++round) {
        parallel_for(
            16,
            [&](int) {
              const std::lock_guard guard(lock);
              ++ran;
            },
            schedule);
        const std::lock_guard guard(lock);
        parallel_for(
            16, [&](int) { ++ran; }, schedule);
      }
    };
    std::thread one(work), other(work);
    one.join();
    other.join();
    EXPECT_EQ(ran, 2 * 40 * 32) << schedule;
  }
}

TEST(loops, of_jobs_that_follow_each_other_with_other_numbers_of_pes) {
  for (int job = 0; job < 12; ++job) {
    const int pes = 1 + job * 3 % 4;
    EXPECT_EQ(tri::testing::run_on_pes(pes,
                                       [pes] {
                                         EXPECT_EQ(loop_participants(), pes);
                                         for (int round = 0; round < 50; ++round)
                                           EXPECT_EQ(sum_below(20000, "automatic"), 199990000);
                                       }),
              0);
  }
}

// A body may wait for a result. It is not entered again meanwhile by the same participant.
TEST(loops, whose_bodies_wait_for_results) {
  tri::testing::run_on_pes(2, [] {
    std::vector<std::atomic<int>> inside(2);
    std::atomic<int> ran{0}, deepest{0};
    parallel_for(
        24,
        [&](int, int participant) {
          const int depth = ++inside[static_cast<std::size_t>(participant)];
          int known = deepest;
          while (known < depth && !deepest.compare_exchange_weak(known, depth)) {
          }
          tri::after(std::chrono::microseconds(300)).get();
          --inside[static_cast<std::size_t>(participant)];
          ++ran;
        },
        "dynamic,1");
    EXPECT_EQ(ran, 24);
    EXPECT_EQ(deepest, 1);
  });
}

TEST(loops, of_any_length_under_any_schedule) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  struct long_loop {
    std::uint64_t items;
    const char* schedule;
  };
  for (const auto& [items, schedule] :
       std::initializer_list<long_loop>{{1'000'000'000, "dynamic,250000000"},
                                        {1'000'000'000, "hybrid,static=0.5,chunk=250000000"},
                                        {std::uint64_t{1} << 40, "dynamic"},
                                        {most, "half"},
                                        {most, "static"},
                                        {most, "automatic"}}) {
    loops::loop_record record;
    for (loops::loop_record* const memory : {static_cast<loops::loop_record*>(nullptr), &record}) {
      loop_options options(schedule);
      options.record = memory;
      std::atomic<std::uint64_t> ran{0};
      parallel_for(
          items, [&](const loop_chunk<std::uint64_t>& chunk) { ran += chunk.size(); }, options);
      EXPECT_EQ(ran, items) << schedule;
    }
  }
}

TEST(loops, after_one_that_was_refused) {
  loops::loop_record record;
  const auto greatest_index = [&](std::uint64_t items, const schedules::schedule& schedule) {
    loop_options options(schedule);
    options.record = &record;
    std::atomic<std::uint64_t> greatest{0};
    parallel_for(
        items,
        [&](std::uint64_t i) {
          std::uint64_t known = greatest;
          while (known < i && !greatest.compare_exchange_weak(known, i)) {
          }
        },
        options);
    return greatest.load();
  };
  schedules::schedule impossible = schedules::parse_schedule("hybrid,0.5");
  impossible.static_fraction = 2.0;
  EXPECT_EQ(greatest_index(1000, schedules::parse_schedule("dynamic,4")), 999u);
  EXPECT_THROW(greatest_index(10, impossible), std::invalid_argument);
  EXPECT_THROW(greatest_index(10, impossible), std::invalid_argument);
  EXPECT_EQ(greatest_index(10, schedules::parse_schedule("dynamic,4")), 9u);
  EXPECT_EQ(greatest_index(20, schedules::parse_schedule("besf")), 19u);
  ASSERT_TRUE(record.named().search().has_value()) << "the record learns no more";
}

struct counts_in_a_mutable_member {
  mutable int ran = 0;
  void operator()(int) const { std::atomic_ref(ran)++; }
};
struct counts_unless_const {
  int ran = 0;
  void operator()(int) { std::atomic_ref(ran)++; }
  void operator()(int) const {}
};
struct cannot_be_copied {
  mutable std::atomic<int> ran{0};
  void operator()(int) const { ++ran; }
};
TEST(body, that_the_caller_named_is_called_itself) {
  counts_in_a_mutable_member first;
  parallel_for(1000, first);
  EXPECT_EQ(first.ran, 1000);
  counts_unless_const second;
  parallel_for(1000, second);
  EXPECT_EQ(second.ran, 1000);
  cannot_be_copied third;
  parallel_for(1000, third);
  EXPECT_EQ(third.ran, 1000);
}

TEST(handle, belongs_to_the_thread_that_started_the_loop) {
  std::atomic<int> ran{0};
  loop_handle handle = start_for(1000, [&](int) { ++ran; });
  std::thread([&] { EXPECT_THROW(static_cast<void>(handle.finished()), std::logic_error); }).join();
  std::thread([&] { EXPECT_THROW(handle.wait(), std::logic_error); }).join();
  handle.wait();
  EXPECT_EQ(ran, 1000);
}
TEST(handle_death_test, that_outlives_its_thread_says_so) {
  if (os::under_thread_sanitizer) GTEST_SKIP() << "the sanitizer starts no threads in a child of threads";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        loop_handle handle;
        std::thread([&] {
          handle = start_for(
              1000, [](int) {}, "static");
        }).join();
        std::thread([] { parallel_for(100, [](int) {}); }).join();  // gets a place, perhaps at the same address
        try {
          static_cast<void>(handle.finished());
          std::_Exit(0);
        } catch (const std::logic_error&) {
        }
      },
      "another thread");
}
TEST(handle, names_nothing_in_a_child_of_fork) {
  if (os::under_thread_sanitizer) GTEST_SKIP() << "the sanitizer starts no threads in a child of threads";
  std::atomic<int> ran{0};
  loop_handle handle = start_for(100, [&](int) { ++ran; });
  const pid_t child = os::start_function([&] {
    const bool finished = handle.finished();
    { const loop_handle gone = std::move(handle); }
    std::atomic<int> own{0};
    parallel_for(100, [&](int) { ++own; });
    return finished && own == 100 ? 0 : 1;
  });
  EXPECT_EQ(os::wait_for(child), 0);
  handle.wait();
  EXPECT_EQ(ran, 100);
}

TEST(environment, cores_that_the_process_may_not_use_are_refused) {
  setenv("TRIREME_AFFINITY", "0,1000", 1);
  EXPECT_THROW(loops::team_options_of_environment(), config::configuration_error);
  setenv("TRIREME_AFFINITY", "first", 1);
  EXPECT_THROW(loops::team_options_of_environment(), config::configuration_error);
  unsetenv("TRIREME_AFFINITY");
}

}  // namespace
}  // namespace tri
