// The cells of a block: layers between levels, cutting and merging, and what a step conserves.
#include "amr/field.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace {

using namespace amr;

field numbered(std::int32_t cells) {
  field made(cells);
  // Through the layers, which are the way in: a row at a time.
  problem of;
  of.cells = cells;
  made.set_exact(of, {0, 0, 0}, 0.0);
  return made;
}

TEST(field, gives_layers_to_the_same_level_and_others) {
  const field from = numbered(4);
  const auto same = from.border(side::right, 0, 0);
  ASSERT_EQ(same.size(), 4U);
  for (int y = 0; y < 4; ++y) EXPECT_EQ(same[static_cast<std::size_t>(y)], from(y, 3));
  const auto coarser = from.border(side::above, -1, 0);
  ASSERT_EQ(coarser.size(), 2U);
  EXPECT_EQ(coarser[1], 0.5 * (from(3, 2) + from(3, 3)));
  const auto finer = from.border(side::left, 1, 1);
  ASSERT_EQ(finer.size(), 4U);
  EXPECT_EQ(finer[0], from(2, 0));
  EXPECT_EQ(finer[1], from(2, 0));
  EXPECT_EQ(finer[3], from(3, 0));
}

TEST(field, is_the_same_when_it_is_cut_and_merged) {
  const field whole = numbered(8);
  field merged(8);
  double sum = 0.0;
  for (int q = 0; q < 4; ++q) {
    const field quarter = whole.quarter(q);
    merged.set_quarter(q, quarter);
    for (int y = 0; y < 8; ++y)
      for (int x = 0; x < 8; ++x) sum += 0.25 * quarter(y, x);
  }
  for (int y = 0; y < 8; ++y) {
    for (int x = 0; x < 8; ++x) {
      EXPECT_EQ(merged(y, x), whole(y, x));
      sum -= whole(y, x);
    }
  }
  EXPECT_NEAR(sum, 0.0, 1e-12);
}

/// All blocks in one place, advanced as the program does it.
class whole_square {
 public:
  explicit whole_square(const problem& of) : of_(of), now_(first_mesh(of)) {
    for (const block_place& each : now_.blocks()) {
      field cells(of.cells);
      cells.set_exact(of, each, 0.0);
      blocks_.emplace(each, std::move(cells));
    }
  }
  void advance() {
    for (const auto& [place, cells] : blocks_) {
      for (int s = 0; s < side_count; ++s) {
        const auto to = static_cast<side>(s);
        const auto beside = now_.neighbours(place, to);
        for (std::size_t k = 0; k < beside.size(); ++k) {
          const int difference = beside[k].level - place.level;
          const int half =
              difference < 0 ? (to == side::left || to == side::right ? place.y : place.x) % 2 : field::whole;
          blocks_.at(beside[k]).set_layer(opposite(to), half, cells.border(to, difference, static_cast<int>(k)));
        }
      }
    }
    for (auto& [place, cells] : blocks_) cells.advance(of_, place.level);
    ++steps_;
  }
  field_sums sums() const {
    field_sums sum;
    for (const auto& [place, cells] : blocks_)
      sum = sum + cells.sums(of_, place, static_cast<double>(steps_) * of_.time_step());
    return sum;
  }
  const mesh& now() const { return now_; }

 private:
  problem of_;
  mesh now_;
  std::map<block_place, field> blocks_;
  int steps_ = 0;
};

TEST(steps, conserve_the_sum_of_all_cells_across_levels) {
  for (const auto& [x, y] : {std::pair(1.0, 0.5), std::pair(-0.7, 0.3), std::pair(0.4, -1.0), std::pair(-1.0, -1.0)}) {
    problem of;
    of.velocity_x = x;
    of.velocity_y = y;
    of.disc = 1;
    whole_square square(of);
    ASSERT_GT(square.now().blocks().size(), 40U);
    const double before = square.sums().mass;
    for (int step = 0; step < 30; ++step) square.advance();
    EXPECT_NEAR(square.sums().mass, before, 1e-14);
  }
}

TEST(steps, keep_a_constant_field_to_the_bit_at_all_levels) {
  problem of;
  of.refine = 0.05;
  whole_square square(of);
  problem flat = of;
  flat.disc = 1;
  flat.velocity_x = flat.velocity_y = 0.0;
  field cells(of.cells);
  cells.set_exact(flat, {3, 31, 31}, 0.0);  // zeros, far from the disc
  for (int s = 0; s < side_count; ++s)
    cells.set_layer(static_cast<side>(s), field::whole, std::vector<double>(static_cast<std::size_t>(of.cells)));
  cells.advance(of, 3);
  for (int y = 0; y < of.cells; ++y)
    for (int x = 0; x < of.cells; ++x) EXPECT_EQ(cells(y, x), 0.0);
}

// The scheme is of first order: half the cells, half the error.
TEST(steps, come_nearer_to_the_solution_with_smaller_cells) {
  double before = 0.0;
  for (const int roots : {4, 8, 16}) {
    problem of;
    of.roots = roots;
    of.most_levels = 0;
    whole_square square(of);
    const int steps = static_cast<int>(std::lround(0.1 / of.time_step()));
    for (int step = 0; step < steps; ++step) square.advance();
    const double error = square.sums().error;
    if (before != 0.0) {
      EXPECT_LT(error, 0.62 * before);
    }
    EXPECT_GT(error, 0.0);
    before = error;
  }
}

}  // namespace
