#include "balance/object_heap.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace tri::balancing {
namespace {

TEST(object_heap, gives_the_largest_first_and_of_equals_the_smallest_number) {
  object_heap heap(5);
  for (std::uint32_t item = 0; item < 5; ++item) heap.set(item, item == 3 ? 9.0 : 1.0);
  EXPECT_EQ(heap.pop(), 3u);
  EXPECT_EQ(heap.pop(), 0u);
  heap.set(4, 2.0);
  EXPECT_EQ(heap.pop(), 4u);
  EXPECT_EQ(heap.pop(), 1u);
  EXPECT_EQ(heap.pop(), 2u);
  EXPECT_TRUE(heap.empty());
}

// Against a set of (key, item): adding, changing, removing what is there and what is not, popping.
TEST(object_heap, agrees_with_a_set_for_any_calls) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    const std::uint32_t items = 1 + static_cast<std::uint32_t>(random() % 60);
    object_heap heap(items);
    std::vector<double> keys(items, -1.0);
    std::set<std::pair<double, std::uint32_t>> reference;  // (-key, item): the first is the largest key
    for (int call = 0; call < 500; ++call) {
      const auto item = static_cast<std::uint32_t>(random() % items);
      switch (random() % 4) {
        case 0:
        case 1: {
          if (heap.contains(item)) reference.erase({-keys[item], item});
          keys[item] = static_cast<double>(random() % 20);
          reference.emplace(-keys[item], item);
          heap.set(item, keys[item]);
          break;
        }
        case 2:
          EXPECT_EQ(heap.contains(item), reference.erase({-keys[item], item}) == 1);
          heap.remove(item);
          break;
        default:
          if (reference.empty()) break;
          ASSERT_EQ(heap.pop(), reference.begin()->second);
          reference.erase(reference.begin());
      }
      ASSERT_EQ(heap.size(), reference.size());
      ASSERT_TRUE(heap.is_valid());
      if (!reference.empty()) {
        ASSERT_EQ(heap.top(), reference.begin()->second);
      }
    }
  }
}

}  // namespace
}  // namespace tri::balancing
