// Random schedules of scopes that are too large to exhaust: four hosts, several arrays, small caches, all at once.
#include <gmock/gmock.h>

#include <random>
#include <vector>

#include "address_world.hpp"
#include "explore/explorer.hpp"
#include "faulty_addresses.hpp"

namespace tri::arrays {
namespace {

address_scope drawn_scope(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  address_scope made{.programs = std::vector<std::vector<access_line>>(2 + random() % 3),
                     .chunks = {4, 3, 2},
                     .most_chunks = 1 + random() % 6,
                     .most_entries = 1 + random() % 6,
                     .listed_hosts = random() % 4,
                     .most_in_flight = 1 + random() % 4,
                     .strategy = seed % 4 == 0 ? registration_strategy::everything : registration_strategy::chunks,
                     .overtaking = seed % 2 == 0,
                     .caches_puts = seed % 3 != 0};
  for (auto& program : made.programs) {
    for (int i = 0; i < 60; ++i) {
      const auto array = static_cast<std::uint8_t>(random() % 3);
      program.push_back({.array = array,
                         .chunk = static_cast<std::uint8_t>(random() % made.chunks[array]),
                         .access = random() % 3 == 0 ? remote_access::put : remote_access::get});
    }
  }
  using type = target_line::type;
  for (int i = 0; i < 12; ++i) {
    const auto array = static_cast<std::uint8_t>(random() % 3);
    const auto chunk = static_cast<std::uint8_t>(random() % made.chunks[array]);
    if (random() % 3 == 0) {
      made.target.push_back({type::free, array, 0});
      made.target.push_back({type::add, array, 0});
    } else {
      made.target.push_back({type::begin_use, array, chunk});
      made.target.push_back({type::end_use, array, chunk});
    }
  }
  for (std::uint8_t array = 0; array < 3; ++array) made.target.push_back({type::free, array, 0});
  return made;
}

TEST(random_schedules_of_addresses, never_use_a_dead_address_and_end) {
  address_events seen;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    address_scope scope = drawn_scope(seed);
    scope.events = &seen;
    address_world<> world(scope);
    const auto result = explore::explore_random(world, seed, 20'000);
    ASSERT_EQ(result.failure(), "") << "scope " << seed;
  }
  EXPECT_GT(seen.hits, 0U);
  EXPECT_GT(seen.late_replies, 0U);
  EXPECT_GT(seen.acknowledged_after_use, 0U);
  EXPECT_GT(seen.evictions, 0U);
  EXPECT_GT(seen.broadcasts, 0U);
  EXPECT_GT(seen.victims, 0U);
  EXPECT_GT(seen.frees_that_waited, 0U);
  EXPECT_GT(seen.local_uses, 0U);
}

template <class Cache, class Table = registration_table>
bool finds_a_fault() {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const address_scope scope = drawn_scope(seed);
    address_world<Cache, Table> world(scope);
    if (!explore::explore_random(world, seed, 20'000).fault.empty()) return true;
  }
  return false;
}

TEST(random_schedules_of_addresses, find_faults) {
  EXPECT_TRUE(finds_a_fault<hasty_cache>());
  EXPECT_TRUE(finds_a_fault<credulous_cache>());
  EXPECT_TRUE(finds_a_fault<silent_cache>());
  EXPECT_TRUE((finds_a_fault<address_cache, hasty_table>()));
  EXPECT_TRUE((finds_a_fault<address_cache, forgetful_table>()));
}

}  // namespace
}  // namespace tri::arrays
