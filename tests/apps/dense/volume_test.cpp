// What Linpack's update moves, from the layouts alone: a PE needs the multipliers of the tile rows in which it has
// tiles behind a panel, and U of the tile columns. Tiles over a grid of PEs need less of both than tiles that go to the
// PEs in turn (Farreras 2008, 5.3.6).
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <utility>

#include "trireme/detail/arrays/layout.hpp"

namespace tri::arrays {
namespace {

/// Tiles that PEs need of others in all updates of a factorization.
std::int64_t tiles_moved(const layout<2>& where) {
  std::set<std::pair<int, std::int64_t>> needed;  // PE, and a tile's number
  const std::int64_t tiles = where.tiles()[0];
  std::int64_t moved = 0;
  for (std::int64_t k = 0; k < tiles; ++k) {
    needed.clear();
    for (std::int64_t i = k + 1; i < tiles; ++i)
      for (std::int64_t j = k + 1; j < tiles; ++j) {
        const int owner = where.owner_of_tile({i, j});
        if (where.owner_of_tile({i, k}) != owner) needed.emplace(owner, i * tiles + k);
        if (where.owner_of_tile({k, j}) != owner) needed.emplace(owner, k * tiles + j);
      }
    moved += static_cast<std::int64_t>(needed.size());
  }
  return moved;
}

layout<2> tiled(std::int64_t tiles, int pes, const auto&... grid) {
  constexpr std::int64_t size = 8;
  const machine_shape machine{.pes = pes, .hosts = 1};
  return {position<2>(tiles * size, tiles * size), distribution<2>(tri::tiles(size, size), grid...), machine, 8};
}

TEST(VolumeOfLinpack, One_pe_needs_nothing) { EXPECT_EQ(tiles_moved(tiled(6, 1, grid(1, 1))), 0); }

TEST(VolumeOfLinpack, Golden_value_of_two_by_two_pes) {
  // 3 x 3 tiles. Behind panel 0 are 2 x 2 tiles, one of each PE: (1, 1) of PE 3 needs (1, 0) and (0, 1); (1, 2) of PE 2
  // has (1, 0) and needs (0, 2), which is of PE 0; (2, 1) alike needs (2, 0); (2, 2) has both. Behind panel 1 is (2, 2)
  // of PE 0, which needs (2, 1) and (1, 2).
  EXPECT_EQ(tiles_moved(tiled(3, 4, grid(2, 2))), 2 + 1 + 1 + 2);
}

TEST(VolumeOfLinpack, Grids_need_less_than_tiles_in_turn) {
  for (const auto& [p, q] : {std::pair(2, 2), std::pair(2, 4), std::pair(4, 4), std::pair(4, 8), std::pair(8, 8)}) {
    // A number of tiles in a row that shares no factor with the PEs: tiles in turn are then nothing like a grid.
    const std::int64_t tiles = 33;
    const std::int64_t on_grid = tiles_moved(tiled(tiles, p * q, grid(p, q)));
    const std::int64_t in_turn = tiles_moved(tiled(tiles, p * q));
    EXPECT_LT(on_grid, in_turn) << p << " x " << q;
  }
  // The volume of a square grid grows with the square root of the PEs.
  const auto of_grid = [](int edge) {
    return static_cast<double>(tiles_moved(tiled(64, edge * edge, grid(edge, edge))));
  };
  EXPECT_NEAR(of_grid(8) / of_grid(4), 7.0 / 3.0, 0.35);
}

}  // namespace
}  // namespace tri::arrays
