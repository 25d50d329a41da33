// Jacobi iteration on a square grid cut into blocks that exchange their borders. Shows: a coroutine per object that
// waits for messages by reference number, buffers that travel without being copied, and results that do not depend on
// the number of PEs. Usage: jacobi [cells per side] [blocks per side] [iterations]
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <trireme/objects.hpp>
#include <vector>

enum side { west, east, north, south };

struct Block : tri::array_element<Block, tri::index<2>> {
  int blocks, n;  // blocks per side of the grid, cells per side of this block
  std::vector<double> now, next;

  Block(int blocks_per_side, int cells) : blocks(blocks_per_side), n(cells), now(area(), 0.0), next(area(), 0.0) {
    if (this_index()[0] == 0)  // the hot wall
      for (int j = 0; j < n + 2; ++j) now[at(0, j)] = next[at(0, j)] = 1.0;
  }

  // A border that a neighbour sends for iteration `step`; it is copied in when run() asks for that step, not before.
  void border(int step, int from, tri::buffer<double> cells) {
    (void)step;
    for (int k = 0; k < n; ++k)
      now[from == west    ? at(k + 1, 0)
          : from == east  ? at(k + 1, n + 1)
          : from == north ? at(0, k + 1)
                          : at(n + 1, k + 1)] = cells[static_cast<std::size_t>(k)];
  }

  tri::task<double> run(int steps) {
    for (int step = 0; step < steps; ++step) {
      std::size_t neighbours = 0;
      for (const auto& [di, dj, to] : {std::array{0, -1, int(east)}, std::array{0, 1, int(west)},
                                       std::array{-1, 0, int(south)}, std::array{1, 0, int(north)}}) {
        const int i = this_index()[0] + di, j = this_index()[1] + dj;
        if (i < 0 || j < 0 || i >= blocks || j >= blocks) continue;
        ++neighbours;
        tri::buffer<double> cells(static_cast<std::size_t>(n));
        for (int k = 0; k < n; ++k)
          cells[static_cast<std::size_t>(k)] = now[dj != 0 ? at(k + 1, dj < 0 ? 1 : n) : at(di < 0 ? 1 : n, k + 1)];
        this_array()(i, j).send<&Block::border>(step, to, std::move(cells));
      }
      co_await when_n<&Block::border>(neighbours, step);
      for (int i = 1; i <= n; ++i)
        for (int j = 1; j <= n; ++j)
          next[at(i, j)] = 0.25 * (now[at(i - 1, j)] + now[at(i + 1, j)] + now[at(i, j - 1)] + now[at(i, j + 1)]);
      std::swap(now, next);
    }
    double sum = 0;
    for (int i = 1; i <= n; ++i)
      for (int j = 1; j <= n; ++j) sum += now[at(i, j)];
    co_return sum;
  }

 private:
  std::size_t area() const { return static_cast<std::size_t>((n + 2) * (n + 2)); }
  std::size_t at(int i, int j) const { return static_cast<std::size_t>(i * (n + 2) + j); }
};

int main(int argc, char** argv) {
  return tri::run(argc, argv, [](int count, char** arguments) {
    const auto argument = [&](int i, int otherwise) { return count > i ? std::atoi(arguments[i]) : otherwise; };
    const int cells = argument(1, 240), blocks = argument(2, 6), steps = argument(3, 100);
    if (blocks < 1 || cells < blocks || cells % blocks != 0 || steps < 0) {
      std::fprintf(stderr, "jacobi: %d cells do not divide into %d blocks per side, or %d steps are not possible\n",
                   cells, blocks, steps);
      return 1;
    }
    auto grid = tri::make_array<Block>({blocks, blocks}, blocks, cells / blocks);
    // Added up in the order of the blocks, so that every run prints the same digits.
    const double heat = grid.reduce<&Block::run>(tri::ordered(tri::sum), steps).get();
    std::printf("after %d steps the grid holds %.15g\n", steps, heat);
    return 0;
  });
}
