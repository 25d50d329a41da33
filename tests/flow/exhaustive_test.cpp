// Every interleaving of small scopes, with every size of the receiver's memory from none at all to enough for
// everything. What counts as right is in flow_world. At the end, a rule of others that the exploration shows to hang.
#include <gmock/gmock.h>

#include <string>
#include <tuple>
#include <vector>

#include "explore/in_place.hpp"
#include "programs.hpp"

namespace tri::flow {
namespace {

constexpr std::size_t state_limit = 4'000'000;

// Whole records, and two sizes between, so that "a record fits, its buffer does not" has several reasons.
std::vector<std::uint64_t> memory_sizes(std::size_t most_records) {
  std::vector<std::uint64_t> sizes;
  for (std::size_t records = 0; records <= most_records; ++records) sizes.push_back(records * record_bytes);
  sizes.push_back(record_bytes - 1);
  sizes.push_back(record_bytes + record_bytes / 2);
  return sizes;
}

// What was visited, of all scopes of a test.
struct visits {
  ~visits() {
    testing::Test::RecordProperty("states", std::to_string(states));
    testing::Test::RecordProperty("ends", std::to_string(ends));
  }
  std::uint64_t states = 0;
  std::uint64_t ends = 0;
};

std::string explore(const scope& what, visits* of) {
  const auto result = explore::explore_all_in_place(flow_world<>(what), state_limit);
  of->states += result.states;
  of->ends += result.ends;
  if (!result.complete && result.failure().empty()) return "more states than the limit";
  if (result.ends == 0 && result.failure().empty()) return "no end";
  return result.failure();
}

// Every program with restarts of all that was refused, and with those that name the message.
using variant = std::tuple<program, restart_pace>;

class every_interleaving : public testing::TestWithParam<variant> {
 protected:
  static program which() { return std::get<0>(GetParam()); }
  static scope make(std::size_t senders, std::size_t messages, std::uint64_t memory, std::size_t window,
                    std::size_t first_size = 1) {
    scope made = make_scope(which(), senders, messages, memory, window, first_size);
    made.pace = std::get<1>(GetParam());
    return made;
  }
  // Two senders with two messages each, `change`d, with every size of memory up to so many records.
  template <class Change>
  void of_each_memory(std::size_t most_records, Change&& change) {
    visits visited;
    for (const std::uint64_t memory : memory_sizes(most_records)) {
      scope what = make(2, 2, memory, 1);
      change(what);
      EXPECT_EQ(explore(what, &visited), "") << "memory " << memory;
    }
  }
};

TEST_P(every_interleaving, of_two_senders_with_two_messages_each) {
  visits visited;
  for (const std::uint64_t memory : memory_sizes(8)) {
    scope what = make(2, 2, memory, 4);
    what.late_data = what.late_packets = false;
    EXPECT_EQ(explore(what, &visited), "") << "memory " << memory;
    what.window = 1;
    EXPECT_EQ(explore(what, &visited), "") << "memory " << memory << ", one receive at a time";
    if (what.pace == restart_pace::as_served) what.pace = restart_pace::all_at_once;
    EXPECT_EQ(explore(what, &visited), "") << "memory " << memory << ", all restarted at once";
  }
}

TEST_P(every_interleaving, with_late_data_and_buffers_in_use) {
  of_each_memory(8, [](scope& what) { what.late_packets = false; });
}

TEST_P(every_interleaving, of_one_sender_with_three_messages_and_everything_late) {
  visits visited;
  for (const std::size_t answers : {1U, 4U}) {
    for (const std::uint64_t memory : memory_sizes(7)) {
      scope what = make(1, 3, memory, 3);
      what.answers = answers;
      EXPECT_EQ(explore(what, &visited), "") << "memory " << memory << ", places for answers " << answers;
    }
  }
}

TEST_P(every_interleaving, with_receives_that_are_given_up_and_made_again) {
  of_each_memory(4, [](scope& what) {
    what.late_data = what.late_packets = false;
    what.window = 2;
    what.withdrawals = 1;
  });
}

TEST_P(every_interleaving, with_a_receive_given_up_and_everything_late) {
  visits visited;
  for (const std::uint64_t memory : memory_sizes(6)) {
    scope what = make(1, 2, memory, 2);
    what.withdrawals = 2;
    EXPECT_EQ(explore(what, &visited), "") << "memory " << memory;
  }
}

TEST_P(every_interleaving, with_memory_that_buffers_may_not_take) {
  of_each_memory(6, [](scope& what) {
    what.late_data = what.late_packets = false;
    what.buffer_limit = what.memory / 2;
  });
}

TEST_P(every_interleaving, with_one_place_for_answers) {
  of_each_memory(3, [](scope& what) {
    what.answers = 1;
    what.late_data = false;
  });
}

TEST_P(every_interleaving, with_memory_that_others_give_back_at_some_time) {
  of_each_memory(3, [](scope& what) {
    what.used_by_others = what.memory;
    what.late_data = what.late_packets = false;
  });
}

// Messages that go unasked: any of these plans, right or wrong, at any time, notes and returned credit at any time.
std::vector<std::vector<prediction::expected_message>> plans_of(std::size_t senders) {
  const std::uint64_t one = credit_cost(record_bytes);
  if (senders == 1) return {{{0, one}, {0, one}}, {{0, 3 * one}}};
  return {{{0, one}, {1, one}}, {{1, one}, {1, one}}};
}

TEST_P(every_interleaving, with_credits_of_one_sender_and_everything_late) {
  visits visited;
  for (const std::uint64_t memory : {std::uint64_t{0}, record_bytes, 3 * record_bytes, 8 * record_bytes}) {
    for (const std::uint64_t first_size : {0U, 1U}) {
      scope what = make(1, 2, memory, 1, first_size);
      what.credits = 512;
      what.plans = plans_of(1);
      what.most_plans = 2;
      EXPECT_EQ(explore(what, &visited), "") << "memory " << memory;
    }
  }
}

TEST_P(every_interleaving, with_credits_of_one_sender_of_three_messages) {
  visits visited;
  for (const std::uint64_t memory : {std::uint64_t{0}, record_bytes, 3 * record_bytes}) {
    for (const std::size_t window : {1U, 2U}) {
      scope what = make(1, 3, memory, window);
      what.credits = 512;
      what.plans = plans_of(1);
      what.most_plans = 2;
      what.late_data = what.late_packets = false;
      EXPECT_EQ(explore(what, &visited), "") << "memory " << memory << ", window " << window;
    }
  }
}

TEST_P(every_interleaving, with_credits_that_two_senders_compete_for) {
  visits visited;
  for (const std::uint64_t memory : {std::uint64_t{0}, 2 * record_bytes}) {
    scope what = make(2, 2, memory, 1);
    what.sends[1].resize(1);  // two messages and one
    std::erase_if(what.receives, [n = 0](const message_filter&) mutable { return ++n == 4; });
    if (which() == program::reverse) what.receives[1].tag = 0;
    what.credits = 256;
    what.plans = plans_of(2);
    what.most_plans = 2;
    what.late_data = what.late_packets = false;
    EXPECT_EQ(explore(what, &visited), "") << "memory " << memory;
  }
}

INSTANTIATE_TEST_SUITE_P(flow, every_interleaving,
                         testing::Combine(testing::ValuesIn(all_programs),
                                          testing::Values(restart_pace::as_served, restart_pace::by_name)),
                         [](const auto& one) {
                           const bool by_name = std::get<1>(one.param) == restart_pace::by_name;
                           return name_of(std::get<0>(one.param)) + (by_name ? "_by_name" : "");
                         });

// A receiver that takes nothing from the network while less than a fixed threshold of memory is free: in the reverse
// program the message it needs is behind those it does not take. No threshold has to be passed here.
TEST(a_fixed_threshold, hangs_where_these_rules_do_not) {
  visits visited;
  scope what = make_scope(program::reverse, 2, 2, 4 * record_bytes, 1);
  what.late_data = what.late_packets = false;
  EXPECT_EQ(explore(what, &visited), "");
  what.stall_below = 3 * record_bytes;
  EXPECT_THAT(explore(what, &visited), testing::HasSubstr("deadlock"));
}

}  // namespace
}  // namespace tri::flow
