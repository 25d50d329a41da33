// The choice of those who hand multicasts on. The condition of M61: with 10 trees no PE is an inner vertex more often
// than the mean, rounded up, and one.
#include "trireme/detail/objects/inner_vertices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

namespace tri::objects {
namespace {

using counts = std::deque<std::atomic<std::uint64_t>>;

std::uint64_t most(const counts& of) {
  std::uint64_t most = 0;
  for (const auto& each : of) most = std::max(most, each.load());
  return most;
}
std::uint64_t least(const counts& of) {
  std::uint64_t least = ~std::uint64_t{0};
  for (const auto& each : of) least = std::min(least, each.load());
  return least;
}

TEST(inner_vertices, ten_trees_spread_over_the_pes_that_may_be_chosen) {
  for (const std::size_t pes : {1U, 2U, 3U, 4U, 7U, 16U}) {
    counts chosen(pes);
    for (int tree = 0; tree < 10; ++tree) choose_least_used(pes, [&](std::size_t pe) -> auto& { return chosen[pe]; });
    EXPECT_LE(most(chosen), (10 + pes - 1) / pes) << pes;
  }
}

// Trees with other members each: a PE that can be chosen rarely is chosen when it can.
TEST(inner_vertices, ten_trees_with_other_candidates_each_keep_the_bound) {
  constexpr std::size_t pes = 5;
  for (unsigned seed = 0; seed < 32; ++seed) {
    counts chosen(pes);
    for (unsigned tree = 0; tree < 10; ++tree) {
      std::vector<std::size_t> candidates;
      for (std::size_t pe = 0; pe < pes; ++pe)
        if (pe != (tree * 3 + seed) % pes) candidates.push_back(pe);
      choose_least_used(candidates.size(), [&](std::size_t i) -> auto& { return chosen[candidates[i]]; });
    }
    EXPECT_LE(most(chosen), 10 / pes + 1) << seed;
  }
}

TEST(inner_vertices, several_that_choose_at_a_time_never_get_far_apart) {
  constexpr std::size_t pes = 4;
  constexpr int each_chooses = 20'000;
  counts chosen(pes);
  {
    std::vector<std::jthread> choosers;
    for (int i = 0; i < 3; ++i)
      choosers.emplace_back([&] {
        for (int tree = 0; tree < each_chooses; ++tree)
          choose_least_used(pes, [&](std::size_t pe) -> auto& { return chosen[pe]; });
      });
  }
  EXPECT_LE(most(chosen) - least(chosen), 1U);
  EXPECT_EQ(std::accumulate(chosen.begin(), chosen.end(), std::uint64_t{0}), 3U * each_chooses);
}

TEST(inner_vertices, equal_ones_take_turns_from_where_the_chooser_begins) {
  for (std::size_t begin = 0; begin < 3; ++begin) {
    counts chosen(3);
    const auto choose = [&] {
      return choose_least_used(
          3, [&](std::size_t pe) -> auto& { return chosen[pe]; }, begin);
    };
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(choose(), (begin + i) % 3);
  }
}

// The places of a list of hosts, as the vertices find them, each in the part that it was given.
std::set<std::size_t> places_that_hand_on(std::size_t from, std::size_t hosts, std::vector<int>& reached) {
  std::set<std::size_t> found;
  for_each_part(hosts, [&](std::size_t first, std::size_t last) {
    ++reached[from + first];
    if (last - first > 1) found.insert(from + first);
    found.merge(places_that_hand_on(from + first + 1, last - first - 1, reached));
  });
  return found;
}

TEST(inner_vertices, knows_the_places_that_hand_on_to_further_hosts) {
  for (std::size_t hosts = 0; hosts <= 64; ++hosts) {
    std::vector<std::size_t> places;
    add_inner_places(0, hosts, places);
    std::vector<int> reached(hosts, 0);
    const std::set<std::size_t> expected = places_that_hand_on(0, hosts, reached);
    EXPECT_EQ(std::set<std::size_t>(places.begin(), places.end()), expected) << hosts;
    EXPECT_EQ(places.size(), expected.size());
    EXPECT_EQ(std::count(reached.begin(), reached.end(), 1), static_cast<std::ptrdiff_t>(hosts));
    EXPECT_EQ(places.empty(), hosts <= most_child_hosts);
  }
}

}  // namespace
}  // namespace tri::objects
