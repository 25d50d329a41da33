// Heat in a plate whose edges are held at 1, in the shape of Charm++'s jacobi2d: blocks exchange their borders, and
// all of them go on until no cell changes by more than 0.004, which a reduction finds in each step. `jacobi2d --help`
// has the arguments.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>
#include <vector>

#include "ported/main_program.hpp"
#include "ported/plate.hpp"
#include "trireme/objects.hpp"

namespace {

using ported::plate;

constexpr double threshold = 0.004;

struct settings {
  int side = 1024;  // cells
  int block_side = 128;
  int most_steps = 100;
  int blocks() const { return side / block_side; }
};

struct outcome {
  int steps = 0;
  double sum = 0.0;
};

// The cells of a block that are not on the edge of the plate.
struct inner_cells {
  int first_row, last_row, first_column, last_column;
  inner_cells(int row, int column, const settings& of)
      : first_row(row == 0 ? 2 : 1),
        last_row(of.block_side - (row == of.blocks() - 1 ? 1 : 0)),
        first_column(column == 0 ? 2 : 1),
        last_column(of.block_side - (column == of.blocks() - 1 ? 1 : 0)) {}
};

enum side { above, below, left, right };

class block : public tri::array_element<block, tri::index<2>> {
 public:
  explicit block(const settings& of) : of_(of), cells_(of.block_side, of.block_side) {
    const int n = of.block_side;
    for (int k = 0; k <= n + 1; ++k) {
      if (row() == 0) cells_.fix(1, k, 1.0);
      if (column() == 0) cells_.fix(k, 1, 1.0);
      if (row() == of.blocks() - 1) cells_.fix(n, k, 1.0);
      if (column() == of.blocks() - 1) cells_.fix(k, n, 1.0);
    }
  }

  tri::task<outcome> run() {
    const inner_cells inner(row(), column(), of_);
    for (int step = 1;; ++step) {
      const std::size_t borders = send_borders(step);
      co_await when_n<&block::border>(borders, step);
      const double change = cells_.relax(inner.first_row, inner.last_row, inner.first_column, inner.last_column);
      contribute(change, tri::maximum, tri::to<&block::largest_change>(this_array(), step));
      const double largest = co_await when<&block::largest_change>(step);
      if (largest <= threshold || step == of_.most_steps)
        co_return outcome{step, cells_.sum(1, cells_.rows(), 1, cells_.columns())};
    }
  }

  // Awaited by run.
  double largest_change(int, double of_all) { return of_all; }
  void border(int step, side at, const tri::buffer<double>& values) {
    static_cast<void>(step);
    const int n = of_.block_side;
    for (int k = 1; k <= n; ++k) {
      const double value = values[static_cast<std::size_t>(k - 1)];
      switch (at) {
        case above:
          cells_.at(0, k) = value;
          break;
        case below:
          cells_.at(n + 1, k) = value;
          break;
        case left:
          cells_.at(k, 0) = value;
          break;
        case right:
          cells_.at(k, n + 1) = value;
          break;
      }
    }
  }

 private:
  int row() const { return this_index()[0]; }
  int column() const { return this_index()[1]; }

  // Returns how many there are.
  std::size_t send_borders(int step) {
    const int n = of_.block_side;
    const auto row_of = [&](int i) { return values_of([&](int k) { return cells_.at(i, k); }); };
    const auto column_of = [&](int j) { return values_of([&](int k) { return cells_.at(k, j); }); };
    std::size_t borders = 0;
    const auto send = [&](int i, int j, side at, tri::buffer<double> values) {
      this_array()(i, j).send<&block::border>(step, at, std::move(values));
      ++borders;
    };
    if (row() > 0) send(row() - 1, column(), below, row_of(1));
    if (row() < of_.blocks() - 1) send(row() + 1, column(), above, row_of(n));
    if (column() > 0) send(row(), column() - 1, right, column_of(1));
    if (column() < of_.blocks() - 1) send(row(), column() + 1, left, column_of(n));
    return borders;
  }
  template <class Value>
  tri::buffer<double> values_of(Value value) const {
    tri::buffer<double> values(static_cast<std::size_t>(of_.block_side));
    for (int k = 1; k <= of_.block_side; ++k) values[static_cast<std::size_t>(k - 1)] = value(k);
    return values;
  }

  settings of_;
  plate cells_;
};

// The whole plate at once. Throws if a block has another sum, or another number of steps.
void compare(const std::vector<outcome>& found, const settings& of) {
  plate whole(of.side, of.side);
  for (int k = 0; k <= of.side + 1; ++k) {
    whole.fix(1, k, 1.0);
    whole.fix(k, 1, 1.0);
    whole.fix(of.side, k, 1.0);
    whole.fix(k, of.side, 1.0);
  }
  int steps = 1;
  while (whole.relax(2, of.side - 1, 2, of.side - 1) > threshold && steps < of.most_steps) ++steps;
  const int n = of.block_side;
  std::size_t next = 0;
  for (int i = 0; i < of.blocks(); ++i)
    for (int j = 0; j < of.blocks(); ++j, ++next)
      if (found[next].steps != steps || found[next].sum != whole.sum(i * n + 1, (i + 1) * n, j * n + 1, (j + 1) * n))
        throw std::runtime_error(fmt::format("block ({}, {}) differs from the loops", i, j));
}

void run(const settings& of, bool verify) {
  const auto blocks = tri::make_array<block>({of.blocks(), of.blocks()}, of);
  const auto before = std::chrono::steady_clock::now();
  const std::vector<outcome> found = blocks.reduce<&block::run>(tri::gather).get();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
  if (verify) compare(found, of);
  double sum = 0.0;
  for (const outcome& each : found) sum += each.sum;
  const int steps = found.front().steps;
  fmt::print("{} steps: sum {:.12g}{}; {:.3f} ms per step\n", steps, sum, verify ? ", verified" : "",
             seconds * 1e3 / steps);
}

settings settings_of(ported::arguments& given) {
  settings of;
  of.side = given.next("cells per side", of.side, 4, 1 << 15);
  of.block_side = given.next("cells per side of a block", std::min(of.block_side, of.side), 2, of.side);
  of.most_steps = given.next("most steps", of.most_steps, 1, 1'000'000);
  if (of.side % of.block_side != 0)
    throw std::invalid_argument(fmt::format("{} cells do not divide into blocks of {}", of.side, of.block_side));
  return of;
}

}  // namespace

int main(int argc, char** argv) {
  return ported::main_program(
      argc, argv,
      {.name = "jacobi2d",
       .computes = "Heat in a plate whose edges are held at 1, by Jacobi's method. Blocks of cells exchange their\n"
                   "borders in each step, until no cell changes by more than 0.004. Prints the number of steps and\n"
                   "the sum of all cells.",
       .example = "2048 128 100 verify"},
      settings_of, run);
}
