#include "config/suggestion.hpp"

#include <gtest/gtest.h>

#include <string>

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
  // The table of distances would take 160 MB for the whole word.
  EXPECT_EQ(nearest_name("queu" + std::string(10'000'000, 'x'), {"pes", "queue" + std::string(60, 'x')}).size(), 65u);
}

}  // namespace
}  // namespace tri::host
