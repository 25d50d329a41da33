// Seeded random programs on 5 PEs and 4 elements with 10 or more migrations, insertions and deletions each, under the
// three orders of delivery; and what the protocol costs: hops, control messages, entries.
// LOCATION_TEST_SCALE (default 1) multiplies the number of programs.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>

#include "explore/explorer.hpp"
#include "location_world.hpp"

namespace tri::objects {
namespace {

constexpr int pes = 5, elements = 4;

std::uint64_t scaled(std::uint64_t count) {
  const char* scale = std::getenv("LOCATION_TEST_SCALE");
  return scale == nullptr ? count : count * std::strtoull(scale, nullptr, 10);
}

struct mixture {
  int sends_per_pe = 12;
  int migrations_per_element = 10;
  bool lives = false;  // deletions and insertions too
  bool overtaking = false;
};

scenario random_scenario(std::mt19937_64& random, const mixture& mix) {
  using type = script_line::type;
  const auto draw = [&](int n) { return static_cast<int>(random() % static_cast<std::uint64_t>(n)); };
  scenario what;
  what.pes = pes;
  what.initial = mix.lives && draw(2) == 0 ? population::sparse : population::dense;
  what.homes.clear();
  for (int e = 0; e < elements; ++e) what.homes.push_back(draw(pes));
  for (pe_number pe = 0; pe < pes; ++pe) {
    script lines;
    for (int i = 0; i < mix.sends_per_pe; ++i) {
      lines.push_back({mix.overtaking && draw(4) == 0 ? type::send_overtaking : type::send, draw(elements), pe});
    }
    what.scripts.push_back(lines);
  }
  for (int e = 0; e < elements; ++e) {
    script lines;
    if (what.initial == population::sparse) what.scripts.push_back({{type::insert, e, draw(pes)}});
    for (int i = 0; i < mix.migrations_per_element; ++i) {
      lines.push_back({type::migrate, e, draw(pes)});
      if (mix.lives && draw(4) == 0) lines.push_back({type::erase, e, 0});
      if (mix.lives && draw(3) == 0) lines.push_back({type::insert, e, draw(pes)});
    }
    what.scripts.push_back(lines);
  }
  return what;
}

struct totals {
  std::uint64_t sent = 0, hops = 0, controls = 0, moves = 0, dead = 0, entries = 0;
};

totals run_many(const mixture& mix, channel_order order, std::uint64_t count, std::uint64_t first_seed) {
  totals sum;
  for (std::uint64_t seed = first_seed; seed < first_seed + count; ++seed) {
    std::mt19937_64 random(seed);
    auto what = random_scenario(random, mix);
    what.order = order;
    location_world world(what);
    const auto result = explore::explore_random(world, random(), 100'000);
    if (!result.failure().empty()) {
      ADD_FAILURE() << result.failure() << " of program " << seed;
      break;
    }
    sum.sent += world.sent();
    sum.hops += world.hops();
    sum.controls += world.controls();
    sum.moves += world.moves();
    sum.dead += world.dead();
    sum.entries += world.entries();
  }
  return sum;
}

class random_programs : public testing::TestWithParam<channel_order> {};

TEST_P(random_programs, migrations_keep_all_messages_in_order) {
  const auto sum = run_many({}, GetParam(), scaled(10'000), 1);
  EXPECT_GT(sum.moves, 0U);
  EXPECT_EQ(sum.dead, 0U);
}

TEST_P(random_programs, deletions_and_insertions_keep_all_messages_in_order) {
  const auto sum = run_many({.lives = true}, GetParam(), scaled(10'000), 1'000'000'000);
  EXPECT_GT(sum.dead, 0U);
}

TEST_P(random_programs, overtaking_messages_are_not_lost) {
  run_many({.lives = true, .overtaking = true}, GetParam(), scaled(10'000), 2'000'000'000);
}

INSTANTIATE_TEST_SUITE_P(location, random_programs,
                         testing::Values(channel_order::pairwise_fifo, channel_order::one_inbox), [](const auto& one) {
                           return one.param == channel_order::one_inbox ? "one_inbox" : "pairwise_fifo";
                         });

TEST(location_cost, nothing_where_nothing_migrates) {
  const auto sum = run_many({.migrations_per_element = 0}, channel_order::pairwise_fifo, 200, 7);
  EXPECT_EQ(sum.controls, 0U);
  EXPECT_EQ(sum.entries, 0U);
  EXPECT_LE(sum.hops, sum.sent);
}

// 12 messages from each PE during 10 migrations of each element: about as bad as it gets.
TEST(location_cost, at_most_two_hops_per_message_on_average_even_under_constant_migration) {
  const auto sum = run_many({}, channel_order::pairwise_fifo, 2'000, 99);
  RecordProperty("hops_per_message", std::to_string(double(sum.hops) / double(sum.sent)));
  RecordProperty("controls_per_migration", std::to_string(double(sum.controls) / double(sum.moves)));
  EXPECT_LE(sum.hops, 2 * sum.sent);
  // A migration costs 2, and each of the other PEs that goes on sending at most a notice, a flush and its answer.
  EXPECT_LE(sum.controls, sum.moves * 6 * (pes - 1));
}

// After the storm every PE sends one more message: it goes at once where the element is, or by one forward.
TEST(location_cost, routes_collapse) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    scenario what;
    what.pes = pes;
    what.homes = {0};
    std::mt19937_64 random(seed);
    script storm;
    for (int i = 0; i < 10; ++i)
      storm.push_back({script_line::type::migrate, 0, static_cast<pe_number>(random() % pes)});
    what.scripts.push_back(storm);
    for (pe_number pe = 0; pe < pes; ++pe) what.scripts.push_back(script(40, {script_line::type::send, 0, pe}));
    location_world world(what);
    ASSERT_EQ(explore::explore_random(world, seed, 100'000).failure(), "");
    EXPECT_LE(world.hops(), world.sent() * 3 / 2);
  }
}

}  // namespace
}  // namespace tri::objects
