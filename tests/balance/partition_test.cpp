// Graph partitioning. Where METIS is missing, what is said about it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "balance/made_snapshot.hpp"
#include "balance/strategies/metis.hpp"
#include "small_snapshots.hpp"
#include "trireme/balance_strategy.hpp"

namespace tri::balancing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(partition, says_so_where_metis_is_missing) {
  if (*why_no_metis() == '\0') GTEST_SKIP() << "METIS is here";
  EXPECT_THAT(
      [] {
        balance(one_host({{1}, {1}}), find_strategy("partition"));
      },
      ThrowsMessage<std::runtime_error>(AllOf(HasSubstr("needs METIS"), HasSubstr("install"))));
}

class with_metis : public ::testing::Test {
 protected:
  void SetUp() override {
    if (*why_no_metis() != '\0') GTEST_SKIP() << why_no_metis();
  }
};

// Four cliques of eight, dealt out over four hosts: each belongs on one.
TEST_F(with_metis, cliques_come_together) {
  snapshot of;
  for (std::int32_t pe = 0; pe < 8; ++pe) of.pes.push_back({.host = pe / 2});
  for (std::uint32_t i = 0; i < 32; ++i) {
    of.objects.push_back({.id = i, .load_ns = 1000, .bytes = 1, .pe = static_cast<std::int32_t>(i % 8)});
    for (std::uint32_t other = i / 8 * 8; other < i; ++other) of.traffic.push_back({other, i, 10, 100});
  }
  const outcome done = balance(of, find_strategy("partition"));
  EXPECT_EQ(done.after.messages_between_hosts, 0);
  EXPECT_DOUBLE_EQ(done.after.longest_ns, 4000.0);
}

TEST_F(with_metis, what_is_well_placed_stays) {
  snapshot of;
  for (std::int32_t pe = 0; pe < 3; ++pe) of.pes.push_back({.host = 2 - pe});
  for (std::uint32_t i = 0; i < 24; ++i) {
    of.objects.push_back({.id = i, .load_ns = 1000, .bytes = 1, .pe = static_cast<std::int32_t>(i / 8)});
    if (i % 8 != 0) of.traffic.push_back({i - 1, i, 10, 100});
  }
  EXPECT_TRUE(balance(of, find_strategy("partition")).moves.empty()) << "parts get the numbers of where they are";
}

TEST_F(with_metis, fewer_messages_cross_than_after_greedy) {
  const snapshot of = make_snapshot(wish_from("random,objects=4096,pes=32,hosts=8,speeds=0.2,seed=3"));
  const outcome greedy = balance(of, find_strategy("greedy")), done = balance(of, find_strategy("partition"));
  EXPECT_LT(5 * done.after.messages_between_hosts, greedy.after.messages_between_hosts);
  EXPECT_LT(done.after.longest_ns, 1.1 * done.after.level_ns);
}

TEST_F(with_metis, loads_beyond_32_bits_are_scaled) {
  snapshot of = one_host({std::vector<std::int64_t>(40, 100'000'000'000), {}});
  EXPECT_DOUBLE_EQ(balance(of, find_strategy("partition")).after.longest_ns, 2e12);
}

}  // namespace
}  // namespace tri::balancing
