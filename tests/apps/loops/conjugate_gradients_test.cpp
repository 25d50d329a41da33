// Conjugate gradients on uneven rows: the same bits by every schedule and as the serial program; the residual is that
// of the solution; the matrix is what its header promises.
#include "sparse/conjugate_gradients.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "every_method.hpp"

namespace kernels {
namespace {

TEST(conjugate_gradients_solution, has_the_bits_of_the_serial_program_by_every_schedule) {
  for (const int rows : {2, 50, 3001}) {
    conjugate_gradients solver({rows, 4, 6});
    test::expect_same_with_every_method(solver);
  }
}

TEST(conjugate_gradients_solution, solves_the_equations) {
  conjugate_gradients solver({500, 4, 120});
  solver.run_serial();
  method how("dynamic,5");
  solver.run(how);
  test::expect_right(solver);
  const double last = solver.result().back();  // square of the residual's length
  EXPECT_LT(last, 1e-12);
}

TEST(conjugate_gradients_solution, a_wrong_one_is_found) {
  conjugate_gradients solver({200, 4, 5});
  solver.run_serial();
  method how("static");
  solver.run(how);
  test::expect_right(solver);
  solver.run(how);  // goes on from there
  EXPECT_FALSE(solver.check().front().right);
}

TEST(network_matrix, is_symmetric_and_dominated_by_its_diagonal_with_uneven_rows) {
  const sparse_matrix matrix = network_matrix(2000, 4, 1);
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> entries;
  std::uint32_t longest = 0;
  std::uint32_t shortest = matrix.rows();
  for (std::uint32_t row = 0; row < matrix.rows(); ++row) {
    double others = 0.0;
    for (std::uint32_t entry = matrix.row_begin[row]; entry < matrix.row_begin[row + 1]; ++entry) {
      EXPECT_TRUE(entries.emplace(std::pair(row, matrix.column[entry]), matrix.value[entry]).second);
      if (matrix.column[entry] != row) others += std::abs(matrix.value[entry]);
      if (entry > matrix.row_begin[row]) {
        EXPECT_LT(matrix.column[entry - 1], matrix.column[entry]);
      }
    }
    EXPECT_GT(entries.at({row, row}), others);
    longest = std::max(longest, matrix.row_entries(row));
    shortest = std::min(shortest, matrix.row_entries(row));
  }
  for (const auto& [at, value] : entries) EXPECT_EQ(entries.at({at.second, at.first}), value);
  EXPECT_GT(longest, 20 * shortest);
}

TEST(conjugate_gradients_solution, sizes_that_make_no_sense_are_refused) {
  EXPECT_THROW(conjugate_gradients({1, 4, 1}), std::invalid_argument);
  EXPECT_THROW(conjugate_gradients({10, 0, 1}), std::invalid_argument);
  EXPECT_THROW(conjugate_gradients({10, 4, -1}), std::invalid_argument);
}

}  // namespace
}  // namespace kernels
