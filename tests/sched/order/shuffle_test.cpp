// --tri-shuffle: every order that keeps each channel's is reached, and no other.
#include <gmock/gmock.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "sched/order/channel_pool.hpp"
#include "sched/order/message_shuffler.hpp"

namespace tri::sched {
namespace {

// What a PE does with `each` messages of each of `channels` senders that are there from the start: their order, by
// sender.
std::string order_of(std::uint64_t seed, int pe, int channels, int each) {
  channel_pool<int> pool;
  message_shuffler shuffler(seed, pe, 0);
  for (int number = 0; number < each; ++number)
    for (int channel = 0; channel < channels; ++channel) pool.push(static_cast<std::uint64_t>(channel), number, 0);
  std::string order;
  std::map<std::uint64_t, int> next;
  while (!pool.empty()) {
    std::vector<std::uint64_t> ready;
    pool.list_ready(0, ready);
    const std::uint64_t channel = ready[shuffler.choose(ready.size())];
    EXPECT_EQ(pool.pop(channel), next[channel]++) << "a message overtook one of its own sender";
    order += static_cast<char>('a' + channel);
  }
  return order;
}

TEST(shuffle, reaches_every_order_and_keeps_that_of_each_sender) {
  std::set<std::string> orders;
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) orders.insert(order_of(seed, 0, 3, 2));
  EXPECT_EQ(orders.size(), 90u);  // 6! / (2! 2! 2!)
}

TEST(shuffle, is_the_same_for_a_seed_and_differs_between_pes) {
  std::set<std::string> of_pes;
  for (int pe = 0; pe < 8; ++pe) {
    EXPECT_EQ(order_of(7, pe, 4, 8), order_of(7, pe, 4, 8));
    of_pes.insert(order_of(7, pe, 4, 8));
  }
  EXPECT_EQ(of_pes.size(), 8u);
}

TEST(shuffle, holds_back_one_message_in_four_and_never_longer_than_asked) {
  message_shuffler shuffler(3, 1, 1000);
  int late = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::uint64_t due = shuffler.due(5);
    EXPECT_GE(due, 5u);
    EXPECT_LE(due, 1005u);
    late += due > 5 ? 1 : 0;
  }
  EXPECT_GT(late, 850);
  EXPECT_LT(late, 1150);
  message_shuffler none(3, 1, 0);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(none.due(5), 5u);
}

TEST(shuffle, a_late_message_holds_back_those_behind_it_and_no_others) {
  channel_pool<int> pool;
  pool.push(1, 10, 100);
  pool.push(1, 11, 0);
  pool.push(2, 20, 0);
  const auto ready_at = [&](std::uint64_t now) {
    std::vector<std::uint64_t> ready;
    pool.list_ready(now, ready);
    return ready;
  };
  EXPECT_THAT(ready_at(99), ::testing::ElementsAre(2u));
  EXPECT_THAT(ready_at(100), ::testing::UnorderedElementsAre(1u, 2u));
  EXPECT_EQ(pool.pop(1), 10);
  EXPECT_THAT(ready_at(0), ::testing::UnorderedElementsAre(1u, 2u));
  EXPECT_EQ(pool.pop(2), 20);
  EXPECT_EQ(pool.pop(1), 11);
  EXPECT_TRUE(pool.empty());
  EXPECT_FALSE(pool.has(1));
}

}  // namespace
}  // namespace tri::sched
