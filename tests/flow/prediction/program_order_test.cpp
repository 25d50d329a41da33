// Messages are told in the order in which their receives were made, whatever the order in which they are served.
#include "flow/prediction/program_order.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using tri::flow::prediction::program_order;

struct told {
  program_order order;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> messages;
  void served(std::uint64_t number, std::uint32_t sender) {
    order.served(number, sender, 10 * sender,
                 [this](std::uint32_t s, std::uint64_t size) { messages.emplace_back(s, size); });
  }
};

TEST(program_order, tells_in_the_order_of_receives) {
  told it;
  const std::uint64_t a = it.order.made(), b = it.order.made(), c = it.order.made();
  it.served(c, 3);
  it.served(b, 2);
  EXPECT_THAT(it.messages, IsEmpty());
  it.served(a, 1);
  EXPECT_THAT(it.messages, ElementsAre(Pair(1, 10), Pair(2, 20), Pair(3, 30)));
  it.served(it.order.made(), 4);
  EXPECT_EQ(it.messages.size(), 4U) << "nothing was held back";
}

TEST(program_order, does_not_wait_for_what_is_given_up) {
  told it;
  const std::uint64_t a = it.order.made(), b = it.order.made(), c = it.order.made();
  it.served(b, 2);
  it.order.given_up(a);
  it.served(c, 3);
  EXPECT_THAT(it.messages, ElementsAre(Pair(2, 20), Pair(3, 30)));
  it.order.given_up(a);  // again, and long past
  EXPECT_EQ(it.order.held_back(), 0U);
  const std::uint64_t open = it.order.made();
  for (int i = 0; i < 10; ++i) {
    const std::uint64_t first = it.order.made(), second = it.order.made();
    it.order.given_up(first);
    it.order.given_up(second);
    EXPECT_EQ(first, open + 1) << "nothing is kept of the others";
  }
  it.served(open, 4);
  EXPECT_EQ(it.messages.back(), std::pair(std::uint32_t{4}, std::uint64_t{40}));
}

TEST(program_order, passes_over_what_is_served_much_later) {
  told it{program_order(3), {}};
  const std::uint64_t never = it.order.made();
  const std::uint64_t late = it.order.made();
  for (std::uint32_t i = 1; i <= 3; ++i) it.served(it.order.made(), i);
  EXPECT_THAT(it.messages, IsEmpty());
  EXPECT_EQ(it.order.held_back(), 3U);
  it.served(it.order.made(), 4);
  EXPECT_THAT(it.messages, ElementsAre(Pair(1, 10), Pair(2, 20), Pair(3, 30), Pair(4, 40)));
  it.served(late, 9);
  EXPECT_EQ(it.messages.back().first, 9U) << "told of when it is served";
  it.order.given_up(never);
  it.served(it.order.made(), 5);
  EXPECT_EQ(it.messages.back().first, 5U);
}

}  // namespace
