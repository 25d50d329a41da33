// Keys, the refinement of cells, and runs of subtrees for pieces.
#include "gravity/tree/decomposition.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "gravity/bodies/generate.hpp"

namespace {

using namespace gravity;

std::vector<std::uint64_t> sorted_keys(const std::vector<body>& bodies, root_cube& cube) {
  box bounds;
  for (const body& each : bodies) bounds.include(each.position);
  cube = cube_around(bounds);
  std::vector<std::uint64_t> keys;
  for (const body& each : bodies) keys.push_back(morton_key(cube, each.position));
  std::ranges::sort(keys);
  return keys;
}

std::vector<cell> refined(const std::vector<std::uint64_t>& keys, std::uint64_t most, int parts) {
  cell_refinement cells(keys.size(), most);
  while (!cells.done()) {
    std::vector<std::uint64_t> sum;
    for (int part = 0; part < parts; ++part) {
      std::vector<std::uint64_t> own;  // every `parts`th key
      for (auto i = static_cast<std::size_t>(part); i < keys.size(); i += static_cast<std::size_t>(parts))
        own.push_back(keys[i]);
      const auto counts = count_bodies(own, cells.request());
      sum.resize(counts.size());
      for (std::size_t i = 0; i < counts.size(); ++i) sum[i] += counts[i];
    }
    cells.take(sum);
  }
  return cells.subtrees();
}

TEST(morton_keys, interleave_the_bits_of_the_coordinates) {
  const root_cube cube{{0, 0, 0}, 1.0};
  EXPECT_EQ(morton_key(cube, {0, 0, 0}), 0U);
  EXPECT_EQ(morton_key(cube, {0, 0, 0.5}), keys_at(1));
  EXPECT_EQ(morton_key(cube, {0, 0.5, 0}), 2 * keys_at(1));
  EXPECT_EQ(morton_key(cube, {0.5, 0, 0}), 4 * keys_at(1));
  EXPECT_EQ(morton_key(cube, {0.75, 0, 0.5}), 5 * keys_at(1) + 4 * keys_at(2));
}

TEST(morton_keys, of_points_outside_are_those_of_the_nearest_cell) {
  const root_cube cube{{0, 0, 0}, 1.0};
  EXPECT_EQ(morton_key(cube, {1, 1, 1}), key_end - 1);
  EXPECT_EQ(morton_key(cube, {7, 7, 7}), key_end - 1);
  EXPECT_EQ(morton_key(cube, {-1, -1, -1}), 0U);
}

TEST(cell_refinement, ends_with_cells_that_have_all_bodies_and_few_each) {
  root_cube cube;
  const auto keys = sorted_keys(plummer_sphere(5000, 3), cube);
  std::uint64_t bodies = 0;
  std::uint64_t end = 0;
  for (const cell& each : refined(keys, 50, 1)) {
    EXPECT_GT(each.bodies, 0U);
    EXPECT_LE(each.bodies, 50U);
    EXPECT_GE(each.first_key, end);
    EXPECT_EQ(each.first_key % keys_at(static_cast<int>(each.level)), 0U);
    end = each.first_key + keys_at(static_cast<int>(each.level));
    const auto from = std::ranges::lower_bound(keys, each.first_key);
    EXPECT_EQ(static_cast<std::uint64_t>(std::ranges::lower_bound(keys, end) - from), each.bodies);
    bodies += each.bodies;
  }
  EXPECT_EQ(bodies, 5000U);
}

// A cell is divided when it has too many bodies and its parent is divided: nothing else decides.
TEST(cell_refinement, divides_no_cell_with_few_bodies) {
  root_cube cube;
  const auto keys = sorted_keys(plummer_sphere(5000, 3), cube);
  for (const cell& each : refined(keys, 50, 1)) {
    const std::uint64_t parent = keys_at(static_cast<int>(each.level) - 1);
    const std::uint64_t low = each.first_key / parent * parent;
    const auto in_parent = std::ranges::lower_bound(keys, low + parent) - std::ranges::lower_bound(keys, low);
    EXPECT_GT(in_parent, 50);
  }
}

TEST(cell_refinement, does_not_depend_on_who_has_the_bodies) {
  root_cube cube;
  const auto keys = sorted_keys(plummer_sphere(3000, 5), cube);
  const auto one = refined(keys, 30, 1);
  const auto many = refined(keys, 30, 7);
  ASSERT_EQ(one.size(), many.size());
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_EQ(one[i].first_key, many[i].first_key);
}

TEST(cell_refinement, ends_at_the_last_level_where_all_bodies_are_at_one_place) {
  const auto cells = refined(std::vector<std::uint64_t>(100, 12345), 10, 3);
  ASSERT_EQ(cells.size(), 1U);
  EXPECT_EQ(cells[0].level, key_levels);
  EXPECT_EQ(cells[0].first_key, 12345U);
  EXPECT_EQ(cells[0].bodies, 100U);
}

TEST(cell_refinement, refuses_counts_of_other_cells) {
  cell_refinement cells(100, 10);
  EXPECT_THROW(cells.take(std::vector<std::uint64_t>(3)), std::logic_error);
  cell_refinement missing(100, 10);
  EXPECT_THROW(missing.take(std::vector<std::uint64_t>(64, 1)), std::logic_error);
}

TEST(dealing, gives_runs_of_about_the_same_number_of_bodies) {
  root_cube cube;
  const auto keys = sorted_keys(plummer_sphere(10000, 3), cube);
  const decomposition now = deal(cube, refined(keys, 20, 1), 16);
  ASSERT_EQ(now.pieces(), 16U);
  for (std::size_t p = 0; p < 16; ++p) EXPECT_NEAR(static_cast<double>(now.bodies_of(p)), 625.0, 20.0);
  for (std::size_t s = 0; s < now.subtrees.size(); ++s) {
    EXPECT_EQ(now.subtree_of(now.subtrees[s].first_key), s);
    const std::size_t piece = now.piece_of(s);
    EXPECT_LE(now.first_of_piece[piece], s);
    EXPECT_LT(s, now.first_of_piece[piece + 1]);
  }
}

TEST(dealing, may_keep_the_parts_of_space) {
  root_cube cube;
  const auto keys = sorted_keys(plummer_sphere(3000, 3), cube);
  const decomposition first = deal(cube, refined(keys, 20, 1), 9);
  const division kept = division_of(first);
  EXPECT_EQ(deal_as(kept, first.subtrees).first_of_piece, first.first_of_piece);
  // Other bodies in the same cube: each subtree goes where it begins.
  std::vector<std::uint64_t> others;
  for (const body& each : uniform_cube(2000, 4)) others.push_back(morton_key(cube, each.position));
  std::ranges::sort(others);
  const decomposition next = deal_as(kept, refined(others, 20, 1));
  ASSERT_EQ(next.pieces(), 9U);
  std::uint64_t bodies = 0;
  for (std::size_t p = 0; p < 9; ++p) {
    bodies += next.bodies_of(p);
    for (std::size_t s = next.first_of_piece[p]; s < next.first_of_piece[p + 1]; ++s) {
      EXPECT_GE(next.subtrees[s].first_key, kept.first_keys[p]);
      EXPECT_LT(next.subtrees[s].first_key, kept.first_keys[p + 1]);
    }
  }
  EXPECT_EQ(bodies, 2000U);
}

TEST(dealing, gives_nothing_to_pieces_for_which_there_is_nothing) {
  const decomposition now = deal({}, {{0, 5, 0}}, 4);
  std::uint64_t bodies = 0;
  for (std::size_t p = 0; p < 4; ++p) bodies += now.bodies_of(p);
  EXPECT_EQ(bodies, 5U);
  EXPECT_EQ(now.bodies_of(now.piece_of(0)), 5U);
}

}  // namespace
