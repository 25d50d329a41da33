// What holds for every strategy, and cases whose optimum is known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "balance/made_snapshot.hpp"
#include "balance/strategies/metis.hpp"
#include "small_snapshots.hpp"
#include "trireme/balance_strategy.hpp"

namespace tri::balancing {
namespace {

bool can_run(const strategy& by) { return by.name != "partition" || *why_no_metis() == '\0'; }

// These reach the property by themselves: nothing was dropped.
bool never_lengthens(const std::string& name) {
  return name != "greedy" && name != "curve" && name != "bisection" && name != "partition" && name != "topology";
}

TEST(all_strategies, never_lengthen_the_makespan_nor_move_what_stays) {
  for (const strategy& by : all_strategies()) {
    if (!can_run(by)) continue;
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
      const snapshot of = drawn_snapshot(seed);
      const outcome done = balance(of, by, {.seed = seed});  // checks the moves
      ASSERT_LE(done.after.longest_ns, done.before.longest_ns) << by.name << ", seed " << seed;
      ASSERT_GE(done.after.longest_ns, done.after.level_ns * (1 - 1e-12)) << by.name << ", seed " << seed;
      if (never_lengthens(by.name)) {
        ASSERT_FALSE(done.is_refused) << by.name << ", seed " << seed;
      }
    }
  }
}

TEST(all_strategies, the_seed_decides_and_nothing_else) {
  for (const strategy& by : all_strategies()) {
    if (!can_run(by)) continue;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      const snapshot of = drawn_snapshot(seed);
      ASSERT_EQ(balance(of, by, {.seed = seed}).moves, balance(of, by, {.seed = seed}).moves) << by.name;
    }
  }
}

TEST(all_strategies, nothing_to_do_is_done) {
  snapshot alone = one_host({{5, 6}});
  snapshot empty = one_host({{}, {}});
  snapshot fixed = one_host({{5, 6}, {}});
  for (snapshot* of : {&alone, &empty, &fixed}) {
    of->dimensions = 1;
    of->coordinates.assign(of->objects.size(), 0.0);
    of->counters = {"misses"};
    of->counter_values.assign(of->objects.size(), 1.0);
  }
  for (object_load& each : fixed.objects) each.is_migratable = false;
  for (const strategy& by : all_strategies()) {
    if (!can_run(by)) continue;
    for (const snapshot* of : {&alone, &empty, &fixed}) EXPECT_TRUE(balance(*of, by).moves.empty()) << by.name;
  }
}

// 64 equal objects on one of 8 PEs, in a row: all that balance times divide them evenly.
TEST(all_strategies, equal_objects_are_divided_evenly) {
  for (const int hosts : {1, 4}) {
    snapshot of = one_host({std::vector<std::int64_t>(64, 1000), {}, {}, {}, {}, {}, {}, {}});
    for (std::size_t pe = 0; pe < 8; ++pe) of.pes[pe].host = static_cast<std::int32_t>(pe) * hosts / 8;
    of.dimensions = 1;
    for (std::uint32_t i = 0; i < 64; ++i) {
      of.coordinates.push_back(i);
      if (i > 0) of.traffic.push_back({i - 1, i, 10, 10});
    }
    of.counters = {"misses"};
    of.counter_values.assign(64, 1.0);
    for (const strategy& by : all_strategies()) {
      if (!can_run(by) || by.name == "communication" || by.name == "contention") continue;
      const outcome done = balance(of, by);
      if (by.name == "partition" || by.name == "gossip")  // METIS is a heuristic, and gossip draws
        EXPECT_LE(done.after.longest_ns, 9000.0) << by.name << ", " << hosts << " hosts";
      else
        EXPECT_DOUBLE_EQ(done.after.longest_ns, 8000.0) << by.name << ", " << hosts << " hosts";
    }
  }
}

TEST(greedy, puts_the_largest_first) {
  // Graham's example: 5 5 4 4 3 3 3 on three PEs. Largest first ends at 11, the optimum is 9.
  const outcome done = balance(one_host({{5, 5, 4, 4, 3, 3, 3}, {}, {}}), find_strategy("greedy"));
  EXPECT_DOUBLE_EQ(done.after.longest_ns, 11.0);
  EXPECT_DOUBLE_EQ(balance(one_host({{7, 6, 5, 4, 3, 2, 1}, {}}), find_strategy("greedy")).after.longest_ns, 14.0);
}

TEST(greedy, objects_stay_where_they_do_as_well) {
  EXPECT_TRUE(balance(one_host({{4}, {4}, {4}}), find_strategy("greedy")).moves.empty());
}

// Mei's section 7.6: two PEs are 1.4 times as fast, so the heaviest of 14 objects belong there.
TEST(greedy, the_heaviest_objects_go_to_the_fastest_pes) {
  std::vector<std::vector<std::int64_t>> loads(14, std::vector<std::int64_t>{1000});
  loads[0] = loads[7] = {1400};
  snapshot of = one_host(loads);
  of.pes[3].speed = of.pes[10].speed = 1.4;
  of.objects[3].load_ns = of.objects[10].load_ns = 714;  // 1000 on a usual PE
  const outcome done = balance(of, find_strategy("greedy"));
  EXPECT_DOUBLE_EQ(done.before.longest_ns, 1400.0);
  EXPECT_NEAR(done.after.longest_ns, 1000.0, 1.0);
  std::vector<std::int32_t> fast;
  for (const move& each : done.moves)
    if (each.object == 0 || each.object == 7) fast.push_back(each.to);
  std::sort(fast.begin(), fast.end());
  EXPECT_THAT(fast, ::testing::ElementsAre(3, 10));
}

TEST(refine, moves_few) {
  const outcome done =
      balance(one_host({{10, 10, 10, 10, 10}, {10, 10, 10}, {10, 10, 10, 10}}), find_strategy("refine"));
  EXPECT_EQ(done.moves.size(), 1u);
  EXPECT_DOUBLE_EQ(done.after.longest_ns, 40.0);
}

TEST(refine, exchanges_where_no_single_object_fits) {
  const outcome done = balance(one_host({{8, 6}, {5, 3}}), find_strategy("refine"));
  EXPECT_DOUBLE_EQ(done.after.longest_ns, 11.0);
  EXPECT_EQ(done.moves.size(), 2u);
}

TEST(refine, the_tolerance_leaves_alone_what_is_nearly_even) {
  const snapshot of = one_host({{10, 10, 10, 10, 10, 11}, {10, 10, 10, 10, 9, 10}});
  EXPECT_TRUE(balance(of, find_strategy("refine"), {.tolerance = 0.05}).moves.empty());
  EXPECT_FALSE(balance(of, find_strategy("refine"), {.tolerance = 0.0}).moves.empty());
}

TEST(all_strategies, many_objects_come_near_the_level) {
  const snapshot of = make_snapshot(wish_from("random,objects=4000,pes=64,hosts=8,numa=2,speeds=0.3,seed=2"));
  for (const char* name : {"greedy", "refine", "topology", "gossip", "hierarchy"}) {
    const outcome done = balance(of, find_strategy(name));
    EXPECT_GT(done.before.longest_ns, 1.2 * done.before.level_ns) << name;
    EXPECT_LT(done.after.longest_ns, 1.06 * done.after.level_ns) << name;
  }
}

}  // namespace
}  // namespace tri::balancing
