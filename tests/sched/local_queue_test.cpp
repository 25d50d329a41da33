// A PE's messages to itself: order across chunks, envelopes that do not move, visits that leave the running one out.
#include "trireme/detail/sched/local_queue.hpp"

#include <gmock/gmock.h>

#include <deque>
#include <random>

namespace tri::sched {
namespace {

TEST(local_queue, agrees_with_a_deque) {
  local_queue queue;
  std::deque<std::uint64_t> model;
  std::mt19937 random(1);
  std::uint64_t next = 0;
  for (int step = 0; step < 200'000; ++step) {
    const bool filling = step / 3000 % 2 == 0;
    if (random() % 10 < (filling ? 6U : 4U)) {
      queue.push().element = next;
      model.push_back(next++);
    } else if (!model.empty()) {
      const envelope* const front = queue.front();
      ASSERT_NE(front, nullptr);
      ASSERT_EQ(front->element, model.front());
      if (random() % 4 == 0) {  // a handler that sends while its envelope is in use
        queue.push().element = next;
        model.push_back(next++);
        ASSERT_EQ(front->element, model.front()) << "the envelope moved";
      }
      queue.pop();
      model.pop_front();
    } else {
      ASSERT_EQ(queue.front(), nullptr);
    }
    ASSERT_EQ(queue.empty(), model.empty());
    if (step % 997 == 0) {
      const std::uint32_t skipped = model.empty() ? 0 : static_cast<std::uint32_t>(random() % 2);
      std::vector<std::uint64_t> visited;
      queue.for_each(skipped, [&](envelope& message) { visited.push_back(message.element); });
      ASSERT_EQ(visited, std::vector<std::uint64_t>(model.begin() + skipped, model.end()));
    }
  }
}

TEST(local_queue, a_visitor_may_push_and_does_not_see_it) {
  for (const int waiting : {0, 1, 254, 255, 256, 600}) {
    local_queue queue;
    for (int i = 0; i < waiting; ++i) queue.push().element = 0;
    int visits = 0;
    queue.for_each(0, [&](envelope& message) {
      EXPECT_EQ(message.element, 0U);
      queue.push().element = 1;
      ++visits;
    });
    EXPECT_EQ(visits, waiting);
  }
}

TEST(local_queue, skips_the_running_message_also_at_the_end_of_a_chunk) {
  for (const int before : {0, 253, 254, 255, 509}) {
    local_queue queue;
    for (int i = 0; i <= before + 2; ++i) queue.push().element = static_cast<std::uint64_t>(i);
    for (int i = 0; i < before; ++i) {
      ASSERT_NE(queue.front(), nullptr);
      queue.pop();
    }
    ASSERT_EQ(queue.front()->element, static_cast<std::uint64_t>(before));
    std::vector<std::uint64_t> visited;
    queue.for_each(1, [&](envelope& message) { visited.push_back(message.element); });
    EXPECT_EQ(visited, (std::vector<std::uint64_t>{static_cast<std::uint64_t>(before) + 1,
                                                   static_cast<std::uint64_t>(before) + 2}));
  }
}

}  // namespace
}  // namespace tri::sched
