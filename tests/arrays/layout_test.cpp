// Layouts of global arrays: golden values, one place for each element, and parts of regions.
#include "trireme/detail/arrays/layout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

namespace tri::arrays {
namespace {

constexpr std::size_t bytes = 8;

template <int N>
std::vector<position<N>> all_positions(const position<N>& extents) {
  std::vector<position<N>> all;
  for (std::int64_t number = 0; number < extents.volume(); ++number) all.push_back(position_of(number, extents));
  return all;
}

struct expected_place {
  position<2> at;
  std::int32_t pe;
  std::int64_t course;
  std::int64_t phase;
};

void check_places(const layout<2>& where, const std::vector<expected_place>& expected) {
  for (const expected_place& one : expected)
    EXPECT_EQ(where.place_of(one.at), (place{one.pe, one.course * where.elements_of_tile() + one.phase}))
        << one.at[0] << ", " << one.at[1];
}

// Farreras 2008, 5.3, with the corrected formulas: A[6][9] in tiles of 2 x 3 on 4 threads, two on each node.
TEST(Layout, Golden_values_of_tiles_in_turn) {
  const layout<2> where({6, 9}, distribution<2>(tiles(2, 3)), {.pes = 4, .hosts = 2}, bytes);
  check_places(where, {{{0, 0}, 0, 0, 0},
                       {{1, 2}, 0, 0, 5},
                       {{0, 3}, 1, 0, 0},
                       {{3, 7}, 1, 1, 4},
                       {{4, 0}, 2, 1, 0},
                       {{5, 8}, 0, 2, 5}});
  EXPECT_EQ(where.elements_on(0), 18);  // 144 bytes
}

TEST(Layout, Golden_values_of_padded_tiles) {
  const layout<2> where({5, 7}, distribution<2>(tiles(2, 3)), {.pes = 3, .hosts = 3}, bytes);
  check_places(where, {{{0, 6}, 2, 0, 0}, {{2, 5}, 1, 1, 2}, {{3, 3}, 1, 1, 3}, {{4, 6}, 2, 2, 0}});
  for (int pe = 0; pe < 3; ++pe) EXPECT_EQ(where.elements_on(pe), 18);
}

// A[4][5] in blocks of 3 on 2 threads: blocks of the flattened array, which are tiles of one dimension.
TEST(Layout, Golden_values_of_blocks_of_a_flat_array) {
  const layout<1> where(position<1>(20), distribution<1>(tiles(3)), {.pes = 2, .hosts = 1}, bytes);
  const auto check = [&](int row, int column, int pe, int course, int phase) {
    EXPECT_EQ(where.place_of(position<1>(row * 5 + column)), (place{pe, course * 3 + phase}));
  };
  check(0, 3, 1, 0, 0);
  check(1, 4, 1, 1, 0);
  check(2, 2, 0, 2, 0);
  check(3, 4, 0, 3, 1);
}

// The tiles of 2 x 3 in memory of 4 x 7: two ghost cells on each side of a row, one of a column.
TEST(Layout, Golden_values_of_tiles_with_a_halo) {
  const layout<2> where({6, 9}, distribution<2>(tiles(2, 3), halo(1, 2)), {.pes = 4, .hosts = 2}, bytes);
  EXPECT_EQ(where.elements_of_tile(), 28);
  EXPECT_EQ(where.strides_in_tile(), position<2>(7, 1));
  EXPECT_EQ(where.origin_in_tile(), 9);
  check_places(where, {{{0, 0}, 0, 0, 9},
                       {{1, 2}, 0, 0, 9 + 7 + 2},
                       {{0, 3}, 1, 0, 9},
                       {{3, 7}, 1, 1, 9 + 7 + 1},
                       {{5, 8}, 0, 2, 9 + 7 + 2}});
  EXPECT_EQ(where.element_at({0, 8}), std::nullopt) << "a ghost cell has no position";
  EXPECT_EQ(where.element_at({0, 12}), std::nullopt);
  EXPECT_EQ(where.element_at({0, 28 + 9}), position<2>(2, 3));
}

template <int N>
void expect_bijection(const layout<N>& where) {
  std::set<std::pair<std::int32_t, std::int64_t>> taken;
  for (const position<N>& at : all_positions(where.extents())) {
    const place found = where.place_of(at);
    ASSERT_GE(found.pe, 0);
    ASSERT_LT(found.pe, where.machine().pes);
    ASSERT_GE(found.offset, 0);
    ASSERT_LT(found.offset, where.elements_on(found.pe));
    ASSERT_TRUE(taken.emplace(found.pe, found.offset).second) << "two elements in one place";
    ASSERT_EQ(where.element_at(found), at);
  }
  std::int64_t padding = 0;
  for (std::int32_t pe = 0; pe < where.machine().pes; ++pe)
    for (std::int64_t offset = 0; offset < where.elements_on(pe); ++offset)
      if (!taken.contains({pe, offset})) {
        ++padding;
        ASSERT_EQ(where.element_at({pe, offset}), std::nullopt) << "padding has a position";
      }
  std::int64_t memory = 0;
  for (std::int32_t pe = 0; pe < where.machine().pes; ++pe) memory += where.elements_on(pe);
  EXPECT_EQ(memory, where.elements() + padding);
}

class random_layouts {
 public:
  std::int64_t draw(std::int64_t first, std::int64_t last) {
    return std::uniform_int_distribution<std::int64_t>(first, last)(random_);
  }
  template <int N>
  layout<N> next() {
    position<N> extents;
    distribution<N> how;
    for (int d = 0; d < N; ++d) {
      extents[d] = draw(1, N > 3 ? 5 : 12);
      how.tile[d] = draw(1, extents[d]);
    }
    machine_shape machine;
    machine.hosts = static_cast<std::int32_t>(draw(1, 4));
    machine.pes = machine.hosts * static_cast<std::int32_t>(draw(1, 4));
    how.first_pe = static_cast<std::int32_t>(draw(0, machine.pes - 1));
    switch (draw(0, 3)) {
      case 0: {
        std::int64_t left = machine.pes;
        for (int d = 0; d < N; ++d) left /= how.grid[d] = draw(1, left);
        break;
      }
      case 1:
        for (int d = 0; d < N; ++d)
          how.host_tile[d] =
              how.tile[d] * draw(1, std::min<std::int64_t>(3, (extents[d] + how.tile[d] - 1) / how.tile[d]));
        break;
      case 2:
        how.tile = {};
        break;
      default:
        break;
    }
    if (draw(0, 1) == 1)
      for (int d = 0; d < N; ++d) how.halo[d] = draw(0, std::min<std::int64_t>(extents[d], 2));
    return layout<N>(extents, how, machine, bytes);
  }
  template <int N>
  region<N> region_of(const position<N>& extents) {
    region<N> box;
    for (int d = 0; d < N; ++d) {
      box.first[d] = draw(0, extents[d]);
      box.last[d] = draw(box.first[d], extents[d]);
    }
    return box;
  }

 private:
  std::mt19937_64 random_{20261127};
};

template <class T>
class LayoutOfDimensions : public ::testing::Test {};
using all_dimensions =
    ::testing::Types<std::integral_constant<int, 1>, std::integral_constant<int, 2>, std::integral_constant<int, 3>,
                     std::integral_constant<int, 4>, std::integral_constant<int, 5>, std::integral_constant<int, 6>>;
TYPED_TEST_SUITE(LayoutOfDimensions, all_dimensions);

TYPED_TEST(LayoutOfDimensions, Every_element_has_one_place_of_its_own) {
  random_layouts random;
  for (int i = 0; i < 100; ++i) expect_bijection(random.next<TypeParam::value>());
}

TYPED_TEST(LayoutOfDimensions, Pieces_of_a_region_are_its_elements) {
  constexpr int N = TypeParam::value;
  random_layouts random;
  for (int i = 0; i < 100; ++i) {
    const layout<N> where = random.next<N>();
    const region<N> box = random.region_of(where.extents());
    const position<N> strides = row_major_strides(box.extents());
    std::map<std::int64_t, place> found;  // by offset in the region
    where.for_each_piece(box, [&](const tile_piece<N>& piece) {
      ASSERT_GT(piece.extents.volume(), 0);
      for (const position<N>& in_piece : all_positions(piece.extents))
        ASSERT_TRUE(found
                        .emplace(piece.region_offset + dot(in_piece, strides),
                                 place{piece.pe, piece.offset + dot(in_piece, where.strides_in_tile())})
                        .second);
    });
    ASSERT_EQ(std::ssize(found), box.volume());
    for (const position<N>& in_box : all_positions(box.extents())) {
      position<N> at = in_box;
      for (int d = 0; d < N; ++d) at[d] += box.first[d];
      ASSERT_EQ(found.at(dot(in_box, strides)), where.place_of(at));
    }
  }
}

TYPED_TEST(LayoutOfDimensions, Shifted_parts_lie_with_one_owner_each) {
  constexpr int N = TypeParam::value;
  random_layouts random;
  for (int i = 0; i < 60; ++i) {
    const layout<N> where = random.next<N>();
    position<N> displacement;
    for (int d = 0; d < N; ++d) displacement[d] = random.draw(-3, 3);
    for (const position<N>& tile : all_positions(where.tiles())) {
      int parts = 0;
      std::int64_t elements = 0;
      where.for_each_shifted_part(tile, displacement, [&](const region<N>& part, std::int32_t owner) {
        ++parts;
        elements += part.volume();
        for (position<N> at : all_positions(part.extents())) {
          for (int d = 0; d < N; ++d) at[d] += part.first[d];
          ASSERT_TRUE(where.elements_of(tile).contains(at));
          for (int d = 0; d < N; ++d) at[d] += displacement[d];
          ASSERT_TRUE(where.contains(at));
          ASSERT_EQ(where.place_of(at).pe, owner);
        }
      });
      ASSERT_LE(parts, 1 << N);
      std::int64_t expected = 0;
      const region<N> own = where.elements_of(tile);
      for (position<N> at : all_positions(own.extents())) {
        for (int d = 0; d < N; ++d) at[d] += own.first[d] + displacement[d];
        expected += where.contains(at) ? 1 : 0;
      }
      ASSERT_EQ(elements, expected) << "parts overlap, or leave elements out";
    }
  }
}

TEST(Layout, A_grid_deals_each_dimension_for_itself) {
  const layout<2> where({8, 8}, distribution<2>(tiles(2, 2), grid(2, 3)), {.pes = 7, .hosts = 1}, bytes);
  for (const position<2>& tile : all_positions(where.tiles()))
    EXPECT_EQ(where.owner_of_tile(tile), tile[0] % 2 * 3 + tile[1] % 3);
  EXPECT_EQ(where.elements_on(6), 0);
}

TEST(Layout, Tiles_of_hosts_stay_on_their_host) {
  const layout<2> where({16, 16}, distribution<2>(tiles(2, 2), host_tiles(8, 4)), {.pes = 6, .hosts = 3}, bytes);
  for (const position<2>& at : all_positions(where.extents())) {
    const std::int64_t host_tile = at[0] / 8 * 4 + at[1] / 4;
    EXPECT_EQ(where.place_of(at).pe / 2, host_tile % 3);
  }
}

TEST(Layout, Without_tiles_blocks_have_the_shortest_edges) {
  const layout<2> square({100, 100}, {}, {.pes = 4, .hosts = 1}, bytes);
  EXPECT_EQ(square.tile(), position<2>(50, 50));
  const layout<2> long_one({1000, 10}, {}, {.pes = 4, .hosts = 1}, bytes);
  EXPECT_EQ(long_one.tile(), position<2>(250, 10));
  const layout<1> few(position<1>(3), {}, {.pes = 8, .hosts = 1}, bytes);
  EXPECT_EQ(few.tile(), position<1>(1));
}

TEST(Layout, Tiles_larger_than_the_array_are_as_large_as_it) {
  const layout<2> where({5, 7}, distribution<2>(tiles(64, 4)), {.pes = 3, .hosts = 1}, bytes);
  EXPECT_EQ(where.tile(), position<2>(5, 4));
  expect_bijection(where);
}

TEST(Layout, An_array_may_be_empty) {
  for (const distribution<2>& how :
       {distribution<2>(), distribution<2>(tiles(2, 2)), distribution<2>(tiles(2, 2), grid(3, 1))}) {
    const layout<2> where({0, 7}, how, {.pes = 3, .hosts = 1}, bytes);
    EXPECT_EQ(where.elements(), 0);
    EXPECT_FALSE(where.contains({0, 0}));
    for (int pe = 0; pe < 3; ++pe) EXPECT_EQ(where.tile_in(pe, 0), std::nullopt);
    where.for_each_piece(region<2>({0, 0}, {0, 7}), [](const tile_piece<2>&) { FAIL() << "there are no pieces"; });
  }
}

TEST(Layout, Division_by_multiplication_is_exact) {
  std::mt19937_64 random(7);
  const auto number = [&] { return static_cast<std::int64_t>(random() >> (1 + random() % 63)); };
  for (int i = 0; i < 1'000'000; ++i) {
    const std::int64_t d = std::max<std::int64_t>(number() >> 2, 1), n = number();
    ASSERT_EQ(divisor(d).quotient(n), n / d) << n << " / " << d;
    ASSERT_EQ(divisor(d).quotient(n / d * d), n / d);
    if (n / d > 0) {
      ASSERT_EQ(divisor(d).quotient(n / d * d - 1), n / d - 1);
    }
  }
  EXPECT_EQ(divisor(3).quotient(std::numeric_limits<std::int64_t>::max()),
            std::numeric_limits<std::int64_t>::max() / 3);
}

template <class Make>
void expect_refused(Make&& make, const std::string& text) {
  try {
    make();
    FAIL() << "not refused";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr(text));
  }
}

TEST(Layout, Wrong_shapes_are_refused_with_what_would_be_right) {
  const auto make = [](const position<2>& extents, const distribution<2>& how, machine_shape machine = {4, 2}) {
    return [=] { layout<2>(extents, how, machine, bytes); };
  };
  expect_refused(make({-1, 5}, {}), "extents are (-1, 5); none may be negative");
  expect_refused(make({std::int64_t{1} << 40, std::int64_t{1} << 40}, {}), "more than can be addressed");
  expect_refused(make({5, 5}, distribution<2>(tiles(0, 2))), "tiles are (0, 2); each extent must be at least 1");
  expect_refused([] { (void)distribution<2>(tiles(0, 0)); }, "tri::tiles is given zeros");
  expect_refused([] { (void)distribution<1>(grid(0)); }, "tri::grid is given zeros");
  expect_refused(make({8, 8}, distribution<2>(host_tiles(4, 4))), "need tiles inside them (tri::tiles)");
  expect_refused(make({5, 5}, distribution<2>(grid(2, 3))), "grid is (2, 3), 6 PEs; there are 4");
  expect_refused(make({5, 5}, distribution<2>(tiles(2, 2), grid(2, -1))), "grid is (2, -1); each number must be");
  expect_refused(make({8, 8}, distribution<2>(tiles(2, 2), host_tiles(3, 4))), "must be a multiple of that of its");
  expect_refused(make({8, 8}, distribution<2>(tiles(2, 2), host_tiles(4, std::int64_t{1} << 32))),
                 "no larger than the");
  expect_refused(make({5, 5}, distribution<2>(grid(4, std::int64_t{1} << 62))), "each number must be at least 1");
  expect_refused(make({8, 8}, distribution<2>(tiles(2, 2), host_tiles(4, 4)), {6, 0}), "as many PEs on each host");
  expect_refused(make({8, 8}, distribution<2>(tiles(2, 2), host_tiles(4, 4), grid(2, 2))), "only one of both");
  expect_refused(make({8, 6}, distribution<2>(halo(1, 7))), "its halo is (1, 7); each width must be at least 0 and at");
  expect_refused(make({8, 6}, distribution<2>(halo(-1))), "its halo is (-1, -1)");
  const std::int64_t large = std::int64_t{1} << 26;
  expect_refused(make({large, large}, distribution<2>(tiles(1, 1), halo(large, large))), "more memory than can be");
}

}  // namespace
}  // namespace tri::arrays
