// Messages with priorities: integers and bit vectors in one order, first come first served among equals.
#include "sched/ordered_queue.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

namespace tri::sched {
namespace {

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

}  // namespace
}  // namespace tri::sched
