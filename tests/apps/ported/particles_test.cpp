// Cells, pairs and particles, without objects.
#include "ported/particles.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

namespace ported {
namespace {

const cell_grid grid{{3, 4, 5}};

// In leanmd's units particles hardly move, so a run has none that leaves its cell.
TEST(particles, leavers_go_to_the_neighbour_where_they_are) {
  std::vector<particle> own(4);
  own[0].position = {8.0, 8.0, 8.0};
  own[1].position = {-1.0, 8.0, 8.0};
  own[2].position = {8.0, 17.0, -2.0};
  own[3].position = {9.0, 9.0, 9.0};
  const auto leavers = take_leavers(grid, {0, 0, 0}, own);
  ASSERT_EQ(own.size(), 2U);
  EXPECT_EQ(own[1].position.x, 9.0);
  for (int neighbour = 0; neighbour < 27; ++neighbour) {
    const auto& gone = leavers[static_cast<std::size_t>(neighbour)];
    const cell_index to = offset_of(neighbour);
    if (to == cell_index{-1, 0, 0}) {
      ASSERT_EQ(gone.size(), 1U);
      EXPECT_EQ(gone[0].position.x, 3 * cell_width - 1.0);  // around the edge of the box
    } else if (to == cell_index{0, 1, -1}) {
      ASSERT_EQ(gone.size(), 1U);
      EXPECT_EQ(gone[0].position.y, 17.0);
      EXPECT_EQ(gone[0].position.z, 5 * cell_width - 2.0);
    } else {
      EXPECT_TRUE(gone.empty()) << neighbour;
    }
  }
}

// Every two cells that touch are one pair, and each cell with itself.
TEST(particles, pairs_are_complete_and_different) {
  std::set<std::pair<int, int>> pairs;
  for (std::int32_t x = 0; x < 3; ++x)
    for (std::int32_t y = 0; y < 4; ++y)
      for (std::int32_t z = 0; z < 5; ++z)
        for (int kind = 0; kind < pair_kinds; ++kind) {
          const cell_index first = {x, y, z};
          const cell_index second = grid.beside(first, offset_of_kind(kind));
          EXPECT_EQ(grid.beside(second, opposite(offset_of_kind(kind))), first);
          pairs.insert(std::minmax({grid.number_of(first), grid.number_of(second)}));
        }
  EXPECT_EQ(pairs.size(), 60U * pair_kinds);
}

TEST(particles, forces_are_opposite_and_see_the_nearest_image) {
  const std::vector<vec3> a = {{1.0, 8.0, 8.0}}, b = {{46.0, 8.0, 8.0}};  // 3 apart, across the edge
  std::vector<vec3> on_a(1), on_b(1), near_a(1), near_b(1);
  add_forces_between(a, grid.shift({0, 0, 0}, {-1, 0, 0}), b, on_a, on_b);
  add_forces_between(std::vector<vec3>{{4.0, 8.0, 8.0}}, {}, std::vector<vec3>{{1.0, 8.0, 8.0}}, near_a, near_b);
  EXPECT_NE(on_a[0].x, 0.0);
  EXPECT_EQ(on_a[0].x, -on_b[0].x);
  EXPECT_EQ(on_a[0].x, near_a[0].x);
  std::vector<vec3> within(2);
  add_forces_within(std::vector<vec3>{{4.0, 8.0, 8.0}, {1.0, 8.0, 8.0}}, within);
  EXPECT_EQ(within[0].x, near_a[0].x);
  EXPECT_EQ(within[1].x, near_b[0].x);
}

}  // namespace
}  // namespace ported
