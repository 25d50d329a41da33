// The rules of the DIS programs on small cases worked out by hand, where the programs compare PEs with a sequential
// program that follows the same ones.
#include <gtest/gtest.h>

#include "dis/image.hpp"
#include "dis/texture.hpp"
#include "dis/tokens.hpp"
#include "pgas/command_line.hpp"

// hops.hpp needs the runtime's headers, not the runtime.
#include "dis/hops.hpp"

namespace dis {
namespace {

TEST(dis_tokens, do_not_overlap_each_other) {
  std::int64_t from = 0;
  EXPECT_EQ(taken({0, 1, 2, 3, 7}, 2, from), (std::vector<std::int64_t>{0, 2, 7}));
  EXPECT_EQ(from, 9);
  from = 1;  // a token before the segment covers its first word
  EXPECT_EQ(taken({0, 1, 2, 3}, 2, from), (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(from, 5);
}

TEST(dis_tokens, delimit_subfields) {
  const std::vector<letter> field = {5, 1, 9, 9, 4, 9, 9, 9, 9};
  const auto found =
      subfields_of({2, 5, 7}, 2, 0, 9, [&](std::int64_t i) { return field[static_cast<std::size_t>(i)]; });
  EXPECT_EQ(found, (std::vector<subfield>{{2, 6, 1}, {1, 4, 4}, {}, {}}));
}

TEST(dis_tokens, may_end_behind_the_segment) {
  const auto found = subfields_of({3}, 3, 1, 5, [](std::int64_t) { return letter{7}; });
  EXPECT_EQ(found, (std::vector<subfield>{{2, 14, 7}, {}}));
}

TEST(dis_hops, go_where_the_median_says) {
  hop_settings how;
  how.words = 103;
  how.window = 3;
  how.most_hops = 4;
  how.stop_words = 0;
  std::vector<std::int64_t> starts;
  const hop_range range(how, 0);
  const auto read = [&](std::int64_t at, std::span<word> to) {
    starts.push_back(at);
    to[0] = 90;
    to[1] = static_cast<word>(20 + starts.size());
    to[2] = 10;
  };
  const hop_result result = follow(how, range, read, [](std::int64_t, std::span<const word>) {});
  // The median, and the hops so far.
  EXPECT_EQ(starts, (std::vector<std::int64_t>{range.start, 21, 22 + 1, 23 + 2}));
  EXPECT_EQ(result, (hop_result{.hops = 4, .at = 24 + 3}));
}

TEST(dis_hops, end_in_the_stop_range) {
  hop_settings how;
  how.most_hops = 1000;
  how.stop_words = 1;
  const hop_range range(how, 3);
  const auto read = [&](std::int64_t, std::span<word> to) {
    std::fill(to.begin(), to.end(), static_cast<word>(range.first_stop - 5));
  };
  const hop_result result = follow(how, range, read, [](std::int64_t, std::span<const word>) {});
  EXPECT_EQ(result, (hop_result{.hops = 6, .at = range.first_stop}));
}

TEST(dis_texture, has_no_entropy_where_all_pixels_are_alike) {
  histograms counts(1, 127);
  for (int i = 0; i < 10; ++i) counts.add(0, 5, 5);
  EXPECT_EQ(counts.of(0).entropy, 0);
  EXPECT_EQ(counts.of(0).energy, 1);
}

TEST(dis_texture, is_that_of_both_histograms) {
  histograms counts(2, 127);
  counts.add(1, 0, 0);
  counts.add(1, 127, 127);  // two sums, one difference
  EXPECT_DOUBLE_EQ(counts.of(1).entropy, std::log(2.0));
  EXPECT_DOUBLE_EQ(counts.of(1).energy, 0.5);
  counts.add(1, 127, 0);
  counts.add(1, 0, 127);  // sums 0, 254, 127, 127; differences 0, 0, 127, -127
  EXPECT_DOUBLE_EQ(counts.of(1).entropy, 2 * 1.5 * std::log(2.0));
  EXPECT_DOUBLE_EQ(counts.of(1).energy, 0.375 * 0.375);
}

TEST(dis_image, has_lines_on_a_dark_ground) {
  image_settings how;
  how.lines = 1;
  const image painted(how);
  std::int64_t bright = 0;
  for (std::int64_t i = 0; i < how.size; ++i)
    for (std::int64_t j = 0; j < how.size; ++j) {
      const pixel value = painted.at(i, j);
      ASSERT_LE(value, how.brightest());
      bright += value == 0 ? 0 : 1;
    }
  EXPECT_GT(bright, 0);
  EXPECT_LT(bright, how.size * how.size / 8);
}

}  // namespace
}  // namespace dis
