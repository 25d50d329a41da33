// The list of strategies, and what surrounds each of them.
#include "trireme/balance_strategy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "small_snapshots.hpp"

namespace tri::balancing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

decided_moves no_moves(const snapshot&, const strategy_options&) { return std::vector<move>{}; }

// polite_strategy.cpp adds it, before main.
TEST(strategy, one_of_the_program_is_found_and_its_moves_are_used) {
  snapshot of = one_host({{10, 10, 10, 10}, {}});
  of.user_data = {std::byte{1}, std::byte{1}};
  of.user_data_ends = {1, 1, 2, 2};
  const outcome done = balance(of, find_strategy("polite"));
  EXPECT_EQ(done.moves, (std::vector<move>{{1, 0, 1}, {3, 0, 1}}));
  EXPECT_DOUBLE_EQ(done.before.longest_ns, 40.0);
  EXPECT_DOUBLE_EQ(done.after.longest_ns, 20.0);
  EXPECT_EQ(all_strategies().back().name, "polite");
  EXPECT_THAT(
      [] {
        add_strategy({"polite", "", no_moves});
      },
      ThrowsMessage<std::invalid_argument>(HasSubstr("exists")));
}

TEST(strategy, wrong_names_and_functions_are_refused) {
  EXPECT_THAT(
      [] {
        add_strategy({"Loud", "", no_moves});
      },
      ThrowsMessage<std::invalid_argument>(HasSubstr("strategy 'Loud': a name has lower-case letters")));
  EXPECT_THAT(
      [] {
        add_strategy({"all", "", no_moves});
      },
      ThrowsMessage<std::invalid_argument>(HasSubstr("is not 'all'")));
  EXPECT_THAT(
      [] {
        add_strategy({"silent", "", {}});
      },
      ThrowsMessage<std::invalid_argument>(HasSubstr("strategy 'silent' has no function")));
  EXPECT_THAT(
      [] { find_strategy("greddy"); },
      ThrowsMessage<std::invalid_argument>(HasSubstr("'greddy'; did you mean 'greedy'?; known: greedy, refine")));
}

TEST(strategy, nonsense_is_refused_with_the_name_of_the_strategy) {
  const strategy wrong{"wrong", "", [](const snapshot&, const strategy_options&) {
                         return decided_moves({{0, 0, 5}});
                       }};
  EXPECT_THAT([&] { balance(one_host({{1}}), wrong); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("strategy 'wrong' moves object 0 from PE 0 to PE 5")));
}

TEST(strategy, moves_that_lengthen_the_makespan_are_dropped) {
  const strategy worse{"worse", "", [](const snapshot&, const strategy_options&) {
                         return decided_moves({{0, 0, 1}});
                       }};
  const outcome done = balance(one_host({{1}, {1}}), worse);
  EXPECT_TRUE(done.is_refused);
  EXPECT_THAT(done.moves, IsEmpty());
  EXPECT_DOUBLE_EQ(done.after.longest_ns, 1.0);
}

TEST(strategy, options_are_checked) {
  const strategy greedy = find_strategy("greedy");
  EXPECT_THAT([&] { balance(one_host({{1}}), greedy, {.tolerance = -1.0}); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("tolerance is -1; it must be from 0 to 10")));
  EXPECT_THAT([&] { balance(one_host({{1}}), greedy, {.alpha = 0.5}); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("alpha is 0.5")));
  EXPECT_THAT([&] { balance(one_host({{1}}), greedy, {.rounds = 0}); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("rounds is 0")));
}

TEST(strategy, what_a_strategy_lacks_is_said) {
  const snapshot of = one_host({{1}, {1}});
  for (const char* name : {"curve", "bisection"})
    EXPECT_THAT([&] { balance(of, find_strategy(name)); },
                ThrowsMessage<std::invalid_argument>(HasSubstr("needs coordinates of the objects")));
  EXPECT_THAT([&] { balance(of, find_strategy("contention")); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("needs a counter, and the snapshot has none")));
}

}  // namespace
}  // namespace tri::balancing
