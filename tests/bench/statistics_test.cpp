#include "framework/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace tri::bench {
namespace {

TEST(quantile, interpolates_between_neighbours) {
  EXPECT_DOUBLE_EQ(quantile({10, 20}, 0), 10);
  EXPECT_DOUBLE_EQ(quantile({10, 20}, 0.25), 12.5);
  EXPECT_DOUBLE_EQ(quantile({10, 20}, 1), 20);
  EXPECT_DOUBLE_EQ(quantile({7}, 0.9), 7);
}

TEST(quantile, refuses_what_has_no_answer) {
  EXPECT_THROW(quantile({}, 0.5), std::invalid_argument);
  EXPECT_THROW(quantile({1, 2}, -0.1), std::invalid_argument);
  EXPECT_THROW(quantile({1, 2}, 1.1), std::invalid_argument);
  EXPECT_THROW(quantile({1, 2}, std::nan("")), std::invalid_argument);
}

TEST(summarize, gives_median_and_tenth_percentiles) {
  std::vector<double> samples(101);
  std::iota(samples.rbegin(), samples.rend(), 0.0);  // 100, 99, ... 0: the order must not matter
  const summary result = summarize(samples);
  EXPECT_DOUBLE_EQ(result.median, 50);
  EXPECT_DOUBLE_EQ(result.p10, 10);
  EXPECT_DOUBLE_EQ(result.p90, 90);
  EXPECT_EQ(result.batches, 101U);
}

TEST(summarize, median_ignores_few_wild_batches) {
  EXPECT_DOUBLE_EQ(summarize({5, 5, 5, 5, 5, 5, 5, 1e9, 1e9}).median, 5);
}

TEST(summarize, refuses_samples_that_are_no_numbers) {
  EXPECT_THROW(summarize({}), std::invalid_argument);
  EXPECT_THROW(summarize({1, std::numeric_limits<double>::infinity()}), std::invalid_argument);
  EXPECT_THROW(summarize({std::nan("")}), std::invalid_argument);
}

}  // namespace
}  // namespace tri::bench
