// Lists of CPUs as text: ranges, steps, faulty parts.
#include "os/cpu/cpu_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace tri::os {
namespace {

TEST(cpu_list, numbers_ranges_and_steps_in_order) {
  EXPECT_EQ(parse_cpu_list("0"), (std::vector<int>{0}));
  EXPECT_EQ(parse_cpu_list("0,2-5:2"), (std::vector<int>{0, 2, 4}));
  EXPECT_EQ(parse_cpu_list("7,3-5,7"), (std::vector<int>{7, 3, 4, 5, 7}));
  EXPECT_EQ(parse_cpu_list("4-4"), (std::vector<int>{4}));
}

TEST(cpu_list, that_says_much_in_few_letters_takes_no_memory) {
  std::string text = "0-65535";
  for (int i = 0; i < 100; ++i) text += ",0-65535";
  EXPECT_THAT([&] { parse_cpu_list(text); }, ::testing::ThrowsMessage<std::invalid_argument>(::testing::HasSubstr(
                                                 "the CPU list has more than 1048576 entries up to '0-65535'")));
}

TEST(cpu_list, faulty_parts_are_named) {
  for (const char* wrong :
       {"", ",", "0,", "a", "-1", "3-", "5-3", "1-4:0", "1-4:", "1:2", "1-2-3", "0 1", "99999999999"}) {
    EXPECT_THROW(parse_cpu_list(wrong), std::invalid_argument) << wrong;
  }
  try {
    parse_cpu_list("0,1x,2");
    FAIL();
  } catch (const std::invalid_argument& problem) {
    EXPECT_THAT(problem.what(), ::testing::HasSubstr("'1x' in the CPU list '0,1x,2' is not a CPU or a range"));
  }
}

TEST(cpu_list, formatting_reads_back) {
  for (const char* text : {"0", "0,1", "0-2", "7,3-5,7", "0-2,4"}) {
    EXPECT_EQ(parse_cpu_list(format_cpu_list(parse_cpu_list(text))), parse_cpu_list(text));
  }
  EXPECT_EQ(format_cpu_list({0, 1, 2, 3, 8}), "0-3,8");
  EXPECT_EQ(format_cpu_list({}), "");
}

}  // namespace
}  // namespace tri::os
