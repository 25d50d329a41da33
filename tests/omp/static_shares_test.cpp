// Static loops by weights: shares that stay for a region, and weights that change between regions. Exact, in ticks that
// the tests make up; and on threads that ask all at once.
#include "omp/static_shares.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tri::omp {
namespace {

using testing::ElementsAre;

std::vector<std::uint64_t> parts(static_share* share, std::uint32_t threads) {
  std::vector<std::uint64_t> counts;
  for (std::uint32_t thread = 0; thread < threads; ++thread) {
    EXPECT_EQ(share->first_of(thread), thread == 0 ? 0 : share->last_of(thread - 1));
    counts.push_back(share->last_of(thread) - share->first_of(thread));
  }
  return counts;
}

TEST(static_shares, begin_equal_and_follow_the_speed_from_region_to_region) {
  static_memory memory(2);
  static_shares shares;
  for (int region = 0; region < 10; ++region) {
    static_share* const share = shares.of(3000, 2, [&] { return &memory; });
    if (region == 0) {
      EXPECT_THAT(parts(share, 2), ElementsAre(1500, 1500));
    }
    share->took(0, 2 * parts(share, 2)[0]);  // twice as slow
    share->took(1, parts(share, 2)[1]);
    shares.end();
  }
  EXPECT_THAT(parts(shares.of(3000, 2, [&] { return &memory; }), 2), ElementsAre(1000, 2000));
  EXPECT_EQ(memory.text(), "0.67 1.33");
}

TEST(static_shares, loops_of_equal_length_agree_within_a_region_whatever_is_measured) {
  static_memory memory(2);
  static_shares shares;
  static_share* const first = shares.of(100, 2, [&] { return &memory; });
  first->took(0, 1000);
  first->took(1, 10);
  int asked = 0;
  static_share* const second = shares.of(100, 2, [&] {
    ++asked;
    return &memory;
  });
  EXPECT_EQ(second, first);
  EXPECT_EQ(asked, 0);
  EXPECT_THAT(parts(second, 2), ElementsAre(50, 50));
  shares.end();
  EXPECT_LT(parts(shares.of(100, 2, [&] { return &memory; }), 2)[0], 50u);
}

TEST(static_shares, times_of_all_loops_of_that_length_count) {
  static_memory memory(2);
  static_shares shares;
  static_share* const share = shares.of(100, 2, [&] { return &memory; });
  for (const std::uint64_t ticks : {100u, 200u}) {  // the second loop is dearer, on both threads
    share->took(0, ticks * 3);
    share->took(1, ticks);
  }
  shares.end();
  EXPECT_THAT(parts(shares.of(100, 2, [&] { return &memory; }), 2), ElementsAre(25, 75));
}

TEST(static_shares, beyond_their_capacity_there_are_none) {
  static_shares shares;
  const auto none = [] { return nullptr; };
  for (std::uint64_t items = 1; items <= static_shares::capacity; ++items)
    EXPECT_NE(shares.of(items, 3, none), nullptr);
  EXPECT_EQ(shares.of(static_shares::capacity + 1, 3, none), nullptr);
  EXPECT_EQ(shares.of(static_shares::capacity + 1, 3, none), nullptr) << "in this region on every thread alike";
  EXPECT_NE(shares.of(static_shares::capacity, 3, none), nullptr);
  shares.end();
  EXPECT_THAT(parts(shares.of(static_shares::capacity + 1, 3, none), 3), ElementsAre(3, 3, 3));
}

TEST(static_shares, threads_that_come_at_once_get_the_same) {
  constexpr std::uint32_t threads = 4;
  static_memory memory(threads);
  for (int round = 0; round < 100; ++round) {
    static_shares shares;
    std::atomic<std::uint32_t> ready{0};
    std::atomic<int> asked{0};
    std::vector<std::vector<static_share*>> got(threads);
    std::vector<std::thread> team;
    for (std::uint32_t number = 0; number < threads; ++number) {
      team.emplace_back([&, number] {
        ready.fetch_add(1);
        while (ready.load() < threads) std::this_thread::yield();
        for (std::uint64_t loop = 0; loop < 12; ++loop) {
          const std::uint64_t items = 1 + (loop + number) % 12;  // not even in the same order
          static_share* const share = shares.of(items, threads, [&] {
            asked.fetch_add(1);
            return &memory;
          });
          if (share == nullptr) continue;
          EXPECT_EQ(share->last_of(threads - 1), items);
          share->took(number, 5);
        }
      });
    }
    for (std::thread& each : team) each.join();
    EXPECT_EQ(asked.load(), static_cast<int>(static_shares::capacity));
    shares.end();
  }
}

}  // namespace
}  // namespace tri::omp
