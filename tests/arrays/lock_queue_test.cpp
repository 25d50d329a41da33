// The queue of a lock: in the order of requests, and its end.
#include "arrays/lock_queue.hpp"

#include <gtest/gtest.h>

namespace tri::arrays {
namespace {

TEST(LockQueue, Is_granted_in_the_order_of_requests) {
  lock_queue queue;
  EXPECT_TRUE(queue.empty());
  EXPECT_TRUE(queue.ask({3, 1}));
  EXPECT_FALSE(queue.ask({1, 7}));
  EXPECT_FALSE(queue.ask({3, 2}));  // a second one of the holder's PE waits as well
  EXPECT_EQ(queue.waiting(), 2U);
  EXPECT_EQ(queue.holder(), (lock_queue::request{3, 1}));
  EXPECT_TRUE(queue.release());
  EXPECT_EQ(queue.holder(), (lock_queue::request{1, 7}));
  EXPECT_TRUE(queue.release());
  EXPECT_EQ(queue.holder(), (lock_queue::request{3, 2}));
  EXPECT_FALSE(queue.release());
  EXPECT_TRUE(queue.empty());
  EXPECT_TRUE(queue.ask({0, 1})) << "a free lock is granted at once";
}

TEST(LockQueue, Ends_behind_earlier_requests) {
  lock_queue queue;
  EXPECT_TRUE(queue.ask({0, 1}));
  EXPECT_FALSE(queue.ask({1, 1, true}));
  EXPECT_FALSE(queue.ask({2, 1}));
  EXPECT_TRUE(queue.release());
  EXPECT_TRUE(queue.holder().is_end);
  const auto rest = queue.take_all();
  ASSERT_EQ(rest.size(), 2U);
  EXPECT_EQ(rest[1], (lock_queue::request{2, 1})) << "those behind the end are refused";
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace tri::arrays
