// The sender's rules as they are printed lose restarts and break the order; the exploration finds both. Should this
// test fail, the exploration has become blind.
#include <gmock/gmock.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "explore/explorer.hpp"
#include "literal_sender.hpp"
#include "programs.hpp"

namespace tri::flow {
namespace {

using testing::HasSubstr;

// The receiver is at the thesis' pace here, so that nothing but the sender differs from the printed protocol.
scope scope_of_the_thesis(program which, std::size_t senders, std::size_t messages, std::uint64_t memory,
                          std::size_t window) {
  scope what = make_scope(which, senders, messages, memory, window);
  what.pace = restart_pace::all_at_once;
  return what;
}

class literal_rules : public testing::TestWithParam<program> {};

TEST_P(literal_rules, deadlock_where_the_reference_rules_do_not) {
  for (const std::uint64_t records : {0U, 1U, 2U}) {
    scope what = scope_of_the_thesis(GetParam(), 2, 2, records * record_bytes, 4);
    what.late_data = what.late_packets = false;
    EXPECT_THAT(explore::explore_all(flow_world<literal_sender>(what), 1'000'000).failure(), HasSubstr("deadlock"))
        << "records " << records;
    EXPECT_EQ(explore::explore_all(flow_world<sender>(what), 1'000'000).failure(), "") << "records " << records;
  }
}

TEST_P(literal_rules, do_nothing_wrong_while_memory_suffices) {
  scope what = scope_of_the_thesis(GetParam(), 2, 2, 100 * record_bytes, 4);
  what.late_data = what.late_packets = false;
  const auto result = explore::explore_all(flow_world<literal_sender>(what), 1'000'000);
  EXPECT_EQ(result.failure(), "");
  EXPECT_TRUE(result.complete);
}

INSTANTIATE_TEST_SUITE_P(flow, literal_rules, testing::ValuesIn(all_programs),
                         [](const auto& one) { return name_of(one.param); });

TEST(literal_rules_at_random, deadlock_often_and_break_the_order_sometimes) {
  constexpr std::uint64_t records[] = {0, 1, 2, 4};
  constexpr std::size_t windows[] = {1, 2, 5};
  constexpr int runs = 3000;
  int deadlocks = 0;
  int orders_broken = 0;
  for (std::uint64_t seed = 0; seed < runs; ++seed) {
    const scope what =
        scope_of_the_thesis(program::by_source, 3, 5, records[seed % 4] * record_bytes, windows[seed / 4 % 3]);
    flow_world<literal_sender> world(what);
    const std::string failure = explore::explore_random(world, seed, 100'000).failure();
    if (failure.find("deadlock") != std::string::npos) ++deadlocks;
    if (failure.find("order broken") != std::string::npos) ++orders_broken;
  }
  EXPECT_GT(deadlocks, runs / 10);
  EXPECT_GT(orders_broken, 0);
  std::printf("of %d runs %d deadlock, %d break the order\n", runs, deadlocks, orders_broken);
}

}  // namespace
}  // namespace tri::flow
