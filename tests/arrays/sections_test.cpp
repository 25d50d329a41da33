// Sections: how boxes are cut for messages.
#include "trireme/detail/arrays/sections.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace tri::arrays {
namespace {

template <int N>
std::vector<region<N>> bands_of(const region<N>& box, std::int64_t count) {
  std::vector<region<N>> bands;
  for_each_band(box, count, [&](const region<N>& band) { bands.push_back(band); });
  return bands;
}

template <int N>
position<N> random_position(std::mt19937& random, std::int64_t least, std::int64_t most) {
  position<N> at;
  for (auto& one : at.at) one = std::uniform_int_distribution<std::int64_t>(least, most)(random);
  return at;
}

TEST(Sections, Bands_along_the_first_dimension_that_has_enough_rows) {
  EXPECT_EQ(bands_of(region<2>({10, 0}, {20, 5}), 2),
            (std::vector{region<2>({10, 0}, {15, 5}), region<2>({15, 0}, {20, 5})}));
  EXPECT_EQ(bands_of(region<2>({3, 0}, {5, 4}), 4),
            (std::vector{region<2>({3, 0}, {4, 2}), region<2>({3, 2}, {4, 4}), region<2>({4, 0}, {5, 2}),
                         region<2>({4, 2}, {5, 4})}));
  EXPECT_EQ(bands_of(region<1>(5, 8), 100).size(), 3U);
  EXPECT_EQ(bands_of(region<1>(5, 8), 1), std::vector{region<1>(5, 8)});
}

template <int N>
void check_bands(std::mt19937& random) {
  const position<N> first = random_position<N>(random, 0, 5);
  position<N> last = first;
  const position<N> extents = random_position<N>(random, 1, 7);
  for (int d = 0; d < N; ++d) last[d] += extents[d];
  const region<N> box(first, last);
  const auto count = std::uniform_int_distribution<std::int64_t>(1, 20)(random);
  std::map<position<N>, int> found;
  const auto bands = bands_of(box, count);
  EXPECT_GE(static_cast<std::int64_t>(bands.size()), std::min(count, box.volume()));
  for (const region<N>& band : bands) {
    EXPECT_GT(band.volume(), 0);
    EXPECT_LE(band.volume(), 2 * box.volume() / std::min(count, box.volume()));
    for (std::int64_t i = 0; i < band.volume(); ++i) {
      position<N> at = position_of(i, band.extents());
      for (int d = 0; d < N; ++d) at[d] += band.first[d];
      ++found[at];
    }
  }
  EXPECT_EQ(static_cast<std::int64_t>(found.size()), box.volume());
  for (const auto& [at, times] : found) EXPECT_TRUE(times == 1 && box.contains(at));
}

TEST(Sections, Bands_hold_each_element_once) {
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    check_bands<1>(random);
    check_bands<2>(random);
    check_bands<3>(random);
    check_bands<4>(random);
  }
}

// Messages of a section hold the elements of a PE, each once, and few are much larger than wanted.
TEST(Sections, Messages_hold_the_part_of_a_pe) {
  std::mt19937 random(2);
  constexpr std::size_t bytes_of_element = 4096;
  for (int i = 0; i < 200; ++i) {
    const position<2> extents = random_position<2>(random, 1, 60);
    const position<2> tile = random_position<2>(random, 1, 20);
    constexpr int pes = 4;
    const layout<2> where(extents, distribution<2>(tiles(tile[0], tile[1])), {.pes = pes, .hosts = 2},
                          bytes_of_element);
    position<2> first, last;
    for (int d = 0; d < 2; ++d) {
      first[d] = std::uniform_int_distribution<std::int64_t>(0, extents[d] - 1)(random);
      last[d] = std::uniform_int_distribution<std::int64_t>(first[d] + 1, extents[d])(random);
    }
    const region<2> box(first, last);
    for (std::int32_t pe = 0; pe < pes; ++pe) {
      const std::size_t all = bytes_of_section(where, box, pe, bytes_of_element);
      if (all == 0) continue;
      std::size_t sum = 0, messages = 0;
      for_each_message(where, box, pe, bytes_of_element, [&](const region<2>& band) {
        EXPECT_EQ(box.intersection(band), band);
        const std::size_t bytes = bytes_of_section(where, band, pe, bytes_of_element);
        EXPECT_GT(bytes, 0U);
        EXPECT_LE(bytes, 4 * static_cast<std::size_t>(most_bytes_of_message));
        sum += bytes;
        ++messages;
      });
      EXPECT_EQ(sum, all);
      EXPECT_TRUE(all > static_cast<std::size_t>(most_bytes_of_message) || messages == 1);
    }
  }
}

}  // namespace
}  // namespace tri::arrays
