// Every interleaving of a few accesses of two or three hosts to memory of another one that may register one or two
// chunks, while operations are in flight, entries are evicted, arrays are freed and made again, and invalidations cross
// replies. The world's adapter judges. At the end the same scopes with one fault each, which have to be found.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "address_world.hpp"
#include "explore/in_place.hpp"
#include "faulty_addresses.hpp"

namespace tri::arrays {
namespace {

using testing::HasSubstr;
using type = target_line::type;

// Of array 0.
std::vector<access_line> chunks(const std::vector<std::uint8_t>& numbers) {
  std::vector<access_line> lines;
  for (const std::uint8_t chunk : numbers) lines.push_back({.array = 0, .chunk = chunk});
  return lines;
}
const target_line free_it{.what = type::free};
const target_line add_it{.what = type::add};
target_line use_of(std::uint8_t chunk) { return {.what = type::begin_use, .chunk = chunk}; }
const target_line end_of_use{.what = type::end_use};

struct named_scope {
  std::string name;
  address_scope what;
};
void PrintTo(const named_scope& one, std::ostream* out) { *out << one.name; }

std::vector<named_scope> scopes() {
  return {
      {"two_hosts_and_one_chunk_at_a_time",
       {.programs = {chunks({0, 0, 1}), chunks({1, 1, 0})}, .target = {free_it}, .listed_hosts = 2}},
      {"one_host_walks", {.programs = {chunks({0, 1, 0, 0, 1})}, .target = {free_it}}},
      {"two_hosts_and_a_cache_of_one_entry",
       {.programs = {chunks({0, 1, 0, 1}), chunks({1, 0})}, .target = {free_it}, .most_chunks = 2, .most_entries = 1}},
      {"three_chunks_in_room_for_two",
       {.programs = {chunks({0, 1, 2}), chunks({1, 2})}, .chunks = {3}, .target = {free_it}, .most_chunks = 2}},
      {"three_hosts_more_than_listed",
       {.programs = {chunks({0, 0}), chunks({0, 1}), chunks({0})}, .listed_hosts = 1, .most_in_flight = 1}},
      {"three_hosts_all_listed", {.programs = {chunks({0, 0}), chunks({0, 1}), chunks({1})}, .most_in_flight = 1}},
      {"three_hosts_until_freed",
       {.programs = {chunks({0, 0}), chunks({0}), chunks({0, 0})},
        .chunks = {1},
        .target = {free_it},
        .listed_hosts = 1}},
      {"freed_and_made_again_while_cached",
       {.programs = {chunks({0, 0, 0}), chunks({0, 0})}, .chunks = {1}, .target = {free_it, add_it, free_it}}},
      {"freed_and_made_again_with_victims",
       {.programs = {chunks({0, 1}), chunks({1, 0})}, .target = {free_it, add_it, free_it}}},
      {"uses_by_the_target_itself",
       {.programs = {chunks({0, 1, 0}), chunks({1})},
        .target = {use_of(0), end_of_use, use_of(1), free_it, end_of_use}}},
      {"uses_by_the_target_twice_at_once",
       {.programs = {chunks({0, 1, 0})},
        .target = {use_of(0), use_of(1), use_of(0), end_of_use, free_it, end_of_use, end_of_use}}},
      {"two_arrays_registered_as_a_whole",
       {.programs = {{{0, 0}, {1, 1}, {0, 1}}, {{1, 0}, {0, 1}}},
        .chunks = {2, 2},
        .target = {{type::free, 0}, {type::free, 1}},
        .most_chunks = 2,
        .strategy = registration_strategy::everything}},
      {"two_arrays_in_chunks",
       {.programs = {{{0, 0}, {1, 0}, {0, 0}}, {{1, 0}, {1, 0}}},
        .chunks = {1, 1},
        .target = {{type::free, 0}, {type::free, 1}}}},
      {"puts_by_the_ordinary_path",
       {.programs = {{{0, 0, remote_access::put}, {0, 0}, {0, 0, remote_access::put}}, {{0, 1}, {0, 1}}},
        .target = {free_it},
        .caches_puts = false}},
  };
}

std::vector<named_scope> larger_scopes() {
  return {
      {"two_hosts_with_four_accesses_each",
       {.programs = {chunks({0, 0, 1, 0}), chunks({1, 1, 0, 1})}, .target = {free_it}, .listed_hosts = 2}},
      {"two_hosts_and_three_operations_at_once",
       {.programs = {chunks({0, 0, 0, 1}), chunks({1, 0, 0})}, .target = {free_it}, .most_in_flight = 3}},
      {"three_hosts_with_two_at_once",
       {.programs = {chunks({0, 0}), chunks({0, 1}), chunks({0, 0})}, .target = {free_it}, .listed_hosts = 1}},
      {"three_hosts_and_a_cache_of_one_entry",
       {.programs = {chunks({0, 1, 0}), chunks({0, 1}), chunks({1})},
        .target = {free_it},
        .most_chunks = 2,
        .most_entries = 1}},
      {"freed_and_made_again_among_three_hosts",
       {.programs = {chunks({0, 0, 0}), chunks({0, 0}), chunks({0})},
        .chunks = {1},
        .target = {free_it, add_it, free_it},
        .listed_hosts = 1}},
  };
}

constexpr std::size_t state_limit = 4'000'000;

class every_interleaving : public testing::TestWithParam<named_scope> {
 protected:
  static void explore_all(bool overtaking) {
    address_scope what = GetParam().what;
    what.overtaking = overtaking;
    const auto result = explore::explore_all_in_place(address_world<>(what), state_limit);
    EXPECT_EQ(result.failure(), "");
    EXPECT_TRUE(result.complete) << "more than " << state_limit << " states";
    EXPECT_GT(result.ends, 0U);
    RecordProperty("states", static_cast<int>(result.states));
  }
};

TEST_P(every_interleaving, never_uses_a_dead_address_and_ends_with_pairwise_order) { explore_all(false); }

TEST_P(every_interleaving, never_uses_a_dead_address_and_ends_when_messages_overtake) { explore_all(true); }

INSTANTIATE_TEST_SUITE_P(addresses, every_interleaving, testing::ValuesIn(scopes()),
                         [](const auto& one) { return one.param.name; });
INSTANTIATE_TEST_SUITE_P(larger, every_interleaving, testing::ValuesIn(larger_scopes()),
                         [](const auto& one) { return one.param.name; });

// ---- every short program, rather than those one thinks of

// Accesses to two chunks, by the bits of the number.
std::vector<access_line> numbered(unsigned number, unsigned accesses) {
  std::vector<access_line> lines;
  for (unsigned i = 0; i < accesses; ++i)
    lines.push_back({.array = 0, .chunk = static_cast<std::uint8_t>(number >> i & 1U)});
  return lines;
}

// Two hosts with so many accesses each, in all combinations, beside some programs of the target.
void explore_programs(unsigned accesses, bool overtaking) {
  const std::vector<std::vector<target_line>> of_target{
      {free_it}, {free_it, add_it, free_it}, {use_of(0), end_of_use, free_it}, {use_of(1), free_it, end_of_use}};
  std::size_t states = 0;
  for (unsigned first = 0; first < 1U << accesses; ++first) {
    for (unsigned second = first; second < 1U << accesses; ++second) {
      for (std::size_t target = 0; target < of_target.size(); ++target) {
        for (const std::size_t most_chunks : {1U, 2U}) {
          const address_scope what{.programs = {numbered(first, accesses), numbered(second, accesses)},
                                   .target = of_target[target],
                                   .most_chunks = most_chunks,
                                   .most_entries = 3 - most_chunks,
                                   .listed_hosts = target % 2 + 1,
                                   .overtaking = overtaking};
          const auto result = explore::explore_all_in_place(address_world<>(what), state_limit);
          ASSERT_EQ(result.failure(), "") << first << ' ' << second << ' ' << target << ' ' << most_chunks;
          ASSERT_TRUE(result.complete);
          states += result.states;
        }
      }
    }
  }
  testing::Test::RecordProperty("states", static_cast<int>(states));
}

TEST(every_short_program, of_two_hosts_with_three_accesses_each_and_pairwise_order) { explore_programs(3, false); }

TEST(every_short_program, of_two_hosts_with_two_accesses_each_when_messages_overtake) { explore_programs(2, true); }

// What the scopes are there for does happen in them.
TEST(explored_addresses, all_that_matters_happens) {
  address_events seen;
  for (named_scope& one : scopes()) {
    one.what.events = &seen;
    EXPECT_EQ(explore::explore_all_in_place(address_world<>(one.what), state_limit).failure(), "");
  }
  EXPECT_GT(seen.hits, 0U);
  EXPECT_GT(seen.late_replies, 0U);
  EXPECT_GT(seen.acknowledged_after_use, 0U);
  EXPECT_GT(seen.absent_acknowledged, 0U);
  EXPECT_GT(seen.evictions, 0U);
  EXPECT_GT(seen.broadcasts, 0U);
  EXPECT_GT(seen.victims, 0U);
  EXPECT_GT(seen.frees_that_waited, 0U);
  EXPECT_GT(seen.local_uses, 0U);
}

TEST(explored_addresses, no_reply_is_late_with_pairwise_order) {
  address_events seen;
  for (named_scope& one : scopes()) {
    one.what.overtaking = false;
    one.what.events = &seen;
    EXPECT_EQ(explore::explore_all_in_place(address_world<>(one.what), state_limit).failure(), "");
  }
  EXPECT_GT(seen.hits, 0U);
  EXPECT_EQ(seen.late_replies, 0U);
}

// ---- faults that must be found

const address_scope two_hosts{.programs = {chunks({0, 0, 1}), chunks({1, 1, 0})}};

template <class Cache, class Table = registration_table>
std::string fault_of(const address_scope& what) {
  return explore::explore_all_in_place(address_world<Cache, Table>(what), state_limit).fault;
}

TEST(faulty_addresses, an_acknowledgement_before_the_last_use) {
  EXPECT_EQ(fault_of<hasty_cache>(two_hosts), "deregistered while an operation is in flight");
}

TEST(faulty_addresses, an_address_from_a_late_reply) {
  address_scope what = two_hosts;
  EXPECT_EQ(fault_of<credulous_cache>(what), "a cache has a dead address");
  what.overtaking = false;  // the order of each pair is enough: then epochs decide nothing
  EXPECT_EQ(fault_of<credulous_cache>(what), "");
}

TEST(faulty_addresses, an_absent_entry_that_is_not_acknowledged) {
  address_scope what = two_hosts;
  what.most_entries = 1;
  what.most_chunks = 2;
  what.target = {free_it};
  EXPECT_THAT(fault_of<silent_cache>(what), HasSubstr("deadlock"));
}

TEST(faulty_addresses, deregistering_before_the_acknowledgements) {
  EXPECT_THAT((fault_of<address_cache, hasty_table>(two_hosts)),
              testing::AnyOf("deregistered while an operation is in flight", "a cache has a dead address"));
}

TEST(faulty_addresses, an_invalidation_for_one_host_of_several) {
  address_scope what{.programs = {chunks({0}), chunks({0, 1})}, .most_in_flight = 1};
  EXPECT_EQ((fault_of<address_cache, forgetful_table>(what)), "a cache has a dead address");
  what.listed_hosts = 1;
  EXPECT_EQ((fault_of<address_cache, forgetful_table>(what)), "a cache has a dead address");
}

}  // namespace
}  // namespace tri::arrays
