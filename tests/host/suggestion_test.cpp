#include "host/suggestion.hpp"

#include <gtest/gtest.h>

namespace tri::host {
namespace {

TEST(suggestion, edit_distance) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("mspc", "mpsc"), 1u);  // two neighbours swapped
}

TEST(suggestion, nearest_name) {
  EXPECT_EQ(nearest_name("pse", {"queue", "pes", "idle"}), "pes");
  EXPECT_EQ(nearest_name("b", {"a", "c"}), "a");
  EXPECT_EQ(nearest_name("x", {}), "");
}

}  // namespace
}  // namespace tri::host
