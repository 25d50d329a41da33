// The grid of patches: ownership, pair identity with few patches, and the order of contributions.
#include "md/patches/patch_grid.hpp"

#include <gmock/gmock.h>

#include <set>
#include <stdexcept>

namespace {

using md::int3;
using md::patch_grid;

const md::box cube = {{-1.0, 0.0, 2.0}, {9.0, 10.0, 12.0}};

TEST(box, wrapping_counts_images_and_stays_inside) {
  md::vec3 at = {-1.5, 30.5, 12.0};
  std::array<std::int32_t, 3> image{};
  cube.wrap(at, image);
  EXPECT_DOUBLE_EQ(at[0], 8.5);
  EXPECT_DOUBLE_EQ(at[1], 0.5);
  EXPECT_DOUBLE_EQ(at[2], 2.0);
  EXPECT_EQ(image, (std::array<std::int32_t, 3>{-1, 3, 1}));
  // So little below the face that adding the length gives the upper bound itself.
  at = {0.0, -1e-17, 5.0};
  image = {};
  cube.wrap(at, image);
  EXPECT_GE(at[1], 0.0);
  EXPECT_LT(at[1], 10.0);
}

TEST(patch_grid, owners_are_the_patches_that_contain_the_position) {
  const patch_grid grid(cube, {3, 2, 1}, 2.8);
  for (int p = 0; p < grid.size(); ++p) {
    const md::vec3 low = grid.low_corner(p);
    EXPECT_EQ(grid.owner({low[0] + 0.1, low[1] + 0.1, low[2] + 0.1}), p);
    EXPECT_EQ(grid.owner({low[0] + grid.width()[0] - 0.1, low[1] + 0.1, low[2] + 0.1}), p);
    EXPECT_EQ(grid.index(grid.coordinates(p)), p);
  }
}

TEST(patch_grid, fits_as_many_patches_as_are_wide_enough) {
  EXPECT_EQ(patch_grid::counts_for(cube, 2.8), (int3{3, 3, 3}));
  EXPECT_EQ(patch_grid::counts_for(cube, 5.0), (int3{1, 1, 1})) << "no rounding luck at the exact width";
  EXPECT_EQ(patch_grid::counts_for(cube, 40.0), (int3{1, 1, 1}));
}

std::string message_of(const int3& counts, double reach) {
  try {
    patch_grid(cube, counts, reach);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no error";
}

TEST(patch_grid, says_how_many_patches_would_fit) {
  EXPECT_EQ(message_of({3, 4, 3}, 2.8),
            "4 patches in y are 2.5 wide each, less than cutoff + skin = 2.8: at most 3 fit");
  EXPECT_THAT(message_of({1, 1, 1}, 11.0), testing::HasSubstr("the box is 10 long in x but cutoff + skin is 11"));
  EXPECT_THAT(message_of({1, 0, 1}, 2.8), testing::HasSubstr("0 patches in y"));
}

class every_grid : public testing::TestWithParam<int3> {};

// Each side of each pair must be one contribution of exactly one patch, and the one that the pair names.
TEST_P(every_grid, contributions_and_pairs_correspond) {
  const patch_grid grid(cube, GetParam(), 2.5);
  std::set<std::array<int, 3>> seen;
  for (int p = 0; p < grid.size(); ++p) {
    for (const md::contribution_source& source : grid.contributions(p)) {
      const int target = source.side == 0 ? source.patch : grid.pair(source.patch, source.kind).other;
      EXPECT_EQ(target, p);
      EXPECT_TRUE(seen.insert({source.patch, source.kind, source.side}).second);
    }
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(grid.size() * md::contributions_per_patch));
}

// Between one patch and all images of all patches around it, each neighbouring place is met once.
TEST_P(every_grid, pairs_reach_all_26_places_around_a_patch_once) {
  const patch_grid grid(cube, GetParam(), 2.5);
  for (int p = 0; p < grid.size(); ++p) {
    std::set<std::array<long, 3>> places;
    const md::vec3 own = grid.low_corner(p);
    const auto note = [&](int other, const md::vec3& shift, double sign) {
      const md::vec3 low = grid.low_corner(other);
      std::array<long, 3> place{};
      for (std::size_t d = 0; d < 3; ++d) place[d] = std::lround((low[d] + sign * shift[d] - own[d]) / grid.width()[d]);
      EXPECT_TRUE(places.insert(place).second);
      for (const long step : place) EXPECT_LE(std::labs(step), 1);
    };
    for (const md::contribution_source& source : grid.contributions(p)) {
      const md::patch_pair pair = grid.pair(source.patch, source.kind);
      if (source.side == 0) note(pair.other, pair.shift, 1.0);
      if (source.side == 1) note(source.patch, pair.shift, -1.0);
    }
    EXPECT_EQ(places.size(), 27U);
  }
}

INSTANTIATE_TEST_SUITE_P(grids, every_grid,
                         testing::Values(int3{1, 1, 1}, int3{2, 2, 2}, int3{1, 2, 3}, int3{4, 3, 2}, int3{4, 4, 4}));

TEST(patch_grid, adjacency_goes_around_the_box) {
  const patch_grid grid(cube, {4, 4, 4}, 2.5);
  EXPECT_TRUE(grid.adjacent(grid.index({0, 0, 0}), grid.index({3, 3, 1})));
  EXPECT_TRUE(grid.adjacent(5, 5));
  EXPECT_FALSE(grid.adjacent(grid.index({0, 0, 0}), grid.index({2, 0, 0})));
}

}  // namespace
