// The quadtree: neighbours, the 2:1 invariant, and what wishes make of it.
#include "amr/mesh.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace {

using namespace amr;

std::vector<std::int32_t> all(const mesh& of, std::int32_t wish) {
  return std::vector<std::int32_t>(of.blocks().size(), wish);
}
std::vector<std::int32_t> one(const mesh& of, const block_place& place, std::int32_t wish, std::int32_t others = 0) {
  std::vector<std::int32_t> wishes = all(of, others);
  wishes[of.number_of(place)] = wish;
  return wishes;
}

TEST(mesh, of_one_block_is_its_own_neighbour) {
  const mesh single(1, 0);
  for (int s = 0; s < side_count; ++s)
    EXPECT_EQ(single.neighbours({0, 0, 0}, static_cast<side>(s)), (std::vector<block_place>{{0, 0, 0}}));
}

TEST(mesh, joins_opposite_edges) {
  const mesh grid(3, 0);
  EXPECT_EQ(grid.neighbours({0, 1, 0}, side::left), (std::vector<block_place>{{0, 1, 2}}));
  EXPECT_EQ(grid.neighbours({0, 1, 2}, side::right), (std::vector<block_place>{{0, 1, 0}}));
  EXPECT_EQ(grid.neighbours({0, 0, 1}, side::below), (std::vector<block_place>{{0, 2, 1}}));
  EXPECT_EQ(grid.neighbours({0, 2, 1}, side::above), (std::vector<block_place>{{0, 0, 1}}));
}

TEST(mesh, has_coarser_and_finer_neighbours_where_a_block_is_cut) {
  const mesh cut = mesh(2, 1).adapted(one(mesh(2, 1), {0, 0, 0}, 1));
  EXPECT_EQ(cut.blocks().size(), 7U);
  EXPECT_FALSE(cut.has({0, 0, 0}));
  EXPECT_TRUE(cut.has({1, 1, 1}));
  EXPECT_EQ(cut.neighbours({0, 0, 1}, side::left), (std::vector<block_place>{{1, 0, 1}, {1, 1, 1}}));
  EXPECT_EQ(cut.neighbours({0, 0, 1}, side::right), (std::vector<block_place>{{1, 0, 0}, {1, 1, 0}}));
  EXPECT_EQ(cut.neighbours({0, 1, 0}, side::below), (std::vector<block_place>{{1, 1, 0}, {1, 1, 1}}));
  EXPECT_EQ(cut.neighbours({1, 0, 1}, side::right), (std::vector<block_place>{{0, 0, 1}}));
  EXPECT_EQ(cut.neighbours({1, 0, 1}, side::left), (std::vector<block_place>{{1, 0, 0}}));
}

TEST(mesh, cuts_neighbours_where_the_invariant_needs_it) {
  mesh now(4, 3);
  for (int level = 0; level < 3; ++level) {
    const block_place corner{level, 0, 0};
    now = now.adapted(one(now, corner, 1));
  }
  EXPECT_TRUE(now.has({3, 0, 0}));
  EXPECT_TRUE(now.has({2, 1, 0}));   // beside the smallest
  EXPECT_TRUE(now.has({2, 15, 0}));  // beyond the edge
  EXPECT_TRUE(now.has({2, 0, 15}));  // and beyond the other
  EXPECT_TRUE(now.has({1, 1, 0}));   // a step away
  EXPECT_TRUE(now.has({0, 2, 2}));   // far away
  EXPECT_NO_THROW(mesh(4, 3, now.blocks()));
}

TEST(mesh, merges_only_whole_families_that_wish_it) {
  const mesh fine = mesh(2, 1).adapted(all(mesh(2, 1), 1));
  ASSERT_EQ(fine.blocks().size(), 16U);
  EXPECT_EQ(fine.adapted(all(fine, -1)), mesh(2, 1));
  EXPECT_EQ(fine.adapted(one(fine, {1, 0, 0}, 0, -1)).blocks().size(), 4U + 3U);
  std::vector<std::int32_t> three = all(fine, 0);
  for (int q = 0; q < 3; ++q) three[fine.number_of(block_place{0, 1, 1}.child(q))] = -1;
  EXPECT_EQ(fine.adapted(three), fine);
}

TEST(mesh, does_not_merge_beside_what_is_too_fine) {
  mesh now(2, 2);
  now = now.adapted(all(now, 1));
  now = now.adapted(one(now, {1, 0, 1}, 1));
  // The family right of the smallest blocks would differ by two levels.
  const mesh merged = now.adapted(one(now, {2, 0, 3}, 0, -1));
  EXPECT_NO_THROW(mesh(2, 2, merged.blocks()));
}

TEST(mesh, has_neither_more_levels_nor_fewer_than_it_may) {
  const mesh grid(2, 1);
  EXPECT_EQ(grid.adapted(all(grid, -1)), grid);
  const mesh fine = grid.adapted(all(grid, 1));
  EXPECT_EQ(fine.adapted(all(fine, 1)), fine);
}

TEST(mesh, keeps_the_invariant_for_any_wishes) {
  std::mt19937 random(7);
  mesh now(3, 3);
  std::size_t most = 0;
  for (int round = 0; round < 40; ++round) {
    std::vector<std::int32_t> wishes;
    for (std::size_t i = 0; i < now.blocks().size(); ++i)
      wishes.push_back(random() % 8 == 0 ? 1 : -static_cast<std::int32_t>(random() % 2));
    const mesh next = now.adapted(wishes);
    ASSERT_NO_THROW(mesh(3, 3, next.blocks())) << "round " << round;
    for (std::size_t i = 0; i < wishes.size(); ++i) {
      const block_place& own = now.blocks()[i];
      if (wishes[i] == 1 && own.level < 3) {
        EXPECT_TRUE(next.has(own.child(0))) << "a wish to be cut was not fulfilled";
      }
    }
    // Each neighbour sees the block, too.
    for (const block_place& each : next.blocks()) {
      for (int s = 0; s < side_count; ++s) {
        for (const block_place& beside : next.neighbours(each, static_cast<side>(s))) {
          const auto back = next.neighbours(beside, opposite(static_cast<side>(s)));
          EXPECT_NE(std::ranges::find(back, each), back.end());
        }
      }
    }
    most = std::max(most, next.blocks().size());
    now = next;
  }
  EXPECT_GT(most, 60U);
}

TEST(mesh, refuses_blocks_that_are_no_mesh) {
  EXPECT_THROW(mesh(2, 1, {{0, 0, 0}}), std::invalid_argument);
  EXPECT_THROW(mesh(1, 1, {{0, 0, 0}, {1, 0, 0}}), std::invalid_argument);
  EXPECT_THROW(mesh(1, 0, {{1, 0, 0}, {1, 0, 1}, {1, 1, 0}, {1, 1, 1}}), std::invalid_argument);
  EXPECT_THROW(mesh(2, 0).adapted(std::vector<std::int32_t>(3)), std::invalid_argument);
}

}  // namespace
