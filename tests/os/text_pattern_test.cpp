// Extended regular expressions: search, groups, refused patterns.
#include "os/text_pattern.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

namespace tri::os {
namespace {

TEST(text_pattern, is_found_anywhere_unless_it_is_anchored) {
  const text_pattern pattern("^r|join$");
  EXPECT_TRUE(pattern.is_found_in("rate"));
  EXPECT_TRUE(pattern.is_found_in("fork_join"));
  EXPECT_FALSE(pattern.is_found_in("own_pe"));
}

TEST(text_pattern, has_groups_alternatives_and_classes) {
  const text_pattern pattern("ucx/.*/(one_way|stream)");
  EXPECT_TRUE(pattern.is_found_in("wire/ucx/loopback/stream/8"));
  EXPECT_FALSE(pattern.is_found_in("wire/tcp/loopback/stream/8"));
  EXPECT_TRUE(text_pattern("intercepted [1-9]").is_found_in("loops intercepted 12"));
  EXPECT_FALSE(text_pattern("intercepted [1-9]").is_found_in("loops intercepted 0"));
}

TEST(text_pattern, finds_its_first_group) {
  const text_pattern pattern("time: ([0-9.]+) (s|ms)");
  EXPECT_EQ(pattern.first_group("the time: 12.5 ms, then time: 3 s"), "12.5");
  EXPECT_EQ(pattern.first_group("time: none"), std::nullopt);
  EXPECT_EQ(text_pattern("[0-9]+").first_group("a 42 b"), "42") << "all of it without a group";
  EXPECT_EQ(text_pattern("a(b)?").first_group("ac"), std::nullopt) << "a group that takes no part";
}

TEST(text_pattern, refuses_what_is_no_expression) {
  EXPECT_THROW(text_pattern("("), std::invalid_argument);
  EXPECT_THROW(text_pattern("[a"), std::invalid_argument);
}

TEST(text_pattern, copies_search_for_the_same) {
  const text_pattern first("abc");
  const text_pattern second = first;
  EXPECT_TRUE(second.is_found_in("xabcx"));
}

}  // namespace
}  // namespace tri::os
