// The hash has the values that its authors publish, at compile time too, and keeps names apart.
#include "os/hash.hpp"

#include <gtest/gtest.h>

namespace tri::os {
namespace {

TEST(hash, has_the_published_values) {
  static_assert(hashed("") == 0xcbf29ce484222325u);
  static_assert(hashed("a") == 0xaf63dc4c8601ec8cu);
  static_assert(hashed("foobar") == 0x85944171f73967e8u);
  EXPECT_EQ(hashed("\xff"), hashed_byte(hash_of_nothing, 0xff)) << "bytes of texts count as 0 to 255";
}

TEST(hash, goes_on_where_a_text_ended) {
  EXPECT_EQ(hashed("bar", hashed("foo")), hashed("foobar"));
  EXPECT_NE(hashed_name(hashed_name(hash_of_nothing, "foo"), "bar"),
            hashed_name(hashed_name(hash_of_nothing, "fo"), "obar"));
}

TEST(hash, takes_words_by_their_bytes) {
  EXPECT_EQ(hashed_word(hash_of_nothing, 0x6867666564636261u), hashed("abcdefgh"));
}

}  // namespace
}  // namespace tri::os
