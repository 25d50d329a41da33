// The largest eigenvalue of a matrix by power iteration, on a grid of PEs: each has one block of the matrix, rows and
// columns of the grid are teams. Shows: teams as in MPI or UPC++, their split, and collectives in a coroutine.
#include <cmath>
#include <cstdio>
#include <trireme/objects.hpp>
#include <vector>

using vector = std::vector<double>;
constexpr int n = 24, iterations = 1500;

double entry(int i, int j) { return i == j ? 2 : (std::abs(i - j) == 1 ? -1 : 0); }
int first_of(int part, int parts) { return part * n / parts; }

struct Worker : tri::group_member<Worker> {
  tri::task<double> largest_eigenvalue() {
    const tri::team world = tri::team::world();
    int rows = static_cast<int>(std::sqrt(world.size()));
    while (world.size() % rows != 0) --rows;
    const int columns = world.size() / rows;
    const int row = world.rank() / columns, column = world.rank() % columns;
    const tri::team my_row = co_await world.split(row, column);
    const tri::team my_column = co_await world.split(column, row);

    const int top = first_of(row, rows), bottom = first_of(row + 1, rows);
    const int left = first_of(column, columns), right = first_of(column + 1, columns);
    vector x(static_cast<std::size_t>(right - left), 1.0);  // the part of this column of the grid
    x[0] += column == 0 ? 1 : 0;
    double length = 0;
    for (int step = 0; step < iterations; ++step) {
      vector part(static_cast<std::size_t>(bottom - top), 0.0);
      for (int i = top; i < bottom; ++i)
        for (int j = left; j < right; ++j)
          part[static_cast<std::size_t>(i - top)] += entry(i, j) * x[static_cast<std::size_t>(j - left)];
      // The rows of the product are sums along a row of the grid; a column of the grid has all rows.
      const vector y = co_await my_row.allreduce(part, tri::elementwise(tri::sum));
      const std::vector<vector> all = co_await my_column.allgather(y);
      double own = 0;
      for (const double each : y) own += each * each;
      length = std::sqrt(co_await my_column.allreduce(own, tri::sum));
      int i = 0;
      for (const vector& some : all)
        for (const double each : some) {
          if (i >= left && i < right) x[static_cast<std::size_t>(i - left)] = each / length;
          ++i;
        }
    }
    co_await my_row.free();
    co_await my_column.free();
    co_return length;
  }
};

int main(int argc, char** argv) {
  return tri::run(argc, argv, [] {
    const auto workers = tri::make_group<Worker>();
    const double largest = workers.reduce<&Worker::largest_eigenvalue>(tri::maximum).get();
    std::printf("the largest eigenvalue is %.6f\n", largest);
  });
}
