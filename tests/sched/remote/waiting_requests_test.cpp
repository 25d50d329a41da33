// Requests that wait for slots: order, turns, and that no slot is taken which is not there.
#include "sched/remote/waiting_requests.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace tri::sched {
namespace {

using testing::ElementsAre;

struct request {
  std::uint32_t sender;
  int number;
  bool is_large;
  friend bool operator==(const request&, const request&) = default;
};

/// A process with so many slots, which are given back by hand.
struct target {
  int free_slots;
  waiting_requests<request> waiting = {};
  std::vector<request> admitted = {};

  void admit(const request& one) {
    if (one.is_large) {
      EXPECT_GT(free_slots, 0);
      --free_slots;
    }
    admitted.push_back(one);
  }
  void arrive(const request& one) {
    if (waiting.must_wait(one.sender, one.is_large, free_slots > 0))
      waiting.push(one.sender, one.is_large, one);
    else
      admit(one);
  }
  bool poll() {
    return waiting.admit_some([this] { return free_slots > 0; }, [this](const request& one) { admit(one); });
  }
  std::vector<std::uint32_t> senders_admitted() const {
    std::vector<std::uint32_t> senders;
    for (const request& one : admitted) senders.push_back(one.sender);
    return senders;
  }
};

TEST(waiting_requests, wait_for_a_slot_and_keep_others_of_their_sender_behind_them) {
  target one{.free_slots = 1};
  one.arrive({1, 0, true});
  one.arrive({1, 1, true});
  one.arrive({1, 2, false});
  one.arrive({2, 0, false});
  EXPECT_THAT(one.admitted, ElementsAre(request{1, 0, true}, request{2, 0, false}));
  EXPECT_FALSE(one.poll());
  ++one.free_slots;
  EXPECT_TRUE(one.poll());
  EXPECT_TRUE(one.poll());
  EXPECT_THAT(one.admitted,
              ElementsAre(request{1, 0, true}, request{2, 0, false}, request{1, 1, true}, request{1, 2, false}));
  EXPECT_TRUE(one.waiting.is_empty());
}

TEST(waiting_requests, of_senders_take_turns_while_slots_come_one_by_one) {
  target one{.free_slots = 0};
  for (int number = 0; number < 3; ++number)
    for (const std::uint32_t sender : {4U, 6U, 8U}) one.arrive({sender, number, true});
  for (int slots = 0; slots < 9; ++slots) {
    ++one.free_slots;
    one.poll();
    one.arrive({4, 3 + slots, true});  // one that asks without a pause
  }
  EXPECT_THAT(one.senders_admitted(), ElementsAre(4, 6, 8, 4, 6, 8, 4, 6, 8));
}

TEST(waiting_requests, that_come_when_a_slot_has_become_free_do_not_pass_those_that_wait) {
  target one{.free_slots = 0};
  one.arrive({1, 0, true});
  ++one.free_slots;
  one.arrive({2, 0, true});
  EXPECT_TRUE(one.admitted.empty());
  one.poll();
  EXPECT_THAT(one.senders_admitted(), ElementsAre(1));
}

// Any order of arrivals, polls and slots given back: each sender's requests are admitted in their order, and all in the
// end.
TEST(waiting_requests, in_random_order) {
  std::mt19937 random(1);
  const auto up_to = [&random](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
  for (int round = 0; round < 500; ++round) {
    const int slots = 1 + up_to(2);
    target one{.free_slots = slots};
    std::map<std::uint32_t, int> sent;
    for (int step = 0; step < 200; ++step) {
      if (const int what = up_to(3); what == 0) {
        one.free_slots = std::min(slots, one.free_slots + 1);
      } else if (what == 1) {
        one.poll();
      } else {
        const auto sender = static_cast<std::uint32_t>(up_to(4));
        one.arrive({sender, sent[sender]++, up_to(1) == 0});
      }
    }
    while (!one.waiting.is_empty()) {
      one.free_slots = slots;
      EXPECT_TRUE(one.poll());
    }
    std::map<std::uint32_t, int> seen;
    for (const request& each : one.admitted) EXPECT_EQ(each.number, seen[each.sender]++);
    EXPECT_EQ(seen.size(), std::ranges::count_if(sent, [](const auto& of) { return of.second > 0; }));
    for (const auto& [sender, count] : sent) EXPECT_EQ(seen[sender], count);
  }
}

}  // namespace
}  // namespace tri::sched
