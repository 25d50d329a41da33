// Which words can be names of what programs add.
#include "config/given_name.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tri::config {
namespace {

TEST(given_name, lower_case_words_can_be_names) {
  for (const char* const word : {"x", "mirrored", "in_order", "two-level", "level2", "a-", "z_9"})
    EXPECT_TRUE(can_be_a_name(word)) << word;
}

TEST(given_name, what_an_option_could_not_have_as_its_value_cannot) {
  for (const char* const word : {"", "X", "Mirrored", "miRrored", "2x", "-x", "_x", "a b", "a,b", "a=b", "a+b", "a.b",
                                 "a/b", "a'b", "\xc3\xa4", "a\xc3\xa4", "a\n"})
    EXPECT_FALSE(can_be_a_name(word)) << word;
  EXPECT_FALSE(can_be_a_name(std::string("a\0b", 3)));
}

}  // namespace
}  // namespace tri::config
