// Refinement by communication (Mei 2012, Algorithm 1, repaired).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "balance/traffic_graph.hpp"
#include "small_snapshots.hpp"
#include "trireme/balance_strategy.hpp"

namespace tri::balancing {
namespace {

// Two hosts with one PE each.
snapshot two_hosts(const std::vector<std::vector<std::int64_t>>& loads) {
  snapshot made = one_host(loads);
  for (std::size_t pe = 0; pe < made.pes.size(); ++pe)
    made.pes[pe].host = static_cast<std::int32_t>(2 * pe / made.pes.size());
  return made;
}

std::vector<double> sorted_times(const snapshot& of, const std::vector<move>& moves) {
  std::vector<double> times = times_of(of, moves);
  std::sort(times.begin(), times.end());
  return times;
}

TEST(communication, unites_two_cliques_that_were_split) {
  snapshot of = two_hosts({{10, 12, 9}, {10, 12, 11}});
  of.traffic = {{0, 3, 100, 800}, {1, 4, 100, 800}};  // 0 with 3, 1 with 4; 0 and 1 are on host 0
  const outcome done = balance(of, find_strategy("communication"));
  EXPECT_EQ(done.before.messages_between_hosts, 200);
  EXPECT_EQ(done.after.messages_between_hosts, 0);
  EXPECT_EQ(done.moves.size(), 2u) << "one exchange";
  for (const double time : times_of(of, done.moves)) {
    EXPECT_GE(time, 31.0);
    EXPECT_LE(time, 33.0);
  }
}

TEST(communication, cliques_stay_apart_where_loads_would_leave_their_range) {
  snapshot of = two_hosts({{1, 100}, {1, 100}});
  of.traffic = {{0, 3, 50, 1},
                {1, 2, 50, 1}};  // a small one with a large one each: exchanging the small ones is enough
  outcome done = balance(of, find_strategy("communication"));
  EXPECT_EQ(done.after.messages_between_hosts, 0);
  EXPECT_EQ(sorted_times(of, done.moves), (std::vector<double>{101.0, 101.0}));
  of = two_hosts({{40, 60}, {50, 50}});
  of.traffic = {{0, 2, 50, 1}};  // together they would be 90 and 110, or with 60 for 50
  done = balance(of, find_strategy("communication"));
  EXPECT_DOUBLE_EQ(done.after.longest_ns, 100.0);
}

TEST(communication, partners_are_judged_by_all_their_messages) {
  // 0 talks to 3 on the other host. Of those it could change places with, 2 has friends there, and 4 has one here.
  snapshot of = two_hosts({{10, 10}, {10, 10, 10}});
  of.pes[0].background_ns = 10;
  of.traffic = {{0, 3, 20, 1}, {2, 3, 30, 1}, {1, 4, 10, 1}};
  const outcome done = balance(of, find_strategy("communication"));
  EXPECT_EQ(done.moves, (std::vector<move>{{0, 0, 1}, {4, 1, 0}}));
  EXPECT_EQ(done.after.messages_between_hosts, 0);
}

TEST(communication, objects_that_cannot_migrate_are_no_partners) {
  snapshot of = two_hosts({{10, 10}, {10, 10}});
  of.traffic = {{0, 2, 100, 800}, {1, 3, 100, 800}};
  for (object_load& each : of.objects) each.is_migratable = false;
  EXPECT_TRUE(balance(of, find_strategy("communication")).moves.empty());
  of.objects[0].is_migratable = of.objects[3].is_migratable = true;
  EXPECT_EQ(balance(of, find_strategy("communication")).after.messages_between_hosts, 0);
}

// Each step removes messages between hosts, so their number never grows.
TEST(communication, messages_between_hosts_never_grow) {
  std::int64_t before = 0, after = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const outcome done = balance(drawn_snapshot(seed), find_strategy("communication"));
    ASSERT_LE(done.after.messages_between_hosts, done.before.messages_between_hosts) << seed;
    before += done.before.messages_between_hosts;
    after += done.after.messages_between_hosts;
  }
  EXPECT_LT(after, 3 * before / 4);
}

TEST(traffic_graph, adds_both_directions_and_leaves_out_own_messages) {
  snapshot of = one_host({{1, 1, 1}});
  of.traffic = {{0, 1, 3, 1}, {1, 0, 4, 1}, {2, 2, 9, 1}, {2, 0, 0, 0}, {0, 1, 1, 0}};
  const traffic_graph graph(of);
  ASSERT_EQ(graph.partners_of(0).size(), 1u);
  EXPECT_EQ(graph.partners_of(0)[0].object, 1u);
  EXPECT_DOUBLE_EQ(graph.partners_of(0)[0].weight, 8.0);
  EXPECT_DOUBLE_EQ(graph.partners_of(1)[0].weight, 8.0);
  EXPECT_TRUE(graph.partners_of(2).empty());
  EXPECT_EQ(graph.ends(), 2u);
}

}  // namespace
}  // namespace tri::balancing
