// Messages with priorities: integers and bit vectors in one order, first come first served among equals.
#include "sched/ordered_queue.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "sched/place_among_equals.hpp"

namespace tri::sched {
namespace {

static_assert(place_among_equals(priority(3), 7) < place_among_equals(priority(3), 8));
static_assert(place_among_equals(lifo, 8) < place_among_equals(lifo, 7));
static_assert(place_among_equals(lifo, 0) < place_among_equals(priority(0), 0));
static_assert(place_among_equals(lifo, 1'000'000) < place_among_equals(lifo, 0));

TEST(ordered_queue, sorts_by_priority_then_arrival) {
  std::mt19937 random(5);
  std::vector<envelope> messages(2000);
  ordered_queue queue;
  std::vector<std::pair<priority, std::size_t>> expected;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const priority urgency = random() % 2 == 0
                                 ? priority(static_cast<std::int32_t>(random() % 21) - 10)
                                 : priority::bits({true}).extended(random() % 8, static_cast<unsigned>(random() % 4));
    messages[i].block().urgency = urgency;
    queue.push(&messages[i]);
    expected.emplace_back(urgency, i);
  }
  std::stable_sort(expected.begin(), expected.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [urgency, number] : expected) {
    ASSERT_EQ(queue.comes_first(), urgency < priority(0));
    ASSERT_EQ(queue.pop(), &messages[number]);
  }
  EXPECT_TRUE(queue.empty());
}

TEST(ordered_queue, last_in_first_out_comes_before_its_equals) {
  std::vector<envelope> messages(6);
  const std::vector<priority> urgency = {priority(3), priority(3).last_in_first_out(),
                                         priority(3), priority(3).last_in_first_out(),
                                         priority(2), priority(4).last_in_first_out()};
  ordered_queue queue;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    messages[i].block().urgency = urgency[i];
    queue.push(&messages[i]);
  }
  for (const std::size_t expected : {4u, 3u, 1u, 0u, 2u, 5u}) EXPECT_EQ(queue.pop(), &messages[expected]);
  messages[0].block().urgency = lifo;
  queue.push(&messages[0]);
  EXPECT_FALSE(queue.comes_first());
  queue.push(&messages[1], priority(-1));  // given by a policy, whatever its own is
  EXPECT_TRUE(queue.comes_first());
  EXPECT_EQ(queue.pop(), &messages[1]);
}

TEST(ordered_queue, bits_keep_their_order_with_and_without_newest_first) {
  const priority bits = priority::bits({true, false, true});
  EXPECT_EQ(bits.last_in_first_out().level(), bits);
  EXPECT_EQ(bits.last_in_first_out().length_bits(), 3u);
  EXPECT_EQ(bits.last_in_first_out().extended(3, 2).level(), bits.extended(3, 2));
  EXPECT_TRUE(bits.last_in_first_out().extended(3, 2).is_last_in_first_out());
  EXPECT_THROW(static_cast<void>(bits.extended(0, 118)), std::length_error);
}

}  // namespace
}  // namespace tri::sched
