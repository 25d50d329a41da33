// Random interleavings of scopes that are too large to exhaust, each from its seed, every size of memory in turn.
// TRIREME_FLOW_INTERLEAVINGS sets how many per program (millions take minutes).
#include <gmock/gmock.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "explore/explorer.hpp"
#include "programs.hpp"

namespace tri::flow {
namespace {

std::uint64_t interleavings() {
  const char* const wanted = std::getenv("TRIREME_FLOW_INTERLEAVINGS");
  if (wanted != nullptr) return std::stoull(wanted);
  return 100'000;
}

class random_interleavings : public testing::TestWithParam<program> {};

TEST_P(random_interleavings, end_with_everything_received_in_order) {
  const std::uint64_t count = interleavings();
  constexpr std::uint64_t records[] = {0, 1, 2, 3, 4, 6, 9, 100};
  constexpr std::size_t windows[] = {1, 2, 5, 15};
  std::uint64_t messages = 0;
  std::uint64_t requests = 0;
  std::uint64_t restarts = 0;
  std::uint64_t stale = 0;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    scope what = make_scope(GetParam(), 2 + seed % 3, 3 + seed / 3 % 3, records[seed / 9 % 8] * record_bytes,
                            windows[seed / 72 % 4], seed / 5 % 3);
    what.answers = 1 + seed / 7 % 4;
    constexpr restart_pace paces[] = {restart_pace::as_served, restart_pace::all_at_once, restart_pace::by_name};
    what.pace = paces[seed / 2 % 3];
    what.used_by_others = seed / 11 % 2 * what.memory / 2;
    flow_world<> world(what);
    const auto result = explore::explore_random(world, seed, 100'000);
    ASSERT_EQ(result.failure(), "");
    messages += world.messages();
    requests += world.receiving_side().count().requests;
    restarts += world.receiving_side().count().restarts;
    stale += world.receiving_side().count().stale;
  }
  EXPECT_GT(restarts, count) << "the scopes are those where memory runs out";
  EXPECT_GT(stale, count / 10) << "and where restarts meet requests under way";
  EXPECT_LT(requests, 4 * messages);
  std::printf("%llu interleavings, %.2f requests and %.2f restarts per message\n",
              static_cast<unsigned long long>(count), static_cast<double>(requests) / static_cast<double>(messages),
              static_cast<double>(restarts) / static_cast<double>(messages));
}

INSTANTIATE_TEST_SUITE_P(flow, random_interleavings, testing::ValuesIn(all_programs),
                         [](const auto& one) { return name_of(one.param); });

// The same with credits: any plan at any time, a pool for a few messages.
TEST_P(random_interleavings, with_credits_stay_in_their_pool) {
  const std::uint64_t count = interleavings() / 4;
  constexpr std::uint64_t records[] = {0, 1, 2, 4, 100};
  std::uint64_t messages = 0;
  std::uint64_t paid = 0;
  std::uint64_t requests = 0;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    const std::size_t senders = 1 + seed % 3;
    scope what = make_scope(GetParam(), senders, 3 + seed / 3 % 4, records[seed / 9 % 5] * record_bytes,
                            1 + seed / 45 % 4, seed / 5 % 3);
    what.answers = 1 + seed / 7 % 4;
    what.credits = 128 * (seed / 11 % 12);
    if (seed / 13 % 2 == 0) what.pace = restart_pace::by_name;
    for (std::size_t plan = 0; plan < 4; ++plan) {
      auto& expected = what.plans.emplace_back();
      for (std::size_t i = 0; i <= (seed + plan) % 4; ++i)
        expected.push_back(
            {static_cast<std::uint32_t>((seed / 2 + i * plan) % senders), credit_cost((i + plan) % 3 * record_bytes)});
    }
    what.most_plans = 6;
    flow_world<> world(what);
    ASSERT_EQ(explore::explore_random(world, seed, 100'000).failure(), "") << "seed " << seed;
    messages += world.messages();
    requests += world.receiving_side().count().requests;
    paid += world.paid();
  }
  EXPECT_GT(paid, messages / 8) << "or little was shown";
  EXPECT_LT(requests, 4 * messages);
}

// Tags at random, receives with and without wildcards: what a receive gets is checked against the order of sending.
TEST(random_programs, receive_in_the_order_of_sending) {
  const std::uint64_t count = interleavings();
  constexpr std::uint64_t records[] = {0, 1, 2, 3, 4};
  constexpr std::size_t windows[] = {1, 3, 100};
  std::uint64_t restarts = 0;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    scope what = make_random_scope(seed, 1 + seed % 4, 1 + seed / 4 % 6, records[seed % 5] * record_bytes,
                                   windows[seed / 5 % 3]);
    if (seed / 15 % 2 == 0) what.pace = restart_pace::by_name;
    flow_world<> world(what);
    ASSERT_EQ(explore::explore_random(world, seed, 100'000).failure(), "");
    restarts += world.receiving_side().count().restarts;
  }
  EXPECT_GT(restarts, count);
}

}  // namespace
}  // namespace tri::flow
