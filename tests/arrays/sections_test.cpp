// Sections: how boxes are cut for messages.
#include "trireme/detail/arrays/sections.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace tri::arrays {
namespace {

template <int N>
position<N> random_position(std::mt19937& random, std::int64_t least, std::int64_t most) {
  position<N> at;
  for (auto& one : at.at) one = std::uniform_int_distribution<std::int64_t>(least, most)(random);
  return at;
}

std::vector<region<2>> messages_of(const layout<2>& where, const region<2>& box, std::int32_t pe,
                                   std::size_t bytes_of_element) {
  std::vector<region<2>> messages;
  for_each_message(where, box, pe, bytes_of_element, [&](const region<2>& part) { messages.push_back(part); });
  return messages;
}

TEST(Sections, Parts_are_halved_until_they_fit_into_a_message) {
  const layout<2> where({1024, 128}, distribution<2>(tiles(1024, 128)), {.pes = 1, .hosts = 1}, 8);  // 1 MiB
  EXPECT_EQ(messages_of(where, {{0, 0}, {256, 128}}, 0, 8), (std::vector{region<2>({0, 0}, {256, 128})}));
  EXPECT_EQ(messages_of(where, {{0, 0}, {1024, 128}}, 0, 8),
            (std::vector{region<2>({0, 0}, {256, 128}), region<2>({256, 0}, {512, 128}),
                         region<2>({512, 0}, {768, 128}), region<2>({768, 0}, {1024, 128})}));
  const layout<2> wide({1, 65536}, distribution<2>(tiles(1, 65536)), {.pes = 1, .hosts = 1}, 8);
  EXPECT_EQ(messages_of(wide, {{0, 1}, {1, 65536}}, 0, 8),
            (std::vector{region<2>({0, 1}, {1, 32768}), region<2>({0, 32768}, {1, 65536})}));
}

TEST(Sections, Parts_are_cut_between_tiles) {
  const layout<2> where({600, 100}, distribution<2>(tiles(200, 100)), {.pes = 1, .hosts = 1}, 8);
  EXPECT_EQ(
      messages_of(where, {{0, 0}, {600, 100}}, 0, 8),
      (std::vector{region<2>({0, 0}, {200, 100}), region<2>({200, 0}, {400, 100}), region<2>({400, 0}, {600, 100})}));
}

// Messages of a section hold the elements of a PE, each once, and few are much larger than wanted.
TEST(Sections, Messages_hold_the_part_of_a_pe) {
  std::mt19937 random(2);
  constexpr std::size_t bytes_of_element = 4096;
  for (int i = 0; i < 200; ++i) {
    const position<2> extents = random_position<2>(random, 1, 60);
    const position<2> tile = random_position<2>(random, 1, 20);
    const int pes = 2 << (i % 4);
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
      std::size_t sum = 0;
      std::set<position<2>> seen;
      const auto messages = messages_of(where, box, pe, bytes_of_element);
      for (const region<2>& part : messages) {
        EXPECT_EQ(box.intersection(part), part);
        const std::size_t bytes = bytes_of_section(where, part, pe, bytes_of_element);
        EXPECT_TRUE(0 < bytes && bytes <= most_bytes_of_message);
        sum += bytes;
        for (std::int64_t k = 0; k < part.volume(); ++k) {
          position<2> at = position_of(k, part.extents());
          for (int d = 0; d < 2; ++d) at[d] += part.first[d];
          EXPECT_TRUE(seen.insert(at).second) << "in two messages";
        }
      }
      EXPECT_EQ(sum, all);
      EXPECT_LE(messages.size(), 1 + 4 * all / most_bytes_of_message);
    }
  }
}

}  // namespace
}  // namespace tri::arrays
