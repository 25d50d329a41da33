// Every order of events that the collection manager can report of one element, and lists of several.
#include "objects/balance/move_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tri::objects {
namespace {

constexpr element_name a{1, 7};
constexpr element_name b{2, 7};

TEST(move_list, an_empty_round_ends_at_once_and_once) {
  move_list list;
  EXPECT_FALSE(list.take_end());  // no round
  list.begin(5, 0);
  EXPECT_EQ(list.round(), 5U);
  EXPECT_TRUE(list.take_end());
  EXPECT_FALSE(list.take_end());
}

TEST(move_list, one_that_leaves_counts_when_it_has_arrived) {
  move_list list;
  list.begin(1, 1);
  list.ordered(a);
  list.arrived(a);  // of an older migration
  EXPECT_FALSE(list.take_end());
  list.left(a);
  list.waits(a);  // it is gone: another element of this name may wait, or be deleted
  list.stays(a);
  EXPECT_FALSE(list.take_end());
  list.arrived(b);
  EXPECT_FALSE(list.take_end());
  list.arrived(a);
  EXPECT_TRUE(list.take_end());
  EXPECT_EQ(list.counts().moved, 1);
  EXPECT_EQ(list.counts().waiting + list.counts().withdrawn, 0);
  list.arrived(a);  // and once more
  EXPECT_EQ(list.counts().moved, 1);
}

TEST(move_list, waiting_ones_and_withdrawn_ones_end_a_round) {
  move_list list;
  list.begin(1, 3);
  list.ordered(a);
  list.ordered(b);
  list.cannot();
  list.waits(a);
  list.left(a);  // later: no longer of this round
  list.arrived(a);
  EXPECT_FALSE(list.take_end());
  list.stays(b);
  EXPECT_TRUE(list.take_end());
  EXPECT_EQ(list.counts().moved, 0);
  EXPECT_EQ(list.counts().waiting, 1);
  EXPECT_EQ(list.counts().withdrawn, 2);
}

// Every element ends in one of three ways; in every order of all events the round ends at the last, and not before.
TEST(move_list, ends_in_every_order_of_events) {
  const element_name names[] = {{1, 1}, {1, 2}, {1, 3}};
  enum class event : std::uint8_t { left_0, arrived_0, waits_1, left_2, arrived_2 };
  std::vector<event> order{event::left_0, event::arrived_0, event::waits_1, event::left_2, event::arrived_2};
  std::sort(order.begin(), order.end());
  do {
    const auto place = [&](event what) { return std::find(order.begin(), order.end(), what) - order.begin(); };
    if (place(event::left_0) > place(event::arrived_0) || place(event::left_2) > place(event::arrived_2)) continue;
    move_list list;
    list.begin(1, 3);
    for (const element_name& each : names) list.ordered(each);
    int ends = 0;
    for (const event each : order) {
      EXPECT_EQ(ends, 0);
      switch (each) {
        case event::left_0:
          list.left(names[0]);
          break;
        case event::arrived_0:
          list.arrived(names[0]);
          break;
        case event::waits_1:
          list.waits(names[1]);
          break;
        case event::left_2:
          list.left(names[2]);
          break;
        case event::arrived_2:
          list.arrived(names[2]);
          break;
      }
      ends += list.take_end() ? 1 : 0;
    }
    // The round may end before the last event only if that is one of an element that has ended: there is none.
    EXPECT_EQ(ends, 1);
    EXPECT_EQ(list.counts().moved, 2);
    EXPECT_EQ(list.counts().waiting, 1);
  } while (std::next_permutation(order.begin(), order.end()));
}

}  // namespace
}  // namespace tri::objects
