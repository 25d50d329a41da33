// Strategies for objects with places in space.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <random>
#include <set>

#include "balance/made_snapshot.hpp"
#include "balance/strategies/hilbert.hpp"
#include "small_snapshots.hpp"
#include "trireme/balance_strategy.hpp"

namespace tri::balancing {
namespace {

TEST(hilbert_curve, visits_each_cell_once_and_steps_to_neighbours) {
  for (const auto& [dimensions, bits] : {std::pair(1U, 5), std::pair(2U, 4), std::pair(3U, 3)}) {
    const std::uint32_t side = 1U << static_cast<unsigned>(bits);
    std::uint64_t cells = 1;
    for (std::uint32_t d = 0; d < dimensions; ++d) cells *= side;
    std::vector<std::array<std::uint32_t, 3>> at(cells);
    std::set<std::uint64_t> places;
    for (std::uint64_t number = 0; number < cells; ++number) {
      std::array<std::uint32_t, 3> cell{};
      std::uint64_t rest = number;
      for (std::uint32_t d = 0; d < dimensions; ++d, rest /= side) cell[d] = static_cast<std::uint32_t>(rest % side);
      const std::uint64_t place = place_of_cell(std::span(cell).first(dimensions), bits);
      ASSERT_LT(place, cells);
      ASSERT_TRUE(places.insert(place).second);
      at[place] = cell;
    }
    for (std::uint64_t place = 1; place < cells; ++place) {
      int steps = 0;
      for (std::size_t d = 0; d < 3; ++d)
        steps += std::abs(static_cast<int>(at[place][d]) - static_cast<int>(at[place - 1][d]));
      ASSERT_EQ(steps, 1) << dimensions << " dimensions, place " << place;
    }
  }
}

TEST(hilbert_curve, points_outside_count_as_the_nearest_inside) {
  EXPECT_EQ(place_on_hilbert_curve(std::array{-3.0, 0.5}), place_on_hilbert_curve(std::array{0.0, 0.5}));
  EXPECT_EQ(place_on_hilbert_curve(std::array{1.0, 7.0}), place_on_hilbert_curve(std::array{0.99999999, 0.99999999}));
}

snapshot on_a_line(const std::vector<std::int64_t>& loads, std::size_t pes) {
  std::vector<std::vector<std::int64_t>> lists(pes);
  lists[0] = loads;
  snapshot made = one_host(lists);
  made.dimensions = 1;
  for (std::size_t i = 0; i < loads.size(); ++i) made.coordinates.push_back(static_cast<double>(i));
  return made;
}

// Of all ways to cut a list into runs, by brute force.
std::int64_t best_cut(const std::vector<std::int64_t>& loads, std::size_t begin, std::size_t pes) {
  const std::int64_t rest =
      std::accumulate(loads.begin() + static_cast<std::ptrdiff_t>(begin), loads.end(), std::int64_t{0});
  if (pes == 1) return rest;
  std::int64_t best = rest, run = 0;
  for (std::size_t end = begin; end <= loads.size(); ++end) {
    best = std::min(best, std::max(run, best_cut(loads, end, pes - 1)));
    if (end < loads.size()) run += loads[end];
  }
  return best;
}

TEST(curve, cuts_a_line_as_well_as_it_can_be_cut) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::int64_t> loads;
    for (std::uint64_t i = 1 + random() % 8; i > 0; --i) loads.push_back(static_cast<std::int64_t>(random() % 50));
    const std::size_t pes = 1 + random() % 4;
    const outcome done = balance(on_a_line(loads, pes), find_strategy("curve"));
    ASSERT_DOUBLE_EQ(done.after.longest_ns, static_cast<double>(best_cut(loads, 0, pes)));
  }
}

TEST(curve, faster_pes_get_longer_runs_and_busy_ones_shorter) {
  snapshot of = on_a_line(std::vector<std::int64_t>(30, 10), 2);
  for (object_load& each : of.objects) each.pe = 1;
  of.pes[0].speed = 2.0;
  EXPECT_DOUBLE_EQ(balance(of, find_strategy("curve")).after.longest_ns, 100.0);
  of.pes[0].background_ns = 75;
  EXPECT_DOUBLE_EQ(balance(of, find_strategy("curve")).after.longest_ns, 150.0);
}

TEST(bisection, cuts_along_the_longest_side) {
  // 8 x 2 points on four PEs: blocks of 2 x 2.
  snapshot of = one_host({std::vector<std::int64_t>(16, 10), {}, {}, {}});
  of.dimensions = 2;
  for (int i = 0; i < 16; ++i)
    of.coordinates.insert(of.coordinates.end(), {static_cast<double>(i / 2), static_cast<double>(i % 2)});
  const outcome done = balance(of, find_strategy("bisection"));
  EXPECT_DOUBLE_EQ(done.after.longest_ns, 40.0);
  std::vector<std::int32_t> pes(16, 0);
  for (const move& each : done.moves) pes[each.object] = each.to;
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(pes[i], static_cast<std::int32_t>(i / 4)) << i;
}

TEST(coordinates, neighbours_stay_together) {
  const snapshot of = make_snapshot(wish_from("random,objects=4096,pes=32,hosts=8,seed=3"));
  const outcome greedy = balance(of, find_strategy("greedy"));
  for (const char* name : {"curve", "bisection"}) {
    const outcome done = balance(of, find_strategy(name));
    EXPECT_LT(4 * done.after.messages_between_hosts, greedy.after.messages_between_hosts) << name;
    EXPECT_LT(done.after.longest_ns, 1.1 * done.after.level_ns) << name;
  }
}

}  // namespace
}  // namespace tri::balancing
