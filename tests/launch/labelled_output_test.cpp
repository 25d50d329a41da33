// Labels before whole lines of output; long lines are broken.
#include "launch/labelled_output.hpp"

#include <gtest/gtest.h>

namespace tri::launch {
namespace {

TEST(labelled_output, whole_lines_only) {
  labelled_output stream(12);
  EXPECT_EQ(stream.add("one\ntw"), "[12] one\n");
  EXPECT_EQ(stream.add("o"), "");
  EXPECT_EQ(stream.add("\n\n"), "[12] two\n[12] \n");
  EXPECT_EQ(stream.finish(), "");
  EXPECT_EQ(stream.add("end"), "");
  EXPECT_EQ(stream.finish(), "[12] end\n");
}

TEST(labelled_output, an_endless_line_is_broken) {
  labelled_output stream(0);
  const std::string much(700'000, 'x');
  EXPECT_EQ(stream.add(much), "");
  EXPECT_EQ(stream.add(much), "[0] " + much + much + "\n");
}

}  // namespace
}  // namespace tri::launch
