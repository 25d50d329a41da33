// How many ways are there to put n queens on an n x n board? Every partial solution is an object that makes its
// children and disappears. Shows: objects without a place, which fill all PEs (the tree is walked depth first, so
// memory stays small, while PEs without work take over whole branches), quiescence, a group that collects. Usage:
// queens [n], with --tri-seeds=random|neighbour|stealing|here to compare.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <trireme/objects.hpp>

struct Counter : tri::group_member<Counter> {
  std::int64_t solutions = 0;
  std::int64_t total() { return solutions; }
};

std::int64_t count_below(int n, std::uint32_t columns, std::uint32_t left, std::uint32_t right, int row) {
  if (row == n) return 1;
  std::int64_t sum = 0;
  for (std::uint32_t free = ((1u << n) - 1) & ~(columns | left | right); free != 0; free &= free - 1) {
    const std::uint32_t queen = free & (~free + 1);
    sum += count_below(n, columns | queen, (left | queen) << 1, (right | queen) >> 1, row + 1);
  }
  return sum;
}

struct Position : tri::object<Position> {
  Position(tri::group<Counter> counters, int n, std::uint32_t columns, std::uint32_t left, std::uint32_t right,
           int row) {
    if (row == 4 || row == n) {  // deep enough: the rest is done here
      counters.local().solutions += count_below(n, columns, left, right, row);
    } else {
      for (std::uint32_t free = ((1u << n) - 1) & ~(columns | left | right); free != 0; free &= free - 1) {
        const std::uint32_t queen = free & (~free + 1);
        tri::make_object<Position>(counters, n, columns | queen, (left | queen) << 1, (right | queen) >> 1, row + 1);
      }
    }
    erase_this();
  }
};

int main(int argc, char** argv) {
  return tri::run(argc, argv, [](int count, char** arguments) {
    const int n = count > 1 ? std::atoi(arguments[1]) : 9;
    if (n < 1 || n > 16) {
      std::fprintf(stderr, "queens: n is %d; it must be 1..16\n", n);
      return 1;
    }
    auto counters = tri::make_group<Counter>();
    tri::make_object<Position>(counters, n, 0u, 0u, 0u, 0);
    tri::quiescence().get();  // no message and no seed anywhere: the tree is searched
    std::printf("%d queens: %lld solutions\n", n,
                static_cast<long long>(counters.reduce<&Counter::total>(tri::sum).get()));
    return 0;
  });
}
