// How many ways are there to put n queens on an n x n board? An object for every placement of fewer queens than a
// number, as in Charm++'s NQueen; each of the last ones counts what is below it in one method.
#include "searches/placements.hpp"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <stdexcept>
#include <utility>

#include "searches/arguments.hpp"
#include "trireme/objects.hpp"

namespace {

using searches::queens;

/// What a PE has found.
struct counter : tri::group_member<counter> {
  std::int64_t solutions = 0;
  std::int64_t objects = 0;
  std::int64_t get_solutions() { return solutions; }
  std::int64_t get_objects() { return objects; }
};

struct placement : tri::object<placement> {
  placement(tri::group<counter> counters, int n, int rows_of_objects, const queens& at) {
    counter& here = counters.local();
    ++here.objects;
    if (at.rows >= rows_of_objects)
      here.solutions += searches::count_solutions(n, at);
    else
      searches::for_next_rows(
          n, at, [&](const queens& next) { tri::make_object<placement>(counters, n, rows_of_objects, next); });
    erase_this();
  }
};

void run(int n, int rows_of_objects) {
  const auto counters = tri::make_group<counter>();
  const auto before = std::chrono::steady_clock::now();
  searches::for_first_rows(
      n, [&](const queens& first) { tri::make_object<placement>(counters, n, rows_of_objects, first); });
  tri::quiescence().get();
  const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - before).count();
  const std::int64_t found = 2 * counters.reduce<&counter::get_solutions>(tri::sum).get();
  const std::int64_t right = searches::solutions_of_queens[n];
  if (found != right) throw std::runtime_error(fmt::format("found {} solutions, but there are {}", found, right));
  fmt::print("{} queens: {} solutions, verified; {} objects; {:.1f} ms\n", n, found,
             counters.reduce<&counter::get_objects>(tri::sum).get(), ms);
}

}  // namespace

// Usage: queens [n [rows of objects]]
int main(int argc, char** argv) {
  return tri::run(argc, argv, [](int count, char** arguments) {
    try {
      const int n = searches::number_of(count, arguments, 1, "n", 12, 2, 16);
      run(n, searches::number_of(count, arguments, 2, "rows of objects", 4, 1, n - 1));
      return 0;
    } catch (const std::exception& error) {
      fmt::print(stderr, "queens: {}\n", error.what());
      return 1;
    }
  });
}
