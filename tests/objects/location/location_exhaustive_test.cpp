// Every interleaving of small programs: PEs that send numbered messages to one element while it migrates, is inserted,
// deleted and inserted again. What counts as right is the ledger of location_world. At the end the same scenarios with
// a fault in the protocol or in the channels, to show that the exploration finds what it is there to find.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "explore/in_place.hpp"
#include "location_world.hpp"

namespace tri::objects {
namespace {

using testing::HasSubstr;
using type = script_line::type;

script sends(pe_number pe, int count) { return script(static_cast<std::size_t>(count), {type::send, 0, pe}); }
script overtaking(pe_number pe, int count) {
  return script(static_cast<std::size_t>(count), {type::send_overtaking, 0, pe});
}
script migrations(const std::vector<pe_number>& targets) {
  script lines;
  for (auto pe : targets) lines.push_back({type::migrate, 0, pe});
  return lines;
}
script operator+(script first, const script& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}
script insertion(pe_number pe) { return {{type::insert, 0, pe}}; }
const script deletion{{type::erase, 0, 0}};

struct named_scenario {
  std::string name;
  scenario what;
};
void PrintTo(const named_scenario& s, std::ostream* out) { *out << s.name; }

constexpr std::size_t state_limit = 4'000'000;

std::vector<named_scenario> scenarios() {
  constexpr auto dense = population::dense;
  constexpr auto sparse = population::sparse;
  return {
      {"two_pes_away_and_back", {2, dense, {0}, {sends(0, 3), sends(1, 3), migrations({1, 0, 1})}}},
      {"two_pes_migration_withdrawn", {2, dense, {0}, {sends(0, 2), sends(1, 3), migrations({1, 0}), migrations({1})}}},
      {"one_migration_two_senders", {3, dense, {1}, {sends(0, 2), sends(2, 2), migrations({2})}}},
      {"chain_of_migrations", {3, dense, {1}, {sends(0, 3), migrations({2, 0, 1})}}},
      {"away_and_back_with_sender_aside", {3, dense, {1}, {sends(0, 3), migrations({2, 1, 2})}}},
      {"two_senders_away_and_back", {3, dense, {0}, {sends(1, 2), sends(2, 2), migrations({1, 0})}}},
      {"two_senders_round", {3, dense, {0}, {sends(1, 2), sends(2, 1), migrations({1, 2})}}},
      {"competing_migrations", {3, dense, {0}, {sends(1, 2), sends(2, 1), migrations({1}), migrations({2})}}},
      {"deleted_on_the_way", {3, dense, {0}, {sends(1, 2), sends(2, 1), migrations({1}), deletion}}},
      {"inserted_late_elsewhere", {3, sparse, {0}, {sends(1, 3), sends(2, 2), insertion(1)}}},
      {"inserted_late_at_home", {2, sparse, {0}, {sends(0, 2), sends(1, 3), insertion(0), migrations({1})}}},
      {"inserted_late_then_migrates", {3, sparse, {0}, {sends(1, 2), sends(2, 1), insertion(1), migrations({2})}}},
      {"inserted_between_own_sends", {2, sparse, {0}, {sends(1, 2) + insertion(1) + sends(1, 2), sends(0, 2)}}},
      {"inserted_twice", {3, sparse, {0}, {sends(1, 2), sends(2, 1), insertion(1), insertion(2)}}},
      {"inserted_and_deleted", {3, sparse, {0}, {sends(1, 2), sends(2, 1), insertion(1), deletion}}},
      {"deleted_and_inserted_again", {2, dense, {0}, {sends(1, 3), sends(0, 1), deletion + insertion(1)}}},
      {"deleted_and_inserted_by_two", {3, dense, {0}, {sends(1, 2), deletion, insertion(1), insertion(2)}}},
      {"deleted_while_migrating_inserted_again",
       {3, dense, {0}, {sends(1, 1), sends(2, 1), migrations({1}), deletion, insertion(2)}}},
      {"deleted_while_migrating_inserted_at_target",
       {3, dense, {0}, {sends(1, 2), sends(2, 1), migrations({1}), deletion + insertion(1)}}},
      {"two_lives", {2, sparse, {0}, {sends(1, 2), insertion(1) + migrations({0}) + deletion + insertion(1)}}},
      {"overtaking_messages", {3, dense, {0}, {overtaking(1, 2) + sends(1, 1), migrations({1, 2})}}},
      {"overtaking_messages_insertion", {2, sparse, {0}, {overtaking(1, 2) + sends(1, 2), sends(0, 1), insertion(1)}}},
  };
}

class every_interleaving : public testing::TestWithParam<named_scenario> {};

TEST_P(every_interleaving, keeps_all_messages_in_order_with_pairwise_fifo) {
  const auto result = explore::explore_all_in_place(location_world(GetParam().what), state_limit);
  EXPECT_EQ(result.failure(), "");
  EXPECT_TRUE(result.complete) << "more than " << state_limit << " states";
  EXPECT_GT(result.ends, 0U);
  RecordProperty("states", static_cast<int>(result.states));
}

TEST_P(every_interleaving, keeps_all_messages_in_order_with_one_inbox) {
  auto what = GetParam().what;
  what.order = channel_order::one_inbox;
  const auto result = explore::explore_all_in_place(location_world(what), state_limit);
  EXPECT_EQ(result.failure(), "");
  EXPECT_TRUE(result.complete) << "more than " << state_limit << " states";
  EXPECT_GT(result.ends, 0U);
}

INSTANTIATE_TEST_SUITE_P(location, every_interleaving, testing::ValuesIn(scenarios()),
                         [](const auto& one) { return one.param.name; });

// ---- elements that begin away from home, are deleted and buried

scenario buried(pe_number begins_on, std::vector<script> senders, int pes = 3) {
  senders.push_back(insertion(begins_on) + deletion);
  return {pes, population::sparse, {0}, std::move(senders), channel_order::pairwise_fifo, fault::none, true};
}

TEST(buried_elements, every_message_is_accounted_for_and_the_home_alone_remembers_them) {
  for (const auto order : {channel_order::pairwise_fifo, channel_order::one_inbox})
    for (scenario what : {buried(1, {sends(0, 3), sends(1, 2)}, 2), buried(1, {sends(0, 2), sends(1, 2), sends(2, 2)}),
                          buried(2, {sends(1, 4)}), buried(0, {sends(0, 2), sends(1, 2)}, 2)}) {
      what.order = order;
      const auto result = explore::explore_all_in_place(location_world(what), state_limit);
      EXPECT_EQ(result.failure(), "");
      EXPECT_TRUE(result.complete);
      EXPECT_GT(result.ends, 0U);
    }
}

// ---- every short history, rather than those one thinks of

// The lines that script number `code` consists of, written in the base of the alphabet.
script numbered(const script& alphabet, int code, int length) {
  script lines;
  for (int i = 0; i < length; ++i) {
    lines.push_back(alphabet[static_cast<std::size_t>(code) % alphabet.size()]);
    code /= static_cast<int>(alphabet.size());
  }
  return lines;
}

// Two concurrent histories of two lines each, in all combinations, beside the given senders.
std::string explore_histories(scenario what, const script& alphabet, std::size_t* states) {
  const int count = static_cast<int>(alphabet.size() * alphabet.size());
  const auto senders = what.scripts;
  for (int first = 0; first < count; ++first) {
    for (int second = first; second < count; ++second) {
      what.scripts = senders;
      what.scripts.push_back(numbered(alphabet, first, 2));
      what.scripts.push_back(numbered(alphabet, second, 2));
      const auto result = explore::explore_all_in_place(location_world(what), state_limit);
      *states += result.states;
      if (!result.complete) return "too many states";
      if (!result.failure().empty()) {
        return result.failure() + " of histories " + std::to_string(first) + " and " + std::to_string(second);
      }
    }
  }
  return "";
}

TEST(every_short_history, of_two_times_two_migrations_between_three_pes) {
  std::size_t states = 0;
  const scenario what{3, population::dense, {0}, {sends(1, 2), sends(2, 1)}};
  EXPECT_EQ(explore_histories(what, migrations({0, 1, 2}), &states), "");
  RecordProperty("states", static_cast<int>(states));
}

TEST(every_short_history, of_two_times_two_migrations_between_four_pes) {
  std::size_t states = 0;
  const scenario what{4, population::dense, {0}, {sends(1, 2)}};
  EXPECT_EQ(explore_histories(what, migrations({0, 1, 2, 3}), &states), "");
  RecordProperty("states", static_cast<int>(states));
}

TEST(every_short_history, of_two_times_two_migrations_insertions_deletions) {
  std::size_t states = 0;
  const script alphabet = migrations({1, 2}) + insertion(0) + insertion(1) + insertion(2) + deletion;
  const scenario what{3, population::dense, {0}, {sends(1, 1), sends(2, 1)}};
  EXPECT_EQ(explore_histories(what, alphabet, &states), "");
  RecordProperty("states", static_cast<int>(states));
}

TEST(every_short_history, of_two_times_two_insertions_migrations_deletions) {
  std::size_t states = 0;
  const script alphabet = migrations({0, 2}) + insertion(1) + insertion(2) + deletion;
  const scenario what{3, population::sparse, {0}, {sends(1, 2) + insertion(1)}};
  EXPECT_EQ(explore_histories(what, alphabet, &states), "");
  RecordProperty("states", static_cast<int>(states));
}

// ---- the exploration can fail

scenario sender_aside(fault broken, channel_order order = channel_order::pairwise_fifo) {
  return {3, population::dense, {1}, {sends(0, 3), migrations({2})}, order, broken};
}

TEST(faulty_location, flush_skipped_breaks_the_order) {
  for (auto order : {channel_order::pairwise_fifo, channel_order::one_inbox}) {
    const scenario what = sender_aside(fault::flush_skipped, order);
    EXPECT_THAT(explore::explore_all_in_place(location_world(what), state_limit).failure(), HasSubstr("order broken"));
  }
}

TEST(faulty_location, flush_answered_by_the_first_hop_needs_more_than_pairwise_fifo) {
  const scenario pairwise = sender_aside(fault::flush_by_first_hop);
  EXPECT_THAT(explore::explore_all_in_place(location_world(pairwise), state_limit).failure(),
              HasSubstr("order broken"));
  const scenario causal = sender_aside(fault::flush_by_first_hop, channel_order::one_inbox);
  EXPECT_EQ(explore::explore_all_in_place(location_world(causal), state_limit).failure(), "");
}

TEST(faulty_location, old_flush_taken_for_an_answer_is_noticed) {
  const scenario what{3,
                      population::dense,
                      {0},
                      {sends(1, 2), migrations({2, 1, 0})},
                      channel_order::pairwise_fifo,
                      fault::old_flush_is_answer};
  EXPECT_NE(explore::explore_all_in_place(location_world(what), state_limit).failure(), "");
}

TEST(faulty_location, channels_without_order_are_noticed) {
  const scenario what = sender_aside(fault::none, channel_order::none);
  EXPECT_NE(explore::explore_all_in_place(location_world(what), state_limit).failure(), "");
}

TEST(faulty_location, backlog_without_its_bit_is_noticed) {
  const scenario what{2,
                      population::sparse,
                      {0},
                      {sends(1, 2) + insertion(1) + sends(1, 1)},
                      channel_order::pairwise_fifo,
                      fault::backlog_bit_dropped};
  EXPECT_NE(explore::explore_all_in_place(location_world(what), state_limit).failure(), "");
}

TEST(faulty_location, a_message_to_an_element_that_is_never_inserted_is_noticed) {
  const scenario what{2, population::sparse, {0}, {sends(1, 1)}};
  EXPECT_THAT(explore::explore_all_in_place(location_world(what), state_limit).failure(), HasSubstr("lost"));
}

}  // namespace
}  // namespace tri::objects
