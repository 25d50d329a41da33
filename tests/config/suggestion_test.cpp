// The suggestion for a misspelt name.
#include "config/suggestion.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tri::config {
namespace {

TEST(suggestion, edit_distance) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("mspc", "mpsc"), 1u);  // two neighbours swapped
}

TEST(suggestion, nearest_name) {
  EXPECT_EQ(nearest_name("pse", {"queue", "pes", "idle"}), "pes");
  EXPECT_EQ(nearest_name("ab", {"cab", "abc"}), "cab");  // the first of equals
  EXPECT_EQ(nearest_name("x", {}), "");
  // The table of distances would take 160 MB for the whole word.
  EXPECT_EQ(nearest_name("queu" + std::string(10'000'000, 'x'), {"pes", "queue" + std::string(60, 'x')}).size(), 65u);
}

TEST(suggestion, what_does_not_resemble_the_word_is_none) {
  EXPECT_EQ(nearest_name("b", {"a", "c"}), "");
  EXPECT_EQ(nearest_name("fool", {"off", "on", "full"}), "");  // 2 of 4 letters
  EXPECT_EQ(nearest_name("schedul", {"schedule"}), "schedule");
  // What all names begin with makes no word resemble them.
  EXPECT_EQ(nearest_name("TRIREME_BANANA", {"TRIREME_PES", "TRIREME_QUEUE"}), "");
  EXPECT_EQ(nearest_name("TRIREME_QUEU", {"TRIREME_PES", "TRIREME_QUEUE"}), "TRIREME_QUEUE");
  EXPECT_EQ(nearest_name("--x", {"--pes", "--n"}), "");
}

TEST(suggestion, texts) {
  EXPECT_EQ(did_you_mean("pse", {"queue", "pes"}), "; did you mean 'pes'?");
  EXPECT_EQ(did_you_mean("pse", {"queue", "pes"}, " (", ")"), " (pes)");
  EXPECT_EQ(did_you_mean("banana", {"queue", "pes"}), "");
}

}  // namespace
}  // namespace tri::config
