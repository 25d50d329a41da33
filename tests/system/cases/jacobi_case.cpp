// Jacobi iteration on a 2-D grid in 30 blocks, as coroutines; bit-identical to the sequential loop on any number of PEs
// and processes (M02).
#include <array>
#include <cmath>
#include <cstring>

#include "system/cases/cases.hpp"

namespace tri::testing {
namespace {

constexpr int blocks_x = 6, blocks_y = 5, side = 12, steps = 25;
constexpr int width = blocks_x * side, height = blocks_y * side;

double initial(int x, int y) { return std::sin(0.37 * x) * std::cos(0.21 * y) + 0.01 * x; }
double relaxed(double centre, double left, double right, double up, double down) {
  return 0.2 * (centre + left + right + up + down);
}
int wrap(int value, int extent) { return (value + extent) % extent; }

struct block_2d : array_element<block_2d, index<2>> {
  using row = std::array<double, side>;
  std::vector<double> cells, next;
  std::array<row, 4> edge{};

  block_2d() : cells(side * side), next(side * side) {
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x) at(x, y) = initial(this_index()[0] * side + x, this_index()[1] * side + y);
  }
  double& at(int x, int y) { return cells[static_cast<std::size_t>(y * side + x)]; }
  double value(int x, int y) {
    if (x < 0) return edge[0][static_cast<std::size_t>(y)];
    if (x == side) return edge[1][static_cast<std::size_t>(y)];
    if (y < 0) return edge[2][static_cast<std::size_t>(x)];
    if (y == side) return edge[3][static_cast<std::size_t>(x)];
    return at(x, y);
  }
  void face(int step, int which, row values) {
    static_cast<void>(step);
    edge[static_cast<std::size_t>(which)] = values;
  }
  element_ref<block_2d> neighbour(int dx, int dy) {
    return this_array()(wrap(this_index()[0] + dx, blocks_x), wrap(this_index()[1] + dy, blocks_y));
  }
  task<double> run(int how_many) {
    for (int step = 0; step < how_many; ++step) {
      row left, right, up, down;
      for (int i = 0; i < side; ++i) {
        left[static_cast<std::size_t>(i)] = at(0, i);
        right[static_cast<std::size_t>(i)] = at(side - 1, i);
        up[static_cast<std::size_t>(i)] = at(i, 0);
        down[static_cast<std::size_t>(i)] = at(i, side - 1);
      }
      neighbour(-1, 0).send<&block_2d::face>(step, 1, left);
      neighbour(1, 0).send<&block_2d::face>(step, 0, right);
      neighbour(0, -1).send<&block_2d::face>(step, 3, up);
      neighbour(0, 1).send<&block_2d::face>(step, 2, down);
      co_await when_n<&block_2d::face>(4, step);
      for (int y = 0; y < side; ++y)
        for (int x = 0; x < side; ++x)
          next[static_cast<std::size_t>(y * side + x)] =
              relaxed(at(x, y), value(x - 1, y), value(x + 1, y), value(x, y - 1), value(x, y + 1));
      std::swap(cells, next);
    }
    double total = 0;
    for (const double cell : cells) total += cell;
    co_return total;
  }
  std::vector<double> all_cells() { return cells; }
};

std::vector<double> sequential() {
  std::vector<double> grid(width * height), next(grid.size());
  const auto at = [&](int x, int y) -> std::size_t {
    return static_cast<std::size_t>(wrap(y, height) * width + wrap(x, width));
  };
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) grid[at(x, y)] = initial(x, y);
  for (int step = 0; step < steps; ++step) {
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x)
        next[at(x, y)] =
            relaxed(grid[at(x, y)], grid[at(x - 1, y)], grid[at(x + 1, y)], grid[at(x, y - 1)], grid[at(x, y + 1)]);
    std::swap(grid, next);
  }
  return grid;
}

void jacobi() {
  auto blocks = make_array<block_2d>({blocks_x, blocks_y});
  const double total = blocks.reduce<&block_2d::run>(ordered(sum), steps).get();
  const auto parts = blocks.reduce<&block_2d::all_cells>(gather).get();
  const std::vector<double> grid = sequential();
  double expected_total = 0;
  for (int bx = 0; bx < blocks_x; ++bx) {
    for (int by = 0; by < blocks_y; ++by) {
      const std::vector<double>& part = parts[static_cast<std::size_t>(bx * blocks_y + by)];
      double block_total = 0;
      for (int y = 0; y < side; ++y) {
        for (int x = 0; x < side; ++x) {
          const double cell = grid[static_cast<std::size_t>((by * side + y) * width + bx * side + x)];
          const double found = part[static_cast<std::size_t>(y * side + x)];
          check(std::memcmp(&cell, &found, sizeof cell) == 0, "a cell differs from the sequential run");
          block_total += cell;
        }
      }
      expected_total = bx == 0 && by == 0 ? block_total : expected_total + block_total;
    }
  }
  check(std::memcmp(&total, &expected_total, sizeof total) == 0,
        fmt::format("ordered sum {} instead of {}", total, expected_total));
}
const case_entry jacobi_case{"jacobi", &jacobi};

}  // namespace
}  // namespace tri::testing
