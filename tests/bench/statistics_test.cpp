#include "framework/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace tri::bench {
namespace {

TEST(Quantile, InterpolatesBetweenNeighbours) {
  EXPECT_DOUBLE_EQ(quantile({10, 20}, 0), 10);
  EXPECT_DOUBLE_EQ(quantile({10, 20}, 0.25), 12.5);
  EXPECT_DOUBLE_EQ(quantile({10, 20}, 1), 20);
  EXPECT_DOUBLE_EQ(quantile({7}, 0.9), 7);
}

TEST(Quantile, RefusesWhatHasNoAnswer) {
  EXPECT_THROW(quantile({}, 0.5), std::invalid_argument);
  EXPECT_THROW(quantile({1, 2}, -0.1), std::invalid_argument);
  EXPECT_THROW(quantile({1, 2}, 1.1), std::invalid_argument);
  EXPECT_THROW(quantile({1, 2}, std::nan("")), std::invalid_argument);
}

TEST(Summarize, GivesMedianAndTenthPercentiles) {
  std::vector<double> samples(101);
  std::iota(samples.rbegin(), samples.rend(), 0.0);  // 100, 99, ... 0: the order must not matter
  const summary result = summarize(samples);
  EXPECT_DOUBLE_EQ(result.median, 50);
  EXPECT_DOUBLE_EQ(result.p10, 10);
  EXPECT_DOUBLE_EQ(result.p90, 90);
  EXPECT_EQ(result.batches, 101U);
}

TEST(Summarize, MedianIgnoresFewWildBatches) { EXPECT_DOUBLE_EQ(summarize({5, 5, 5, 5, 5, 5, 5, 1e9, 1e9}).median, 5); }

TEST(Summarize, RefusesSamplesThatAreNoNumbers) {
  EXPECT_THROW(summarize({}), std::invalid_argument);
  EXPECT_THROW(summarize({1, std::numeric_limits<double>::infinity()}), std::invalid_argument);
  EXPECT_THROW(summarize({std::nan("")}), std::invalid_argument);
}

}  // namespace
}  // namespace tri::bench
