#include "trireme/detail/balance/snapshot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <stdexcept>

#include "small_snapshots.hpp"
#include "trireme/detail/balance/loads.hpp"

namespace tri::balancing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

void expect_refused(const std::function<void(snapshot&)>& spoil, const char* why) {
  snapshot spoilt = one_host({{10, 20}, {30}});
  check(spoilt);
  spoil(spoilt);
  EXPECT_THAT([&] { check(spoilt); }, ThrowsMessage<std::invalid_argument>(HasSubstr(why)));
}

TEST(snapshot, what_is_wrong_is_said_with_place_and_value) {
  expect_refused([](snapshot& s) { s.pes.clear(); }, "it has no PEs");
  expect_refused([](snapshot& s) { s.objects[2].pe = 2; }, "object 2 (id 2) is on PE 2; there are PEs 0 to 1");
  expect_refused([](snapshot& s) { s.objects[1].pe = -1; }, "is on PE -1");
  expect_refused([](snapshot& s) { s.objects[1].load_ns = -5; }, "object 1 (id 1) has a load of -5 ns");
  expect_refused([](snapshot& s) { s.objects[0].load_ns = INT64_MAX; }, "more than 2^53 ns");
  expect_refused([](snapshot& s) { s.objects[1].id = 0; }, "two objects have the id 0");
  expect_refused([](snapshot& s) { s.pes[1].speed = 0.0; }, "the speed of PE 1 is 0; it must be from 0.001 to 1000");
  expect_refused([](snapshot& s) { s.pes[1].speed = std::nan(""); }, "the speed of PE 1 is nan");
  expect_refused([](snapshot& s) { s.pes[0].background_ns = -1; }, "the background load of PE 0 is -1 ns");
  expect_refused([](snapshot& s) { s.pes[0].numa_node = -1; }, "NUMA node -1");
  expect_refused([](snapshot& s) { s.traffic.push_back({0, 3, 1, 1}); }, "traffic 0 is from object 0 to 3");
  expect_refused([](snapshot& s) { s.traffic.push_back({0, 1, -1, 1}); }, "traffic 0 is -1 messages");
  expect_refused([](snapshot& s) { s.traffic.assign(2, {0, 1, 1, INT64_MAX}); }, "1.84e+19 bytes; 4e+18 of either");
  expect_refused([](snapshot& s) { s.objects[1].bytes = INT64_MAX; }, "all objects together have 9.22e+18 bytes");
  expect_refused([](snapshot& s) { s.dimensions = 4; }, "4 dimensions; up to 3");
  expect_refused([](snapshot& s) { s.dimensions = 2; }, "0 coordinates; 3 objects with 2 dimensions need 6");
  expect_refused(
      [](snapshot& s) {
        s.dimensions = 1;
        s.coordinates = {0.0, INFINITY, 0.0};
      },
      "a coordinate of object 1 is inf; it must be from -1e100 to 1e100");
  expect_refused([](snapshot& s) { s.counters = {"misses"}; }, "0 values of counters");
  expect_refused([](snapshot& s) { s.user_data.resize(2); }, "0 ends of user data");
  expect_refused([](snapshot& s) { s.user_data_ends = {0, 1, 1}; }, "the ends of user data must grow, up to its 0");
}

TEST(snapshot, user_data_of_any_size_is_read_back) {
  snapshot with = one_host({{1, 1, 1}});
  with.user_data = {std::byte{7}, std::byte{8}, std::byte{9}};
  with.user_data_ends = {2, 2, 3};
  check(with);
  EXPECT_EQ(with.user_data_of(0).size(), 2u);
  EXPECT_EQ(with.user_data_of(1).size(), 0u);
  ASSERT_EQ(with.user_data_of(2).size(), 1u);
  EXPECT_EQ(with.user_data_of(2)[0], std::byte{9});
  EXPECT_TRUE(one_host({{1}}).user_data_of(0).empty());
}

TEST(snapshot, moves_that_make_no_sense_are_refused) {
  snapshot of = one_host({{10, 20}, {30}});
  of.objects[1].is_migratable = false;
  const auto refusal = [&](std::vector<move> moves, const char* why) {
    EXPECT_THAT([&] { check_moves(of, moves, "strategy 'mine'"); },
                ThrowsMessage<std::invalid_argument>(HasSubstr(why)));
  };
  check_moves(of, std::vector<move>{{0, 0, 1}, {2, 1, 0}}, "strategy 'mine'");
  refusal({{3, 0, 1}}, "strategy 'mine' moves object 3 from PE 0 to PE 1: there are 3 objects");
  refusal({{0, 0, 2}}, "there are PEs 0 to 1");
  refusal({{0, 0, -1}}, "there are PEs 0 to 1");
  refusal({{0, 1, 0}}, "it is on PE 0");
  refusal({{0, 0, 0}}, "it is there already");
  refusal({{1, 0, 1}}, "it cannot migrate");
  refusal({{0, 0, 1}, {0, 0, 1}}, "it was moved before");
}

TEST(loads, the_time_of_a_pe_depends_on_its_speed) {
  snapshot of = one_host({{100, 50}, {}});
  of.pes[0].speed = 2.0;
  of.pes[1].background_ns = 10;
  EXPECT_THAT(times_of(of, {}), ::testing::ElementsAre(150.0, 10.0));
  // Measured on a PE of speed 2, the object takes twice as long on one of speed 1.
  EXPECT_THAT(times_of(of, std::vector<move>{{1, 0, 1}}), ::testing::ElementsAre(100.0, 110.0));
}

TEST(loads, nothing_ends_before_the_level) {
  snapshot of = one_host({{100, 100}, {}, {}});
  EXPECT_DOUBLE_EQ(quality_of(of, {}).level_ns, 100.0) << "an object cannot be divided";
  of = one_host({std::vector<std::int64_t>(30, 10), {}, {}});
  EXPECT_DOUBLE_EQ(quality_of(of, {}).level_ns, 100.0);
  of.pes[2].background_ns = 60;
  EXPECT_DOUBLE_EQ(quality_of(of, {}).level_ns, 120.0);
  of.pes[2].background_ns = 400;
  EXPECT_DOUBLE_EQ(quality_of(of, {}).level_ns, 400.0) << "the others share what can move";
}

TEST(loads, traffic_between_hosts_is_counted_after_the_moves) {
  snapshot of = one_host({{1}, {1}, {1}});
  of.pes[2].host = 1;
  of.traffic = {{0, 1, 5, 50}, {0, 2, 7, 70}, {2, 2, 100, 100}};
  EXPECT_EQ(quality_of(of, {}).messages_between_hosts, 7);
  const quality after = quality_of(of, std::vector<move>{{0, 0, 2}});
  EXPECT_EQ(after.messages_between_hosts, 5);
  EXPECT_EQ(after.bytes_between_hosts, 50);
  EXPECT_EQ(after.moved_objects, 1);
  EXPECT_EQ(after.moved_bytes, 100);
}

}  // namespace
}  // namespace tri::balancing
