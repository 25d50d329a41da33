// The table of who sent how much to whom, against a map.
#include "objects/balance/traffic_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <utility>
#include <vector>

namespace tri::objects {
namespace {

using ::testing::IsEmpty;

using amounts = std::map<std::pair<element_name, element_name>, std::pair<std::int64_t, std::int64_t>>;

amounts contents_of(traffic_table& table) {
  std::vector<load_part::pair> all;
  table.append_to(all);
  amounts made;
  for (const load_part::pair& each : all)
    EXPECT_TRUE(made.emplace(std::pair(each.from, each.to), std::pair(each.messages, each.bytes)).second) << "twice";
  return made;
}

TEST(traffic_table, is_a_map_of_pairs) {
  std::mt19937_64 random(7);
  traffic_table table;
  for (const std::uint64_t elements : {2u, 5u, 300u, 3u}) {  // grows, and becomes small again
    amounts expected;
    for (int message = 0; message < 20'000; ++message) {
      const element_name from{static_cast<std::uint32_t>(random() % 2), random() % elements};
      const element_name to{static_cast<std::uint32_t>(random() % 2), random() % elements};
      const std::uint64_t bytes = random() % 100;
      table.count(from, to, bytes);
      auto& [messages, sum] = expected[{from, to}];
      ++messages;
      sum += static_cast<std::int64_t>(bytes);
      if (message % 5'003 == 0) {
        EXPECT_EQ(contents_of(table), expected);
      }
    }
    EXPECT_EQ(contents_of(table), expected);
    table.clear();
    EXPECT_THAT(contents_of(table), IsEmpty());
  }
}

TEST(traffic_table, has_messages_that_were_just_counted) {
  traffic_table table;
  EXPECT_THAT(contents_of(table), IsEmpty());
  table.count({1, 2}, {1, 3}, 10);
  EXPECT_EQ(contents_of(table).at({{1, 2}, {1, 3}}), (std::pair<std::int64_t, std::int64_t>(1, 10)));
  table.count({1, 2}, {1, 3}, 5);
  EXPECT_EQ(contents_of(table).at({{1, 2}, {1, 3}}), (std::pair<std::int64_t, std::int64_t>(2, 15)));
}

}  // namespace
}  // namespace tri::objects
