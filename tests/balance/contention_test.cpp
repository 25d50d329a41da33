// Refinement by contention (Mei 2012, Algorithms 2 and 3, repaired).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <stdexcept>

#include "small_snapshots.hpp"
#include "trireme/balance_strategy.hpp"

namespace tri::balancing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// Sums of the counter by cache.
std::map<std::int32_t, double> sums_of(const snapshot& of, const std::vector<move>& moves) {
  std::vector<std::int32_t> pes;
  for (const object_load& each : of.objects) pes.push_back(each.pe);
  for (const move& each : moves) pes[each.object] = each.to;
  std::map<std::int32_t, double> sums;
  for (std::uint32_t i = 0; i < of.objects.size(); ++i)
    sums[of.pes[static_cast<std::size_t>(pes[i])].cache] += of.counter_of(i, 0);
  return sums;
}

// The measurements of Mei's Table 7.1: eight objects on eight PEs, two caches; four objects use theirs heavily.
snapshot table_7_1() {
  snapshot of = one_host({{4'540'000},
                          {4'500'000},
                          {4'500'000},
                          {4'540'000},  //
                          {3'190'000},
                          {3'190'000},
                          {3'190'000},
                          {3'190'000}});
  for (std::size_t pe = 4; pe < 8; ++pe) of.pes[pe].cache = 1;
  of.counters = {"PAPI_L3_DCA"};
  of.counter_values = {235'571, 237'809, 236'222, 235'608, 194, 181, 187, 175};
  return of;
}

TEST(contention, the_table_of_the_source_gives_exactly_two_exchanges) {
  const snapshot of = table_7_1();
  const outcome done = balance(of, find_strategy("contention"));
  EXPECT_EQ(done.moves, (std::vector<move>{{1, 1, 7}, {2, 2, 5}, {5, 5, 2}, {7, 7, 1}})) << "1 with 7 and 2 with 5";
  const auto sums = sums_of(of, done.moves);
  EXPECT_DOUBLE_EQ(sums.at(0), 471'535.0);
  EXPECT_DOUBLE_EQ(sums.at(1), 474'412.0);
  EXPECT_LE(done.after.longest_ns, done.before.longest_ns);
}

TEST(contention, time_comes_first) {
  snapshot of = table_7_1();
  // PEs 4 to 7 run short objects twice as fast; a heavy one there would leave the range of times, which is 3.19
  // to 4.54.
  for (std::size_t pe = 4; pe < 8; ++pe) of.pes[pe].speed = 0.5;
  for (std::size_t i = 4; i < 8; ++i) of.objects[i].load_ns = 3'190'000;
  EXPECT_TRUE(balance(of, find_strategy("contention")).moves.empty());
}

TEST(contention, more_than_two_groups_meet_in_pairs) {
  snapshot of = one_host({{10, 10}, {10, 10}, {10, 10}, {10, 10}});
  for (std::size_t pe = 0; pe < 4; ++pe) of.pes[pe].cache = static_cast<std::int32_t>(pe);
  of.counters = {"misses"};
  of.counter_values = {100, 100, 90, 10, 0, 0, 50, 50};
  const outcome done = balance(of, find_strategy("contention"));
  for (const auto& [cache, sum] : sums_of(of, done.moves)) EXPECT_NEAR(sum, 100.0, 5.0) << "cache " << cache;
  EXPECT_EQ(done.moves.size(), 2u);
}

TEST(contention, the_counter_is_chosen_by_name) {
  snapshot of = one_host({{10, 10}, {10, 10}});
  of.pes[1].cache = 1;
  of.counters = {"even", "odd"};
  of.counter_values = {1, 50, 1, 50, 1, 0, 1, 0};
  EXPECT_TRUE(balance(of, find_strategy("contention")).moves.empty());
  EXPECT_EQ(balance(of, find_strategy("contention"), {.counter = "odd"}).moves.size(), 2u);
  EXPECT_THAT([&] { balance(of, find_strategy("contention"), {.counter = "od"}); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("no counter 'od'; the snapshot has even, odd")));
}

TEST(contention, the_worst_group_never_gets_worse) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const snapshot of = drawn_snapshot(seed);
    const outcome done = balance(of, find_strategy("contention"), {.counter_tolerance = 0.0});
    std::map<std::pair<std::int32_t, std::int32_t>, double> before, after, pes;
    double all = 0.0;
    std::vector<std::int32_t> at;
    for (const object_load& each : of.objects) at.push_back(each.pe);
    const auto add = [&](auto& sums) {
      for (std::uint32_t i = 0; i < of.objects.size(); ++i) {
        const pe_load& pe = of.pes[static_cast<std::size_t>(at[i])];
        sums[{pe.host, pe.cache}] += of.counter_of(i, 0);
      }
    };
    add(before);
    for (const move& each : done.moves) at[each.object] = each.to;
    add(after);
    for (const pe_load& pe : of.pes) pes[{pe.host, pe.cache}] += 1.0;
    for (const auto& [group, sum] : before) all += sum;
    double worst_before = 0.0, worst_after = 0.0;
    for (const auto& [group, count] : pes) {
      const double share = all * count / static_cast<double>(of.pes.size());
      worst_before = std::max(worst_before, std::abs(before[group] - share));
      worst_after = std::max(worst_after, std::abs(after[group] - share));
    }
    ASSERT_LE(worst_after, worst_before * (1 + 1e-12)) << seed;
  }
}

}  // namespace
}  // namespace tri::balancing
