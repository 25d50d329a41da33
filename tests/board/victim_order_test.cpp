// The order in which a PE looks at others for work: nearest first, staggered, a permutation.
#include "board/victim_order.hpp"

#include <gmock/gmock.h>

#include <set>

namespace tri::board {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// `levels` group sizes from the inside: {4, 2} is two NUMA nodes of four PEs.
std::vector<std::uint32_t> hierarchy(const std::vector<std::uint32_t>& levels, std::uint32_t pe_count) {
  std::vector<std::uint32_t> distances(std::size_t{pe_count} * pe_count);
  for (std::uint32_t a = 0; a < pe_count; ++a) {
    for (std::uint32_t b = 0; b < pe_count; ++b) {
      std::uint32_t distance = 10;
      std::uint32_t size = 1;
      for (const std::uint32_t level : levels) {
        size *= level;
        if (a / size == b / size) break;
        distance += 10;
      }
      distances[std::size_t{a} * pe_count + b] = a == b ? 0 : distance;
    }
  }
  return distances;
}

void expect_permutation_nearest_first(std::uint32_t pe, std::uint32_t pe_count,
                                      const std::vector<std::uint32_t>& distances) {
  const auto order = victim_order(pe, pe_count, distances);
  std::set<std::uint32_t> seen(order.begin(), order.end());
  ASSERT_EQ(order.size(), pe_count - 1);
  ASSERT_EQ(seen.size(), pe_count - 1);
  ASSERT_FALSE(seen.contains(pe));
  for (std::size_t k = 1; k < order.size(); ++k) {
    ASSERT_LE(distances[pe * pe_count + order[k - 1]], distances[pe * pe_count + order[k]])
        << "PE " << pe << " at " << k;
  }
}

TEST(victim_order, is_the_ring_when_all_are_equally_far) {
  EXPECT_THAT(victim_order(1, 4, hierarchy({4}, 4)), ElementsAre(2, 3, 0));
  EXPECT_THAT(ring_order(1, 4), ElementsAre(2, 3, 0));
  EXPECT_THAT(victim_order(0, 1, hierarchy({1}, 1)), ElementsAre());
}

TEST(victim_order, takes_the_own_numa_node_first) {
  const auto distances = hierarchy({4, 2}, 8);
  EXPECT_THAT(victim_order(1, 8, distances), ElementsAre(2, 3, 0, 5, 6, 7, 4));
  EXPECT_THAT(victim_order(6, 8, distances), ElementsAre(7, 4, 5, 2, 3, 0, 1));
}

TEST(victim_order, is_a_permutation_nearest_first) {
  for (const auto& levels : std::vector<std::vector<std::uint32_t>>{{8}, {4, 2}, {2, 3, 4}, {3, 5}, {5, 2, 2}}) {
    std::uint32_t pe_count = 1;
    for (const std::uint32_t level : levels) pe_count *= level;
    for (const std::uint32_t count : {pe_count, pe_count - 1}) {  // also with a group that is one short
      for (std::uint32_t pe = 0; pe < count; ++pe)
        expect_permutation_nearest_first(pe, count, hierarchy(levels, count));
    }
  }
}

TEST(victim_order, is_staggered_everybody_looks_at_somebody_else) {
  for (const auto& levels : std::vector<std::vector<std::uint32_t>>{{8}, {4, 2}, {4, 4}, {2, 3, 4}, {2, 2, 2, 2}}) {
    std::uint32_t pe_count = 1;
    for (const std::uint32_t level : levels) pe_count *= level;
    const auto distances = hierarchy(levels, pe_count);
    for (std::size_t k = 0; k + 1 < pe_count; ++k) {
      std::set<std::uint32_t> victims;
      for (std::uint32_t pe = 0; pe < pe_count; ++pe) victims.insert(victim_order(pe, pe_count, distances)[k]);
      EXPECT_EQ(victims.size(), pe_count) << "position " << k;
    }
  }
}

TEST(victim_order, interleaved_numbering_of_numa_nodes) {
  std::vector<std::uint32_t> distances(36);
  for (std::uint32_t a = 0; a < 6; ++a) {
    for (std::uint32_t b = 0; b < 6; ++b) distances[a * 6 + b] = a % 2 == b % 2 ? 10 : 20;
  }
  for (std::uint32_t pe = 0; pe < 6; ++pe) expect_permutation_nearest_first(pe, 6, distances);
  EXPECT_THAT(victim_order(2, 6, distances), ElementsAre(4, 0, 3, 5, 1));
}

TEST(victim_order, refuses_what_cannot_be) {
  const std::vector<std::uint32_t> four(16, 1);
  EXPECT_THAT([&] { victim_order(4, 4, four); },
              testing::ThrowsMessage<std::invalid_argument>(HasSubstr("PE 4: there are 4")));
  EXPECT_THAT([&] { victim_order(0, 5, four); },
              testing::ThrowsMessage<std::invalid_argument>(HasSubstr("5 PEs needs 25 distances, not 16")));
  EXPECT_THROW(ring_order(0, 0), std::invalid_argument);
}

}  // namespace
}  // namespace tri::board
