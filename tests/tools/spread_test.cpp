// Spread and histogram of given times (K23, K81).
#include "repeat/spread.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <stdexcept>
#include <vector>

namespace tri::tools {
namespace {

TEST(spread, of_given_times) {
  const std::vector<double> times{90, 110, 100, 100};
  const spread found = spread_of(times);
  EXPECT_EQ(found.count, 4u);
  EXPECT_DOUBLE_EQ(found.mean, 100.0);
  EXPECT_DOUBLE_EQ(found.median, 100.0);
  EXPECT_DOUBLE_EQ(found.least, 90.0);
  EXPECT_DOUBLE_EQ(found.largest, 110.0);
  EXPECT_DOUBLE_EQ(found.deviation, std::sqrt(200.0 / 3.0) / 100.0);
  EXPECT_DOUBLE_EQ(spread_of(std::vector<double>{5}).deviation, 0.0);
  EXPECT_EQ(spread_of({}).count, 0u);
}

TEST(histogram, has_a_line_for_each_bin_and_leaves_long_gaps_out) {
  std::vector<double> times(999, 20'100.0);  // 20 us
  times.push_back(24'900.0);                 // the same bin
  times.push_back(33'000.0);                 // 30 us: one empty bin before it
  times.push_back(100'000.0);
  EXPECT_EQ(histogram_text(times, 5000.0),
            "        from    count\n"
            "     20.0 us     1000 ##################################################\n"
            "     25.0 us        0\n"
            "     30.0 us        1 ######\n"
            "         ...\n"
            "      100 us        1 ######\n");
  EXPECT_EQ(histogram_text({}, 5000.0), "");
}

TEST(histogram, bins_that_cannot_be_are_refused) {
  const std::vector<double> times{1e9};
  EXPECT_THROW(histogram_text(times, 0.0), std::invalid_argument);
  EXPECT_THROW(histogram_text(times, -1.0), std::invalid_argument);
  EXPECT_THAT([&] { histogram_text(times, 1000.0); },
              testing::ThrowsMessage<std::invalid_argument>(testing::HasSubstr("more than 100000; take longer ones")));
}

}  // namespace
}  // namespace tri::tools
