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
