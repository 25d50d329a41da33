// LU (K25): against a textbook factorization written here, and LAPACK where there is one (dense_lu::check); the same
// bits by loops with every schedule and by the task graph with every fraction; who runs which task.
#include "lu/dense_lu.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <thread>

#include "every_method.hpp"
#include "loops/random_numbers.hpp"

namespace kernels {
namespace {

struct textbook {
  std::vector<double> matrix;
  std::vector<std::size_t> pivots;
};

textbook factor_by_the_book(std::vector<double> a, std::size_t n) {
  textbook made;
  const auto at = [&](std::size_t row, std::size_t column) -> double& { return a[column * n + row]; };
  for (std::size_t step = 0; step < n; ++step) {
    std::size_t pivot = step;
    for (std::size_t row = step; row < n; ++row) {
      if (std::abs(at(row, step)) > std::abs(at(pivot, step))) pivot = row;
    }
    made.pivots.push_back(pivot);
    for (std::size_t column = 0; column < n; ++column) std::swap(at(step, column), at(pivot, column));
    for (std::size_t row = step + 1; row < n; ++row) {
      at(row, step) /= at(step, step);
      for (std::size_t column = step + 1; column < n; ++column) at(row, column) -= at(row, step) * at(step, column);
    }
  }
  made.matrix = std::move(a);
  return made;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0.0;
  for (std::size_t place = 0; place < a.size(); ++place) largest = std::max(largest, std::abs(a[place] - b[place]));
  return largest;
}

TEST(tiled_lu_factors, are_those_of_the_textbook) {
  for (const std::size_t size : std::vector<std::size_t>{1, 2, 7, 31, 64, 100, 129}) {
    for (const std::size_t tile : std::vector<std::size_t>{1, 5, 32, 200}) {
      tiled_lu lu(size, tile);
      lu.fill(size);
      const std::vector<double> original = lu.matrix();
      factor_serially(lu);
      const textbook expected = factor_by_the_book(original, size);
      EXPECT_EQ(lu.pivots(), expected.pivots) << size << " in tiles of " << tile;
      EXPECT_LT(largest_difference(lu.matrix(), expected.matrix), 1e-11) << size << " in tiles of " << tile;
      EXPECT_LT(factorization_error(original, lu, 0), 1e-14);
      EXPECT_LT(factorization_error(original, lu, 3), 1e-14);
    }
  }
}

TEST(tiled_lu_factors, of_a_singular_matrix_still_multiply_to_it) {
  std::vector<double> matrix(40 * 40);
  for (std::size_t place = 0; place < matrix.size(); ++place) {
    matrix[place] = static_cast<double>(place % 40) + 1.0;  // all columns are the same
  }
  tiled_lu lu(40, 8);
  lu.assign(matrix);
  factor_serially(lu);
  EXPECT_LT(factorization_error(matrix, lu, 0), 1e-14);
}

TEST(tiled_lu_factors, an_error_is_seen) {
  tiled_lu lu(50, 8);
  lu.fill(1);
  std::vector<double> original = lu.matrix();
  factor_serially(lu);
  original[7] += 1e-6;
  EXPECT_GT(factorization_error(original, lu, 0), 1e-9);
  EXPECT_GT(factorization_error(original, lu, 3), 1e-9);
}

TEST(dense_lu_factors, are_the_same_by_every_schedule_and_fraction) {
  for (const dense_lu_size& size : {dense_lu_size{1, 4}, dense_lu_size{90, 16}, dense_lu_size{200, 32}}) {
    dense_lu factors(size);
    test::expect_same_with_every_method(factors,
                                        {"tasks", "tasks,0", "tasks,0.25", "tasks,0.5", "tasks,0.9", "tasks,1"});
  }
}

TEST(dense_lu_factors, of_300_in_tiles_of_32) {
  dense_lu factors({300, 32});
  const std::vector<double> original = factors.factors().matrix();
  factors.run_serial();
  for (const char* text : {"tasks,0", "tasks,0.5", "tasks,0.9", "tasks,1"}) {
    method how(text);
    factors.reset();
    factors.run(how);
    EXPECT_LT(factorization_error(original, factors.factors(), 0), 1e-13) << text;
    test::expect_right(factors);
  }
}

TEST(dense_lu_factors, a_wrong_one_is_found) {
  dense_lu factors({60, 16});
  factors.run_serial();
  method how("tasks");
  factors.run(how);
  test::expect_right(factors);
  factors.run(how);  // factors the factors
  EXPECT_FALSE(factors.check()[0].right);
  EXPECT_FALSE(factors.check()[1].right);
}

// --- the task graph ---

using place = std::tuple<lu_task_kind, std::uint32_t, std::uint32_t, std::uint32_t>;
place place_of(const lu_task& task) { return {task.kind, task.step, task.row, task.column}; }

TEST(lu_task_graph, runs_every_task_once_and_owned_ones_by_their_owner) {
  for (const std::uint32_t workers : {1u, 2u, 3u, 4u, 6u}) {
    for (const double fraction : {0.0, 0.3, 0.5, 0.9, 1.0}) {
      tiled_lu lu(120, 10);
      lu.fill(2);
      tiled_lu expected = lu;
      factor_serially(expected);
      lu_tasks graph(lu, fraction, workers);
      EXPECT_EQ(graph.static_columns(), static_cast<std::uint32_t>(std::lround(fraction * 12)));
      for (std::uint32_t number = 0; number < workers; ++number) graph.arrive(number);
      std::vector<std::thread> threads;
      for (std::uint32_t number = 0; number < workers; ++number) {
        threads.emplace_back([&graph, number] { graph.work(number); });
      }
      for (std::thread& each : threads) each.join();
      std::set<place> ran;
      std::set<std::uint32_t> owners;
      for (const lu_tasks::execution& each : graph.executions()) {
        EXPECT_TRUE(ran.insert(place_of(each.task)).second);
        EXPECT_EQ(each.owner, graph.owner_of(each.task));
        EXPECT_EQ(each.owner == lu_tasks::nobody, each.task.column >= graph.static_columns());
        if (each.owner != lu_tasks::nobody) {
          EXPECT_EQ(each.worker, each.owner);
          owners.insert(each.owner);
        }
      }
      EXPECT_EQ(ran.size(), 12u + 66u + 506u);  // panels, applies, updates
      if (fraction >= 0.5) {
        EXPECT_EQ(owners.size(), workers) << "work is dealt out to all";
      }
      for (std::size_t column = 0; column < lu.tiles(); ++column) lu.swap_left(column);
      EXPECT_EQ(lu.pivots(), expected.pivots());
      EXPECT_TRUE(test::bits_of(lu.matrix()) == test::bits_of(expected.matrix()));
    }
  }
}

TEST(lu_task_graph, owners_are_dealt_out_in_a_2d_cycle) {
  tiled_lu lu(80, 10);
  const lu_tasks graph(lu, 1.0, 6);  // a grid of 2 by 3
  const auto owner = [&](std::uint32_t row, std::uint32_t column) {
    return graph.owner_of({lu_task_kind::update, 0, row, column});
  };
  EXPECT_EQ(owner(0, 0), 0u);
  EXPECT_EQ(owner(0, 2), 2u);
  EXPECT_EQ(owner(1, 0), 3u);
  EXPECT_EQ(owner(1, 2), 5u);
  for (std::uint32_t row = 0; row < 6; ++row) {
    for (std::uint32_t column = 0; column < 5; ++column) {
      EXPECT_EQ(owner(row, column), owner(row + 2, column));
      EXPECT_EQ(owner(row, column), owner(row, column + 3));
    }
  }
}

TEST(lu_task_graph, ends_when_owners_never_come) {
  tiled_lu lu(100, 10);
  lu.fill(3);
  const std::vector<double> original = lu.matrix();
  lu_tasks graph(lu, 1.0, 4);
  graph.work(2);  // alone
  graph.work(0);  // late: nothing is left
  for (std::size_t column = 0; column < lu.tiles(); ++column) lu.swap_left(column);
  EXPECT_LT(factorization_error(original, lu, 0), 1e-14);
  for (const lu_tasks::execution& each : graph.executions()) EXPECT_EQ(each.worker, 2u);
}

TEST(lu_task_graph, own_tasks_go_before_shared_ones) {
  tiled_lu lu(100, 10);
  lu.fill(4);
  lu_tasks graph(lu, 0.5, 1);
  graph.work(0);
  // When apply (0, 9), shared, runs, no task of the static columns that was ready at that time may be left: all updates
  // of steps that the static columns can do alone come first.
  std::map<place, std::size_t> order;
  for (const lu_tasks::execution& each : graph.executions()) order.emplace(place_of(each.task), order.size());
  EXPECT_LT(order.at({lu_task_kind::panel, 4, 4, 4}), order.at({lu_task_kind::apply, 0, 0, 9}));
}

TEST(lu_task_graph, parameters_that_make_no_sense_are_refused) {
  tiled_lu lu(10, 5);
  EXPECT_THROW(lu_tasks(lu, -0.1, 2), std::invalid_argument);
  EXPECT_THROW(lu_tasks(lu, 1.1, 2), std::invalid_argument);
  EXPECT_THROW(lu_tasks(lu, 0.5, 0), std::invalid_argument);
  EXPECT_THROW(tiled_lu(0, 4), std::invalid_argument);
  EXPECT_THROW(tiled_lu(4, 0), std::invalid_argument);
}

// --- the product of blocks ---

std::vector<multiply_variant> variants() {
  std::vector<multiply_variant> all{{"generic", multiply_generic}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) all.push_back({"avx2", multiply_avx2});
  if (__builtin_cpu_supports("avx512f")) all.push_back({"avx512", multiply_avx512});
#endif
  return all;
}

TEST(block_multiply, subtracts_the_product_and_touches_nothing_else) {
  tri::loops::random_numbers random(1);
  for (const multiply_variant& variant : variants()) {
    for (const std::size_t rows : std::vector<std::size_t>{1, 3, 24, 25, 300}) {
      for (const std::size_t columns : std::vector<std::size_t>{1, 4, 8, 13}) {
        for (const std::size_t depth : std::vector<std::size_t>{0, 1, 9, 40}) {
          std::vector<double> a((rows + 2) * (depth + 1));
          std::vector<double> b((depth + 3) * columns);
          std::vector<double> c((rows + 1) * columns);
          for (auto* numbers : {&a, &b, &c}) {
            for (double& number : *numbers) number = random.fraction() - 0.5;
          }
          std::vector<double> expected = c;
          for (std::size_t column = 0; column < columns; ++column) {
            for (std::size_t row = 0; row < rows; ++row) {
              for (std::size_t step = 0; step < depth; ++step) {
                expected[column * (rows + 1) + row] -= a[step * (rows + 2) + row] * b[column * (depth + 3) + step];
              }
            }
          }
          variant.run({c.data(), rows + 1, rows, columns}, {a.data(), rows + 2, rows, depth},
                      {b.data(), depth + 3, depth, columns});
          EXPECT_LT(largest_difference(c, expected), 1e-13) << variant.name << ' ' << rows << ' ' << columns;
          for (std::size_t column = 0; column < columns; ++column) {
            EXPECT_EQ(c[column * (rows + 1) + rows], expected[column * (rows + 1) + rows]);
          }
        }
      }
    }
  }
}

TEST(block_multiply, gives_the_same_bits_however_c_is_cut) {
  constexpr std::size_t size = 100;
  tri::loops::random_numbers random(2);
  std::vector<double> a(size * size);
  std::vector<double> b(size * size);
  for (double& number : a) number = random.fraction();
  for (double& number : b) number = random.fraction();
  for (const multiply_variant& variant : variants()) {
    std::vector<double> whole(size * size, 1.0);
    std::vector<double> cut = whole;
    const block all_a{a.data(), size, size, size};
    const block all_b{b.data(), size, size, size};
    variant.run({whole.data(), size, size, size}, all_a, all_b);
    const block target{cut.data(), size, size, size};
    for (std::size_t row = 0; row < size; row += 37) {
      for (std::size_t column = 0; column < size; column += 11) {
        const std::size_t rows = std::min<std::size_t>(37, size - row);
        const std::size_t columns = std::min<std::size_t>(11, size - column);
        variant.run(target.part(row, column, rows, columns), all_a.part(row, 0, rows, size),
                    all_b.part(0, column, size, columns));
      }
    }
    EXPECT_TRUE(test::bits_of(whole) == test::bits_of(cut)) << variant.name;
  }
}

}  // namespace
}  // namespace kernels
