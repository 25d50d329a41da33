// Parts of the dense programs on every PE of a job, in SPMD style, against textbook code on a whole matrix; run by
// ctest over several grids. Prints "<case>: ok".
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "dense/linpack/factorization.hpp"
#include "dense/linpack/panel.hpp"
#include "dense/linpack/row_exchange.hpp"
#include "support/check.hpp"

namespace dense::testing {
namespace {

using tri::testing::check;
using tri::testing::check_equal;

int grid_rows = 1;
int grid_columns = 1;

void check_close(double found, double expected) {
  check(std::abs(found - expected) < 1e-11 * std::max(1.0, std::abs(expected)),
        std::to_string(found) + " instead of " + std::to_string(expected));
}

class whole_matrix {
 public:
  whole_matrix(extent rows, extent columns, std::uint64_t seed) : rows_(rows), columns_(columns) {
    for (extent i = 0; i < rows; ++i)
      for (extent j = 0; j < columns; ++j) values_.push_back(random_element(seed, i, j));
  }
  extent rows() const { return rows_; }
  extent columns() const { return columns_; }
  double& operator()(extent i, extent j) { return values_[static_cast<std::size_t>(i * columns_ + j)]; }
  void swap_rows(extent a, extent b) {
    for (extent j = 0; j < columns_; ++j) std::swap((*this)(a, j), (*this)(b, j));
  }

 private:
  extent rows_, columns_;
  std::vector<double> values_;
};

/// Eliminates the first columns with partial pivoting, by the textbook; returns the pivots.
std::vector<extent> eliminate_columns(whole_matrix& a, extent count) {
  std::vector<extent> pivots;
  for (extent k = 0; k < count; ++k) {
    extent best = k;
    for (extent i = k + 1; i < a.rows(); ++i)
      if (std::abs(a(i, k)) > std::abs(a(best, k))) best = i;
    pivots.push_back(best);
    a.swap_rows(k, best);
    for (extent i = k + 1; i < a.rows(); ++i) {
      a(i, k) /= a(k, k);
      for (extent j = k + 1; j < a.columns(); ++j) a(i, j) -= a(i, k) * a(k, j);
    }
  }
  return pivots;
}

matrix tiled(extent rows, extent columns, extent size) {
  return matrix({rows, columns}, tri::tiles(size, size), tri::grid(grid_rows, grid_columns));
}

// FA-60. Tiles at the edges are partial: their rows lie as far apart as those of whole ones.
void tiles_go_to_blas() {
  constexpr extent rows = 45, columns = 38, inner = 27, size = 16;
  const matrix c = tiled(rows, columns, size);
  whole_matrix a(rows, inner, 1), b(inner, columns, 2);
  fill(c, [](extent i, extent j) { return random_element(3, i, j); });
  for (const tile own : c.own_tiles()) {
    const auto [i, j] = own.elements().first.at;
    multiply(own.extent(0), own.extent(1), inner, -2.0, CblasNoTrans, {&a(i, 0), inner}, CblasNoTrans,
             {&b(0, j), columns}, {own.data(), own.leading_dimension()});
  }
  tri::barrier().get();
  for (extent i = 0; i < rows; ++i)
    for (extent j = 0; j < columns; ++j) {
      double sum = random_element(3, i, j);
      for (extent k = 0; k < inner; ++k) sum -= 2.0 * a(i, k) * b(k, j);
      check_close(c(i, j), sum);
    }
  tri::barrier().get();
  c.free().get();
}

void panels_are_those_of_the_textbook() {
  for (const auto& [n, size] : {std::pair<extent, extent>(83, 16), {64, 32}, {40, 40}, {9, 2}, {50, 19}}) {
    const matrix a = tiled(n, n, size);
    const grid_place place = place_in_grid(a);
    fill(a, [](extent i, extent j) { return random_element(5, i, j); });
    whole_matrix expected(n, n, 5);
    const std::vector<extent> pivots = eliminate_columns(expected, std::min(n, size));
    if (place.is_inside && place.has_column(0)) {
      const panel found = factor_panel(a, place, 0);
      const const_block top = found.top();
      for (extent j = 0; j < found.shape().pivots; ++j) {
        check_equal(found.pivot(j), pivots[static_cast<std::size_t>(j)]);
        for (extent c = 0; c < found.shape().columns; ++c)
          check_close(top.data[j * top.leading_dimension + c], expected(j, c));
        for (extent i = place.next_row(1); i < tile_rows(a); i += place.rows)
          for (extent row = 0; row < height(a, i); ++row) {
            const const_block part = found.multipliers(i);
            check_close(part.data[j * part.leading_dimension + row], expected(i * size + row, j));
          }
      }
    }
    free_teams(place);
    a.free().get();
  }
}

// The moves of a panel against one swap after another.
void rows_move_as_swaps_do() {
  constexpr extent n = 60, size = 12;
  const matrix a = tiled(n, n, size);
  const grid_place place = place_in_grid(a);
  std::mt19937 random(11);
  if (place.is_inside) {
    for (extent number = 0; number < tile_rows(a); ++number)
      for (int repetition = 0; repetition < 50; ++repetition) {
        const panel_shape shape(a, place, number);
        tri::buffer<double> memory(shape.size(), 0.0);
        std::vector<extent> rows(n);
        std::iota(rows.begin(), rows.end(), 0);
        for (extent j = 0; j < shape.pivots; ++j) {
          const extent first = shape.first + j;
          // Often the same few rows, so that a row moves more than once.
          const extent reach = repetition % 2 == 0 ? n - first : std::min<extent>(n - first, 15);
          const extent pivot = first + static_cast<extent>(random()) % reach;
          memory[static_cast<std::size_t>(j)] = static_cast<double>(pivot);
          std::swap(rows[static_cast<std::size_t>(first)], rows[static_cast<std::size_t>(pivot)]);
        }
        const row_moves moves(panel(shape, std::move(memory)));
        std::vector<extent> found(n);
        std::iota(found.begin(), found.end(), 0);
        std::ranges::copy(moves.sources(), found.begin() + shape.first);
        for (const row_moves::displacement& each : moves.displaced()) {
          check(each.row >= shape.first + shape.pivots, "a displaced row lies behind the panel's");
          check(each.from >= shape.first && each.from < shape.first + shape.pivots, "and was one of them");
          found[static_cast<std::size_t>(each.row)] = each.from;
        }
        check(found == rows, "rows moved elsewhere");
      }
  }
  free_teams(place);
  a.free().get();
}

void eliminations_leave_the_upper_factor() {
  constexpr extent n = 57, size = 8;
  whole_matrix expected(n, n + 1, 8);
  eliminate_columns(expected, n);
  for (const look_ahead depth : {look_ahead::none, look_ahead::one}) {
    const matrix a = tiled(n, n + 1, size);
    const grid_place place = place_in_grid(a);
    fill(a, [](extent i, extent j) { return random_element(8, i, j); });
    if (place.is_inside) eliminate(a, place, depth);
    tri::barrier().get();
    for (extent i = 0; i < n; ++i)
      for (extent j = i; j <= n; ++j) check_close(a(i, j), expected(i, j));
    tri::barrier().get();
    free_teams(place);
    a.free().get();
  }
}

void singular_matrices_are_refused() {
  constexpr extent n = 30, size = 8;
  const matrix a = tiled(n, n, size);
  const grid_place place = place_in_grid(a);
  fill(a, [](extent i, extent j) { return j == 5 ? 0.0 : random_element(1, i, j); });
  if (place.is_inside && place.has_column(0))
    tri::testing::check_throws<std::domain_error>([&] { (void)factor_panel(a, place, 0); },
                                                  "the matrix is singular: column 5 has only zeros");
  free_teams(place);
  a.free().get();
}

struct test_case {
  const char* name;
  void (*run)();
};
constexpr test_case cases[] = {{"tiles_go_to_blas", &tiles_go_to_blas},
                               {"panels_are_those_of_the_textbook", &panels_are_those_of_the_textbook},
                               {"rows_move_as_swaps_do", &rows_move_as_swaps_do},
                               {"eliminations_leave_the_upper_factor", &eliminations_leave_the_upper_factor},
                               {"singular_matrices_are_refused", &singular_matrices_are_refused}};

int run_cases(int, char** argv) {
  grid_rows = std::atoi(argv[1]);
  grid_columns = std::atoi(argv[2]);
  use_one_thread();
  for (const test_case& one : cases) {
    one.run();
    if (tri::this_pe() == 0) std::printf("%s: ok\n", one.name);
  }
  return 0;
}

}  // namespace
}  // namespace dense::testing

int main(int argc, char** argv) { return tri::run_everywhere(argc, argv, &dense::testing::run_cases); }
