// The matrix of NAS CG and the sequential program beside published figures.
#include "conjugate_gradient/matrix.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "conjugate_gradient/sequential.hpp"

namespace cg {
namespace {

const problem& find(const std::string& name) {
  return *std::find_if(problems().begin(), problems().end(), [&](const problem& one) { return one.name == name; });
}

TEST(conjugate_gradient_matrix, has_the_published_zeta_of_class_s) {
  const problem& of = find("S");
  EXPECT_NEAR(sequential_zeta(of, make_rows(of, 0, of.rows)), 8.5971775078648, 1e-10);
}

TEST(conjugate_gradient_matrix, has_the_published_number_of_elements) {
  const problem& of = find("S");  // "number of nonzeros" of the benchmark's sequential program
  EXPECT_EQ(make_rows(of, 0, of.rows).value.size(), 78148U);
}

TEST(conjugate_gradient_matrix, is_symmetric) {
  const problem& of = find("tiny");
  const sparse_rows all = make_rows(of, 0, of.rows);
  const auto at = [&](std::int64_t row, std::int64_t column) {
    for (auto k = static_cast<std::size_t>(all.begin[static_cast<std::size_t>(row)]);
         k < static_cast<std::size_t>(all.begin[static_cast<std::size_t>(row) + 1]); ++k)
      if (all.column[k] == column) return all.value[k];
    return 0.0;
  };
  for (std::int64_t i = 0; i < of.rows; ++i)
    for (std::int64_t j = 0; j < i; ++j) ASSERT_NEAR(at(i, j), at(j, i), 1e-15) << i << ' ' << j;
}

TEST(conjugate_gradient_matrix, is_the_same_in_parts) {
  const problem& of = find("tiny");
  const sparse_rows all = make_rows(of, 0, of.rows), part = make_rows(of, 30, 70);
  ASSERT_EQ(part.count(), 40);
  for (std::int64_t i = 0; i < 40; ++i) {
    const auto in_all = static_cast<std::size_t>(all.begin[static_cast<std::size_t>(i) + 30]);
    const auto in_part = static_cast<std::size_t>(part.begin[static_cast<std::size_t>(i)]);
    const auto end = static_cast<std::size_t>(part.begin[static_cast<std::size_t>(i) + 1]);
    for (std::size_t k = in_part; k < end; ++k) {
      EXPECT_EQ(part.column[k], all.column[in_all + k - in_part]);
      EXPECT_EQ(part.value[k], all.value[in_all + k - in_part]);
    }
  }
}

TEST(conjugate_gradient_matrix, has_no_rows_where_none_are_wanted) {
  EXPECT_EQ(make_rows(find("tiny"), 5, 5).count(), 0);
}

}  // namespace
}  // namespace cg
