// Reading option values: sizes, integers, numbers, names and switches.
#include "config/option_value.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace tri::config {
namespace {

TEST(option_value, sizes) {
  const allowed_values any = anything("a size");
  EXPECT_EQ(read_size("0", any), 0u);
  EXPECT_EQ(read_size("4096", any), 4096u);
  EXPECT_EQ(read_size("64k", any), 65536u);
  EXPECT_EQ(read_size("2GB", any), std::uint64_t{2} << 30);
  EXPECT_EQ(read_size("1T", any), std::uint64_t{1} << 40);
  for (const char* wrong : {"", "K", "-1", "4KK", "4 K", "1.5G", "17179869184G", "4B"}) {
    EXPECT_THROW(read_size(wrong, any), std::invalid_argument) << wrong;
  }
  EXPECT_EQ(write_size(4096), "4K");
  EXPECT_EQ(write_size(0), "0");
  EXPECT_EQ(write_size(1000), "1000");
  EXPECT_EQ(write_size(std::uint64_t{64} << 30), "64G");
}

TEST(option_value, integers) {
  const allowed_values powers = power_of_two_between(16, 64);
  EXPECT_EQ(read_integer("32", powers), 32);
  for (const char* wrong : {"", "8", "24", "128", "0x10", "16.0", " 16", "99999999999"}) {
    EXPECT_THROW(read_integer(wrong, powers), std::invalid_argument) << wrong;
  }
}

TEST(option_value, numbers) {
  EXPECT_DOUBLE_EQ(read_number("0.25", at_least(0)), 0.25);
  for (const char* wrong : {"", "inf", "nan", "-0.5", "1s"})
    EXPECT_THROW(read_number(wrong, at_least(0)), std::invalid_argument) << wrong;
}

TEST(option_value, names_and_switches) {
  const allowed_values names = one_of("red|green|blue");
  EXPECT_EQ(names.text, "one of red, green, blue");
  EXPECT_EQ(read_name("blue", names), 2);
  EXPECT_THROW(read_name("Blue", names), std::invalid_argument);
  EXPECT_TRUE(read_bool("yes", on_or_off()));
  EXPECT_FALSE(read_bool("0", on_or_off()));
  EXPECT_THROW(read_bool("", on_or_off()), std::invalid_argument);
}

}  // namespace
}  // namespace tri::config
