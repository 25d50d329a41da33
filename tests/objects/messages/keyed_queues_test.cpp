// Queues by key: the order of each key, the order of all, removal from every place, and how many keys are looked at.
#include "objects/messages/keyed_queues.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tri::objects {
namespace {

std::vector<int> contents(const keyed_queues<int>& queues) {
  std::vector<int> values;
  for (const auto& each : queues.in_order()) values.push_back(each.value);
  return values;
}

TEST(keyed_queues, each_key_keeps_its_order) {
  keyed_queues<int> queues;
  for (int i = 0; i < 12; ++i) queues.push({static_cast<std::uint32_t>(i % 2), static_cast<std::uint64_t>(i % 3)}, i);
  EXPECT_EQ(queues.size(), 12U);
  EXPECT_EQ(queues.pop({1, 2}), 5);
  EXPECT_EQ(queues.pop({1, 2}), 11);
  EXPECT_EQ(queues.first({1, 2}), nullptr);
  EXPECT_EQ(*queues.first({0, 2}), 2);
  EXPECT_EQ(queues.pop({0, 2}), 2);
  EXPECT_EQ(queues.pop({0, 2}), 8);
  EXPECT_EQ(contents(queues), (std::vector<int>{0, 1, 3, 4, 6, 7, 9, 10}));
}

TEST(keyed_queues, method_and_reference_are_two_things) {
  keyed_queues<int> queues;
  queues.push({1, 2}, 12);
  queues.push({2, 1}, 21);
  queues.push({0, (std::uint64_t{1} << 40) + 2}, 3);  // what the hash adds up is the same as for the first
  EXPECT_EQ(queues.first({1, 1}), nullptr);
  EXPECT_EQ(queues.first({2, 2}), nullptr);
  EXPECT_EQ(queues.pop({1, 2}), 12);
  EXPECT_EQ(queues.first({1, 2}), nullptr);
  EXPECT_EQ(queues.pop({0, (std::uint64_t{1} << 40) + 2}), 3);
  EXPECT_EQ(queues.pop({2, 1}), 21);
  EXPECT_EQ(queues.size(), 0U);
}

TEST(keyed_queues, finds_the_first_of_a_key_or_a_method_that_is_wanted) {
  keyed_queues<int> queues;
  for (int i = 0; i < 12; ++i) queues.push({static_cast<std::uint32_t>(i % 2), static_cast<std::uint64_t>(i % 3)}, i);
  const auto above = [](int limit) { return [limit](int value) { return value > limit; }; };
  std::vector<int> visited;
  const auto found = queues.find_if({1, 0}, [&](int value) {
    visited.push_back(value);
    return value > 3;
  });
  EXPECT_EQ(visited, (std::vector<int>{3, 9}));  // those of the key, in order, and no more than that
  EXPECT_EQ(queues.take(found), 9);
  EXPECT_EQ(queues.find_if({1, 0}, above(3)), queues.end());
  EXPECT_EQ(queues.find_if({4, 4}, above(0)), queues.end());
  EXPECT_EQ(queues.take(queues.find_if_of_method(0, above(4))), 6);
  EXPECT_EQ(queues.take(queues.find_if_of_method(0, above(4))), 8);
  EXPECT_EQ(queues.find_if_of_method(1, above(11)), queues.end());
  EXPECT_EQ(queues.size(), 9U);
}

TEST(keyed_queues, takes_from_every_place_of_a_key) {
  for (int taken = 0; taken < 4; ++taken) {
    keyed_queues<int> queues;
    std::vector<keyed_queues<int>::position> places;
    for (int i = 0; i < 4; ++i) {
      places.push_back(queues.push({7, 7}, i));
      queues.push({7, 8}, 100 + i);
    }
    EXPECT_EQ(queues.take(places[static_cast<std::size_t>(taken)]), taken);
    queues.push({7, 7}, 4);
    for (int i = 0; i <= 4; ++i)
      if (i != taken) {
        EXPECT_EQ(queues.pop({7, 7}), i);
      }
    EXPECT_EQ(queues.first({7, 7}), nullptr);
    EXPECT_EQ(contents(queues), (std::vector<int>{100, 101, 102, 103}));
  }
}

TEST(keyed_queues, take_all_leaves_nothing_and_keeps_the_order) {
  keyed_queues<std::unique_ptr<int>> queues;
  for (int i = 0; i < 20; ++i) queues.push({0, static_cast<std::uint64_t>(i * 7 % 5)}, std::make_unique<int>(i));
  int expected = 0;
  for (const auto& each : queues.take_all()) {
    EXPECT_EQ(each.key.reference, static_cast<std::uint64_t>(expected * 7 % 5));
    EXPECT_EQ(*each.value, expected++);
  }
  EXPECT_EQ(expected, 20);
  EXPECT_EQ(queues.size(), 0U);
  EXPECT_EQ(queues.first({0, 0}), nullptr);
  queues.push({0, 0}, std::make_unique<int>(1));
  EXPECT_EQ(*queues.pop({0, 0}), 1);
}

TEST(keyed_queues, behaves_as_queues_in_a_map) {
  std::mt19937 random(3);
  keyed_queues<int> queues;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::deque<int>> model;
  for (int step = 0; step < 20000; ++step) {
    const message_key key{static_cast<std::uint32_t>(random() % 3), random() % 20};
    auto& expected = model[{key.method, key.reference}];
    if (random() % 2 == 0) {
      queues.push(key, step);
      expected.push_back(step);
    } else if (expected.empty()) {
      ASSERT_EQ(queues.first(key), nullptr);
    } else {
      ASSERT_EQ(queues.pop(key), expected.front());
      expected.pop_front();
    }
  }
}

// Whatever the order and however many there are: about one comparison for each, at most a few.
TEST(keyed_queues, looks_at_few_keys) {
  constexpr std::uint64_t n = 40000;
  for (const std::uint64_t stride :
       {std::uint64_t{1}, std::uint64_t{64}, std::uint64_t{1} << 20, std::uint64_t{1} << 32}) {
    keyed_queues<std::uint64_t> queues;
    for (std::uint64_t i = 0; i < n; ++i) queues.push({5, i * stride}, i);
    for (std::uint64_t i = n; i-- > 0;) ASSERT_EQ(queues.pop({5, i * stride}), i);
    EXPECT_LE(queues.comparisons(), 6 * n) << "stride " << stride;
    EXPECT_GE(queues.comparisons(), n);
  }
}

}  // namespace
}  // namespace tri::objects
