// Loops of the public header in a plain program: the team of the process shares them. Every iteration exactly once,
// whatever the range, the schedule and the number of threads (K01, K02, K73, M29, M35, M36); exceptions; nesting.
#include "trireme/loops.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <thread>

#include "os/child_process.hpp"
#include "support/process_state.hpp"
#include "trireme/detail/os/sanitizer.hpp"

namespace {

thread_local bool has_thrown = false;
std::atomic<bool> was_caught{false};

}  // namespace

// What a handler of an exception calls when it is done: of the handler in the runtime there is no other sign.
extern "C" void __cxa_end_catch() {
  static const auto end = reinterpret_cast<void (*)()>(dlsym(RTLD_NEXT, "__cxa_end_catch"));
  end();
  if (has_thrown) was_caught = true;
  has_thrown = false;
}

namespace tri {
namespace {

using ::testing::Each;

// More threads than cores, so that they lose their core anywhere.
const bool several_threads = [] {
  if (std::getenv("TRIREME_PES") == nullptr) setenv("TRIREME_PES", "4", 1);
  return true;
}();

const std::vector<std::string> schedules{"automatic",
                                         "static",
                                         "static,3",
                                         "dynamic",
                                         "dynamic,7",
                                         "guided",
                                         "guided,5",
                                         "trapezoid",
                                         "factoring",
                                         "hybrid,0.8",
                                         "hybrid,static=0.3,chunk=4",
                                         "half",
                                         "tasklets,static=0.5,count=16",
                                         "tasklets,static=0,count=24,sizes=skewed",
                                         "tasklets,static=0.5,count=64,tags=off,queues=2",
                                         "weighted",
                                         "weighted-tasklets",
                                         "staggered,0.5",
                                         "staggered,0,chunk=2",
                                         "staggered,0.9,keep=0.5,ends=clip",
                                         "staggered,0.25,keep=1",
                                         "static-hybrid",
                                         "slack",
                                         "combo"};

class schedule_of : public ::testing::TestWithParam<std::string> {};

TEST_P(schedule_of, runs_every_iteration_once) {
  std::mt19937 random(1);
  loops::loop_record record;
  for (int round = 0; round < 300; ++round) {
    const std::uint32_t count = std::array<std::uint32_t, 8>{0, 1, 2, 3, 5, 100, 1001, 20000}[random() % 8];
    loop_options options(GetParam());
    options.record = round % 3 == 0 ? nullptr : &record;
    std::vector<std::uint32_t> runs(count, 0);
    std::vector<std::uint32_t> expected(count);
    const auto factor = static_cast<std::uint32_t>(random() % 1000 + 1);
    for (std::uint32_t i = 0; i < count; ++i) expected[i] = i * factor + 1;
    parallel_for(
        count, [&](std::uint32_t i) { runs[i] += i * factor + 1; }, options);
    ASSERT_EQ(runs, expected) << count << " iterations";
  }
}

TEST_P(schedule_of, nested_in_itself) {
  for (int round = 0; round < 20; ++round) {
    std::vector<std::vector<int>> runs(13, std::vector<int>(37, 0));
    parallel_for(
        13,
        [&](int i) {
          parallel_for(
              37, [&](int j) { ++runs[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)]; },
              loop_options(GetParam()));
        },
        loop_options(GetParam()));
    for (const auto& row : runs) ASSERT_THAT(row, Each(1));
  }
}

INSTANTIATE_TEST_SUITE_P(all, schedule_of, ::testing::ValuesIn(schedules), [](const auto& each) {
  std::string name;
  for (const char c : each.param) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
});

// Ranges of every integer type and either direction, against the loop that a serial program would run.
template <class Index>
class any_integer : public ::testing::Test {};
using integers =
    ::testing::Types<signed char, unsigned char, short, unsigned short, int, unsigned, long, unsigned long>;
TYPED_TEST_SUITE(any_integer, integers);

TYPED_TEST(any_integer, range_equals_a_serial_loop) {
  using limits = std::numeric_limits<TypeParam>;
  std::mt19937_64 random(7);
  for (int round = 0; round < 400; ++round) {
    const auto first = static_cast<TypeParam>(random());
    std::int64_t step = static_cast<std::int64_t>(random() % 9) + 1;
    if (random() % 2 == 0) step = -step;
    const std::int64_t length = static_cast<std::int64_t>(random() % 300);
    TypeParam last =
        step > 0 ? (first > limits::max() - std::min<TypeParam>(limits::max(), static_cast<TypeParam>(length % 100))
                        ? limits::max()
                        : static_cast<TypeParam>(first + static_cast<TypeParam>(length % 100)))
                 : (first < limits::min() + static_cast<TypeParam>(length % 100)
                        ? limits::min()
                        : static_cast<TypeParam>(first - static_cast<TypeParam>(length % 100)));
    std::vector<TypeParam> expected;
    if (step > 0)
      for (__int128 i = first; i < last; i += step) expected.push_back(static_cast<TypeParam>(i));
    else
      for (__int128 i = first; i > last; i += step) expected.push_back(static_cast<TypeParam>(i));
    const auto over = range(first, last, step);
    ASSERT_EQ(over.count(), expected.size());
    std::vector<TypeParam> seen(expected.size());
    std::atomic<std::size_t> at{0};
    parallel_for(
        over, [&](TypeParam i) { seen[at.fetch_add(1)] = i; }, "dynamic,3");
    std::sort(seen.begin(), seen.end());
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(seen, expected);
  }
}

TEST(range, extremes_of_64_bits) {
  const auto all = range<std::uint64_t>(0, ~std::uint64_t{0});
  EXPECT_EQ(all.count(), ~std::uint64_t{0});
  const auto down =
      range<std::int64_t>(std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min(),
                          std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(down.count(), 2u);
  EXPECT_EQ(down.at(1), -1);
  EXPECT_THROW((void)range(0, 1, 0), std::invalid_argument);
  // More iterations than claim numbers: chunks of several. The body sees them in big chunks.
  std::atomic<std::uint64_t> covered{0};
  parallel_for(range<std::uint64_t>(5, (std::uint64_t{1} << 40) + 9),
               [&](const loop_chunk<std::uint64_t>& chunk) { covered += chunk.size(); });
  EXPECT_EQ(covered.load(), (std::uint64_t{1} << 40) + 4);
}

TEST(body, by_chunk_and_by_participant) {
  const int participants = loop_participants();
  ASSERT_GE(participants, 2);
  std::vector<std::atomic<int>> inside(static_cast<std::size_t>(participants));
  std::vector<int> runs(5000, 0);
  parallel_for(
      range(0, 5000, 1),
      [&](const loop_chunk<int>& chunk) {
        EXPECT_EQ(inside[static_cast<std::size_t>(chunk.participant())].fetch_add(1), 0)
            << "one at a time in each place";
        for (const int i : chunk) ++runs[static_cast<std::size_t>(i)];
        inside[static_cast<std::size_t>(chunk.participant())].fetch_sub(1);
      },
      "dynamic,16");
  EXPECT_THAT(runs, Each(1));
  // Nobody goes on before all have come: what somebody absent owns, the poster runs after some milliseconds.
  std::vector<std::atomic<int>> of(static_cast<std::size_t>(participants));
  std::atomic<int> came{0};
  parallel_for(
      1000,
      [&](int, int participant) {
        if (of[static_cast<std::size_t>(participant)].fetch_add(1) == 0) ++came;
        while (came < participants) std::this_thread::yield();
      },
      "static");
  EXPECT_THAT(std::vector<int>(of.begin(), of.end()), Each(1000 / participants)) << "static: everybody has a block";
}

TEST(tiles, cover_a_box_once) {
  std::vector<int> runs(7 * 11 * 5, 0);
  parallel_for(tiles({7, 11, 5}, {2, 4, 5}), [&](std::int64_t i, std::int64_t j, std::int64_t k) {
    ++runs[static_cast<std::size_t>((i * 11 + j) * 5 + k)];
  });
  EXPECT_THAT(runs, Each(1));
  std::vector<int> plane(30 * 40, 0);
  parallel_for(tiles({30, 40}, {8, 16}), [&](const std::array<loop_range<std::int64_t>, 2>& part) {
    EXPECT_LE(part[0].count(), 8u);
    EXPECT_LE(part[1].count(), 16u);
    for (std::int64_t i = part[0].first; i < part[0].last; ++i)
      for (std::int64_t j = part[1].first; j < part[1].last; ++j) ++plane[static_cast<std::size_t>(i * 40 + j)];
  });
  EXPECT_THAT(plane, Each(1));
  EXPECT_THROW((void)tiles({3}, {0}), std::invalid_argument);
}

TEST(reduction, of_any_type) {
  EXPECT_EQ(parallel_reduce(
                1000, 5l, [](int i) { return static_cast<long>(i); }, std::plus<>()),
            5 + 499500);
  EXPECT_EQ(parallel_reduce(
                0, 5, [](int i) { return i; }, std::plus<>()),
            5);
  const std::string text = parallel_reduce(
      26, std::string(), [](int i) { return std::string(1, static_cast<char>('a' + i)); },
      [](std::string a, const std::string& b) { return a + b; }, {}, combination_order::reproducible);
  EXPECT_EQ(text, "abcdefghijklmnopqrstuvwxyz") << "in the order of the indices, so it need not be commutative";
}

// Under every schedule, chunk by chunk, with any step, and over tiles: the result of a loop from left to right.
TEST(reduction, needs_an_associative_operation_only) {
  const auto text_of = [](int i) { return std::to_string(i) + ","; };
  const auto concatenate = [](std::string a, const std::string& b) { return a + b; };
  std::string in_order = "start:";
  for (int i = 0; i < 3000; ++i) in_order += text_of(i);
  for (const std::string& schedule : schedules) {
    for (int round = 0; round < 5; ++round)
      EXPECT_EQ(parallel_reduce(3000, std::string("start:"), text_of, concatenate, schedule.c_str()), in_order)
          << schedule;
  }
  std::string downwards;
  for (int i = 1000; i > 0; i -= 3) downwards += text_of(i);
  EXPECT_EQ(parallel_reduce(range(1000, 0, -3), std::string(), text_of, concatenate, "dynamic,1"), downwards);

  // Products of matrices with whole numbers modulo a prime: exact, and no two of them commute.
  using matrix = std::array<std::uint64_t, 4>;
  const auto matrix_of = [](int i) {
    const auto number = static_cast<std::uint64_t>(i);
    return matrix{number % 7 + 1, number % 11, number % 5, number % 13 + 1};
  };
  const auto product = [](const matrix& a, const matrix& b) {
    constexpr std::uint64_t prime = 1'000'003;
    return matrix{(a[0] * b[0] + a[1] * b[2]) % prime, (a[0] * b[1] + a[1] * b[3]) % prime,
                  (a[2] * b[0] + a[3] * b[2]) % prime, (a[2] * b[1] + a[3] * b[3]) % prime};
  };
  matrix expected{2, 1, 0, 1};
  for (int i = 0; i < 20000; ++i) expected = product(expected, matrix_of(i));
  for (const std::string& schedule : schedules)
    EXPECT_EQ(parallel_reduce(20000, matrix{2, 1, 0, 1}, matrix_of, product, schedule.c_str()), expected) << schedule;
}

TEST(reduction, reproducible_has_the_same_bits_whatever_the_schedule) {
  const auto value = [](int i) { return 1.0 / (1.0 + i * 0.37); };
  const double once = parallel_reduce(100000, 0.0, value, std::plus<>(), "static", combination_order::reproducible);
  for (const char* schedule : {"automatic", "dynamic", "staggered,0.2", "guided"})
    for (int round = 0; round < 5; ++round)
      EXPECT_EQ(parallel_reduce(100000, 0.0, value, std::plus<>(), schedule, combination_order::reproducible), once);
}

TEST(scan, equals_a_serial_one) {
  for (const int count : {0, 1, 2, 255, 256, 257, 10000}) {
    std::vector<long> sums(static_cast<std::size_t>(count)), expected(static_cast<std::size_t>(count));
    long sum = 3;
    for (int i = 0; i < count; ++i) expected[static_cast<std::size_t>(i)] = sum += i * 7 % 11;
    const long last = parallel_scan(
        count, 3l, [](int i) { return static_cast<long>(i * 7 % 11); }, std::plus<>(),
        [&](int i, long value) { sums[static_cast<std::size_t>(i)] = value; });
    EXPECT_EQ(sums, expected);
    EXPECT_EQ(last, sum);
  }
}

// The rest is left out: all threads but the one that runs the first iteration wait in one of theirs until that has
// thrown and its exception has been noted.
TEST(failure, the_first_exception_reaches_the_caller_and_the_rest_is_left_out) {
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> ran{0};
    was_caught = false;
    try {
      parallel_for(
          1000,
          [&](int i) {
            ran.fetch_add(1);
            if (i == 0) {
              has_thrown = true;
              throw std::runtime_error("iteration " + std::to_string(i));
            }
            while (!was_caught) std::this_thread::yield();
            if (ran > 500) throw std::runtime_error("too late");
          },
          "dynamic,1");
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "iteration 0");
    }
    EXPECT_LT(ran.load(), 500);
    parallel_for(10, [&](int) {});  // the team goes on
  }
  EXPECT_THROW(parallel_for(
                   10, [](int) {}, "statik"),
               std::invalid_argument);
}

TEST(started, goes_on_while_the_caller_does_something_else) {
  std::vector<int> runs(3000, 0);
  {
    loop_handle first = start_for(1000, [&](int i) { ++runs[static_cast<std::size_t>(i)]; });
    loop_handle second = start_for(
        range(1000, 2000), [&](int i) { ++runs[static_cast<std::size_t>(i)]; }, "dynamic");
    loop_handle third = start_for(range(2000, 3000), [&](int i) { ++runs[static_cast<std::size_t>(i)]; });
    second.wait();
    EXPECT_TRUE(second.finished());
    second.wait();
    // The others end with their handles.
  }
  EXPECT_THAT(runs, Each(1));
  std::vector<loop_handle> many;
  std::atomic<int> count{0};
  for (int i = 0; i < 20; ++i) many.push_back(start_for(50, [&](int) { count.fetch_add(1); }));
  for (auto& each : many) each.wait();
  EXPECT_EQ(count.load(), 1000);
  loop_handle failing = start_for(5, [](int) { throw std::runtime_error("no"); });
  EXPECT_THROW(failing.wait(), std::runtime_error);
  loop_handle elsewhere = start_for(50, [](int) {});
  std::thread([&] { EXPECT_THROW(elsewhere.wait(), std::logic_error); }).join();
}

// M36: loops of several threads at once; more threads than places for guests.
TEST(threads, run_loops_at_the_same_time) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int number = 0; number < 20; ++number)
    threads.emplace_back([&wrong, number] {
      std::mt19937 random(static_cast<unsigned>(number));
      for (int round = 0; round < 100; ++round) {
        std::vector<int> runs(random() % 500, 0);
        parallel_for(
            runs.size(), [&](std::size_t i) { ++runs[i]; }, loop_options(schedules[random() % schedules.size()]));
        for (const int each : runs) wrong += each != 1;
      }
    });
  for (auto& each : threads) each.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(fork, a_child_starts_a_team_of_its_own) {
  if (os::under_thread_sanitizer) GTEST_SKIP() << "the sanitizer starts no threads in a child of threads";
  parallel_for(100, [](int) {});
  const pid_t child = os::start_function([] {
    std::atomic<int> ran{0};
    parallel_for(
        1000, [&](int) { ran.fetch_add(1); }, "dynamic");
    return ran.load() == 1000 ? 0 : 1;
  });
  EXPECT_EQ(os::wait_for(child), 0);
  parallel_for(100, [](int) {});
}

// After a pause the workers sleep, and the next loop does not wait for them.
TEST(sleep, loops_after_a_pause) {
  for (int round = 0; round < 10; ++round) {
    while (!testing::other_threads_sleep()) usleep(200);
    std::vector<int> runs(1000, 0);
    parallel_for(
        1000, [&](int i) { ++runs[static_cast<std::size_t>(i)]; }, round % 2 == 0 ? "static" : "automatic");
    ASSERT_THAT(runs, Each(1));
  }
}

}  // namespace
}  // namespace tri
