// Encoding and decoding of the bootstrap messages, with damaged and random bytes.
#include "boot/bootstrap_messages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "boot/membership.hpp"
#include "os/packet_socket.hpp"

namespace tri::boot {
namespace {

template <class Message>
Message round_trip(const Message& message) {
  return std::get<Message>(decode(encode(message)));
}

TEST(bootstrap_messages, round_trips) {
  hello_message hello;
  hello.process = 3;
  hello.pes = 2;
  hello.hosts = 1;
  hello.has_arena = 1;
  hello.fingerprint = 0x0123456789abcdef;
  EXPECT_EQ(round_trip(hello).process, 3);
  EXPECT_EQ(round_trip(hello).fingerprint, hello.fingerprint);
  EXPECT_EQ(round_trip(rejected_message{"no"}).text, "no");
  EXPECT_EQ(round_trip(failed_message{""}).text, "");
  EXPECT_EQ(round_trip(barrier_message{1ull << 40}).epoch, 1ull << 40);
  EXPECT_EQ(round_trip(left_message{-1}).exit_status, -1);
  EXPECT_EQ(round_trip(published_address_message{{std::byte{1}, std::byte{2}}}).address[1], std::byte{2});
  EXPECT_EQ(round_trip(wanted_address_message{5, 6}).question, 6u);
  const address_message address =
      round_trip(address_message{{5, 6, 1, 0}, std::vector<std::byte>(most_endpoint_address_bytes)});
  EXPECT_EQ(address.about.process, 5);
  EXPECT_EQ(address.about.published, 1u);
  EXPECT_EQ(address.address.size(), most_endpoint_address_bytes);
  EXPECT_TRUE(round_trip(address_message{}).address.empty());
  round_trip(start_message{});
  round_trip(peers_taken_message{});
  peers_message peers;
  peers.entries.resize(most_entries_of_a_message);
  peers.entries.back().pid = 77;
  EXPECT_EQ(round_trip(peers).entries.back().pid, 77);
}

TEST(bootstrap_messages, long_texts_are_cut_to_a_packet) {
  const auto bytes = encode(failed_message{std::string(1'000'000, 'x')});
  EXPECT_EQ(bytes.size(), os::most_packet_bytes);
  EXPECT_GT(std::get<failed_message>(decode(bytes)).text.size(), 60'000u);
}

void expect_refused(std::vector<std::byte> bytes, const char* text) {
  try {
    decode(bytes);
    FAIL() << text;
  } catch (const protocol_error& problem) {
    EXPECT_THAT(problem.what(), ::testing::HasSubstr(text));
  }
}

TEST(bootstrap_messages, what_is_wrong_is_named) {
  const std::vector<std::byte> good = encode(hello_message{});
  expect_refused({}, "0 bytes has no header");
  auto bad = good;
  bad[0] = std::byte{0};
  expect_refused(bad, "starts with");
  bad = good;
  bad[4] = std::byte{9};
  expect_refused(bad, "bootstrap protocol version 9 instead of 2");
  bad = good;
  bad[6] = std::byte{200};
  expect_refused(bad, "unknown kind 200");
  bad = good;
  bad.pop_back();
  expect_refused(bad, "announces a body of 24");
  bad = good;
  bad.pop_back();
  bad[8] = std::byte{23};
  expect_refused(bad, "the 'hello' message has 23 bytes instead of 24");
  peers_message none;
  expect_refused(encode(none), "a 'peers' message has 0 entries");
  none.entries.resize(most_entries_of_a_message + 1);
  expect_refused(encode(none), "a 'peers' message has 65 entries");
  expect_refused(encode(published_address_message{std::vector<std::byte>(most_endpoint_address_bytes + 1)}),
                 "a network address has 4097 bytes; at most 4096 are allowed");
  bad = encode(address_message{});
  bad.pop_back();
  bad[8] = std::byte{15};
  expect_refused(bad, "the 'address' message has 15 bytes instead of 16");
}

TEST(bootstrap_messages, random_bytes_are_read_or_refused) {
  std::mt19937 random(1);
  const std::vector<std::byte> good = encode(peers_message{std::vector<peer_entry>(3)});
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::byte> bytes = good;
    for (int flips = 0; flips < 3; ++flips) bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    try {
      const bootstrap_message message = decode(bytes);
      EXPECT_EQ(encode(message).size(), bytes.size());
    } catch (const protocol_error&) {
    }
  }
}

}  // namespace
}  // namespace tri::boot
