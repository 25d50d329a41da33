// The switch with delay, in virtual time.
#include "network/ethernet_switch.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace {

using tri::bench::ethernet_switch;

constexpr std::size_t header_bytes = 10;
constexpr int everyone = 0xff;

// `to` and `from` are the last bytes of the addresses; `content` is behind the header.
std::vector<std::byte> frame(int to, int from, int content, std::size_t size = 64) {
  std::vector<std::byte> made(header_bytes + size);
  for (std::size_t i = 0; i < 6; ++i) made[header_bytes + i] = to == everyone ? std::byte{0xff} : std::byte{2};
  for (std::size_t i = 6; i < 12; ++i) made[header_bytes + i] = std::byte{2};
  made[header_bytes + 5] = static_cast<std::byte>(to);
  made[header_bytes + 11] = static_cast<std::byte>(from);
  made[header_bytes + 14] = static_cast<std::byte>(content);
  return made;
}

struct sent {
  std::size_t port;
  int content;
  bool operator==(const sent&) const = default;
};

std::vector<sent> leaving(ethernet_switch& under_test, std::int64_t now) {
  std::vector<sent> seen;
  under_test.leave([now] { return now; },
                   [&](std::size_t port, std::span<const std::byte> bytes) {
                     seen.push_back({port, static_cast<int>(bytes[header_bytes + 14])});
                     return true;
                   });
  return seen;
}

TEST(ethernet_switch, sends_to_all_until_it_knows_where_an_address_is) {
  ethernet_switch under_test(3, 0, header_bytes, 1 << 20);
  under_test.arrive(0, frame(everyone, 1, 5), 0);
  EXPECT_EQ(leaving(under_test, 0), (std::vector<sent>{{1, 5}, {2, 5}}));
  under_test.arrive(2, frame(1, 3, 6), 0);  // address 1 is at port 0
  under_test.arrive(0, frame(3, 1, 7), 0);
  under_test.arrive(0, frame(2, 1, 8), 0);  // nothing has come from address 2 yet
  EXPECT_EQ(leaving(under_test, 0), (std::vector<sent>{{0, 6}, {2, 7}, {1, 8}, {2, 8}}));
}

TEST(ethernet_switch, follows_an_address_to_another_port) {
  ethernet_switch under_test(3, 0, header_bytes, 1 << 20);
  under_test.arrive(0, frame(everyone, 1, 0), 0);
  under_test.arrive(1, frame(everyone, 1, 0), 0);
  leaving(under_test, 0);
  under_test.arrive(2, frame(1, 3, 4), 0);
  EXPECT_EQ(leaving(under_test, 0), (std::vector<sent>{{1, 4}}));
}

TEST(ethernet_switch, holds_each_frame_for_the_delay_and_keeps_the_order) {
  ethernet_switch under_test(2, 50, header_bytes, 1 << 20);
  EXPECT_EQ(under_test.next_ns(), std::numeric_limits<std::int64_t>::max());
  for (int i = 0; i < 4; ++i) under_test.arrive(0, frame(everyone, 1, i), 100 + i);
  EXPECT_EQ(under_test.next_ns(), 150);
  EXPECT_TRUE(leaving(under_test, 149).empty());
  EXPECT_EQ(leaving(under_test, 151), (std::vector<sent>{{1, 0}, {1, 1}}));
  EXPECT_EQ(under_test.next_ns(), 152);
  EXPECT_EQ(leaving(under_test, 160), (std::vector<sent>{{1, 2}, {1, 3}}));
  EXPECT_EQ(under_test.counters().frames, 4u);
  EXPECT_EQ(under_test.counters().least_held_ns, 50);
  EXPECT_EQ(under_test.counters().most_held_ns, 58);
}

TEST(ethernet_switch, sends_nothing_back_to_where_it_came_from) {
  ethernet_switch under_test(2, 0, header_bytes, 1 << 20);
  under_test.arrive(0, frame(everyone, 1, 0), 0);
  leaving(under_test, 0);
  under_test.arrive(0, frame(1, 2, 0), 0);
  EXPECT_TRUE(leaving(under_test, 0).empty());
}

TEST(ethernet_switch, drops_what_it_has_no_room_for_and_what_is_no_frame) {
  const std::size_t size = header_bytes + 64;
  ethernet_switch under_test(2, 10, header_bytes, 2 * size);
  for (int i = 0; i < 3; ++i) under_test.arrive(0, frame(everyone, 1, i), 0);
  under_test.arrive(0, std::vector<std::byte>(header_bytes + 13), 0);
  EXPECT_EQ(under_test.counters().dropped, 2u);
  EXPECT_EQ(leaving(under_test, 10), (std::vector<sent>{{1, 0}, {1, 1}}));
  under_test.arrive(0, frame(everyone, 1, 9), 20);  // there is room again
  EXPECT_EQ(leaving(under_test, 30), (std::vector<sent>{{1, 9}}));
}

TEST(ethernet_switch, counts_what_a_port_does_not_take) {
  ethernet_switch under_test(2, 0, header_bytes, 1 << 20);
  under_test.arrive(0, frame(everyone, 1, 0), 0);
  under_test.leave([] { return 0; }, [](std::size_t, std::span<const std::byte>) { return false; });
  EXPECT_EQ(under_test.counters().dropped, 1u);
  EXPECT_EQ(under_test.counters().frames, 0u);
}

}  // namespace
