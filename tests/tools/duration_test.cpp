#include "duration.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace tri::tools {
namespace {

TEST(duration, needs_a_unit) {
  EXPECT_EQ(parse_duration("250ns"), 250.0);
  EXPECT_EQ(parse_duration("1.5us"), 1500.0);
  EXPECT_EQ(parse_duration("2 ms"), 2e6);
  EXPECT_EQ(parse_duration("0s"), 0.0);
  for (const char* wrong : {"", "5", "ms", "-1us", "1e400s", "1m", "1 us later", "nan s", "infs"}) {
    EXPECT_THAT([&] { parse_duration(wrong); },
                ::testing::ThrowsMessage<std::invalid_argument>(::testing::HasSubstr("such as 250us")))
        << wrong;
  }
}

TEST(duration, is_shown_with_three_digits) {
  EXPECT_EQ(format_duration(0.0), "0 ns");
  EXPECT_EQ(format_duration(1.0), "1.00 ns");
  EXPECT_EQ(format_duration(12.34), "12.3 ns");
  EXPECT_EQ(format_duration(999.4), "999 ns");
  EXPECT_EQ(format_duration(999.6), "1.00 us");
  EXPECT_EQ(format_duration(99.96e3), "100 us");
  EXPECT_EQ(format_duration(3.5e12), "3500 s");
}

}  // namespace
}  // namespace tri::tools
