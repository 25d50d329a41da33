#include "omp_rewrite/text_edit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace tri::tools {
namespace {

TEST(text_edit, edits_are_applied_by_their_place) {
  EXPECT_EQ(apply_edits("abcdef", {{4, 6, "X"}, {0, 0, "<"}, {1, 2, ""}}), "<acdX");
  EXPECT_EQ(apply_edits("", {}), "");
  EXPECT_THROW(apply_edits("abc", {{0, 2, ""}, {1, 3, ""}}), std::logic_error);
  EXPECT_THROW(apply_edits("abc", {{2, 4, ""}}), std::logic_error);
}

TEST(text_edit, a_diff_has_three_lines_around_each_change) {
  EXPECT_EQ(unified_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", {{8, 8, "+"}}, "x", false),
            "--- a/x\n+++ b/x\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n++5\n 6\n 7\n 8\n");
  EXPECT_EQ(unified_diff("1\n2\n", {}, "x", false), "");
}

TEST(text_edit, changes_that_are_near_share_a_hunk) {
  const std::string seven = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
  EXPECT_EQ(unified_diff(seven, {{0, 1, "a"}, {14, 15, "h\nH"}}, "x", false),
            "--- a/x\n+++ b/x\n@@ -1,9 +1,10 @@\n-1\n+a\n 2\n 3\n 4\n 5\n 6\n 7\n-8\n+h\n+H\n 9\n");
  EXPECT_EQ(unified_diff(seven, {{0, 1, "a\nA"}, {16, 17, "i"}}, "x", false),
            "--- a/x\n+++ b/x\n@@ -1,4 +1,5 @@\n-1\n+a\n+A\n 2\n 3\n 4\n@@ -6,4 +7,4 @@\n 6\n 7\n 8\n-9\n+i\n");
}

TEST(text_edit, lines_that_an_edit_joins_and_files_without_a_last_line_end) {
  EXPECT_EQ(unified_diff("1\n2\n3", {{1, 3, ""}, {4, 5, "x"}}, "x", false),
            "--- a/x\n+++ b/x\n@@ -1,3 +1,2 @@\n-1\n-2\n+1\n-3\n\\ No newline at end of file\n+x\n"
            "\\ No newline at end of file\n");
}

TEST(text_edit, changed_lines_are_those_that_the_original_has_not) {  // K93
  const std::string_view text = "a\nb\nc\nd\n";
  EXPECT_EQ(lines_changed_by(text, {}), 0u);
  EXPECT_EQ(lines_changed_by(text, {{2, 3, "B"}}), 1u);
  EXPECT_EQ(lines_changed_by(text, {{0, 1, "A"}, {6, 7, "D"}}), 2u);
  EXPECT_EQ(lines_changed_by(text, {{2, 3, "B\n+more\n++"}}), 3u) << "lines that begin with a plus";
  EXPECT_EQ(lines_changed_by(text, {{1, 2, ""}}), 1u) << "two lines become one";
}

TEST(text_edit, colours) {
  EXPECT_EQ(unified_diff("1\n", {{0, 1, "2"}}, "x", true),
            "\033[1m--- a/x\033[m\n\033[1m+++ b/x\033[m\n\033[36m@@ -1,1 +1,1 "
            "@@\033[m\n\033[31m-1\033[m\n\033[32m+2\033[m\n");
}

}  // namespace
}  // namespace tri::tools
