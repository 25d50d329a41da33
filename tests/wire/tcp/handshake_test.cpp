// Who is let in: proofs, greetings, welcomes and addresses, each field at its limits and beyond.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "support/check.hpp"
#include "wire/tcp/handshake.hpp"

namespace tri::wire::test {
namespace {

using testing::check_throws;

std::string hex_of(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte each : bytes) {
    constexpr char digits[] = "0123456789abcdef";
    text += digits[static_cast<unsigned>(each) / 16];
    text += digits[static_cast<unsigned>(each) % 16];
  }
  return text;
}

token_bytes counted_token() {
  token_bytes token;
  for (std::size_t i = 0; i < token.size(); ++i) token[i] = static_cast<std::byte>(i);
  return token;
}

// What `openssl mac -macopt size:16 -macopt hexkey:000102030405060708090a0b0c0d0e0f SIPHASH` says of the bytes 0, 1, 2
// ...
TEST(keyed_hash, is_sip_hash_of_128_bits) {
  std::vector<std::byte> message;
  const auto hash = [&](std::size_t bytes) {
    message.resize(bytes);
    for (std::size_t i = 0; i < bytes; ++i) message[i] = static_cast<std::byte>(i);
    return hex_of(keyed_hash(counted_token(), message));
  };
  EXPECT_EQ(hash(0), "a3817f04ba25a8e66df67214c7550293");
  EXPECT_EQ(hash(1), "da87c1d86b99af44347659119b22fc45");
  EXPECT_EQ(hash(7), "a1f1ebbed8dbc153c0b84aa61ff08239");
  EXPECT_EQ(hash(8), "3b62a9ba6258f5610f83e264f31497b4");
  EXPECT_EQ(hash(40), "df6a301e95c95dad97ae0cc8c6913bd8");
  EXPECT_EQ(hash(63), "5150d1772f50834a503e069a973fbd7c");
}

TEST(keyed_hash, every_bit_of_a_proof_counts) {
  const proof_bytes proof = keyed_hash(counted_token(), {});
  EXPECT_TRUE(are_equal_proofs(proof, keyed_hash(counted_token(), {})));
  for (std::size_t bit = 0; bit < 8 * proof.size(); ++bit) {
    proof_bytes other = proof;
    other[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    EXPECT_FALSE(are_equal_proofs(proof, other)) << bit;
  }
}

constexpr tcp_parties parties = {.from = 3, .to = 1, .peers = 4};

bool is_taken(const greeting_bytes& greeting, peer_number self = 1, std::size_t peers = 4) {
  peer_number from = 77;
  if (!is_greeting(greeting, counted_token(), self, peers, from)) return false;
  EXPECT_EQ(from, 3U);
  return true;
}

TEST(greeting, is_taken_only_with_proof_of_the_token) {
  const greeting_bytes greeting = make_greeting(counted_token(), make_token(), parties);
  EXPECT_TRUE(is_taken(greeting));
  EXPECT_FALSE(is_taken(make_greeting(make_token(), make_token(), parties)));
  EXPECT_FALSE(is_taken(make_greeting({}, make_token(), parties)));
  for (std::size_t bit = 0; bit < 8 * greeting.size(); ++bit) {
    greeting_bytes changed = greeting;
    changed[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    EXPECT_FALSE(is_taken(changed)) << "bit " << bit;
  }
}

TEST(greeting, is_for_one_process_of_one_job) {
  const auto greets = [](const tcp_parties& who) { return make_greeting(counted_token(), make_token(), who); };
  EXPECT_FALSE(is_taken(greets(parties), 2)) << "another receiver";
  EXPECT_FALSE(is_taken(greets(parties), 1, 5)) << "another number of processes";
  EXPECT_FALSE(is_taken(greets({.from = 4, .to = 1, .peers = 4}))) << "out of range";
  EXPECT_FALSE(is_taken(greets({.from = 1, .to = 1, .peers = 4}))) << "ourselves";
}

TEST(greeting, says_nothing_of_the_token) {
  const token_bytes token = make_token();
  const greeting_bytes greeting = make_greeting(token, make_token(), parties);
  const welcome_bytes welcome = make_welcome(token, greeting);
  EXPECT_EQ(hex_of(greeting).find(hex_of(token)), std::string::npos);
  EXPECT_EQ(hex_of(welcome).find(hex_of(token)), std::string::npos);
}

TEST(welcome, is_of_one_greeting_and_one_receiver) {
  const greeting_bytes greeting = make_greeting(counted_token(), make_token(), parties);
  const greeting_bytes another = make_greeting(counted_token(), make_token(), parties);
  EXPECT_EQ(make_welcome(counted_token(), greeting), make_welcome(counted_token(), greeting));
  EXPECT_NE(make_welcome(counted_token(), greeting), make_welcome(counted_token(), another));
  EXPECT_NE(make_welcome(counted_token(), greeting), make_welcome(make_token(), greeting));
  // Who sends the proof of the greeting back has proven nothing.
  const welcome_bytes welcome = make_welcome(counted_token(), greeting);
  EXPECT_NE(std::memcmp(welcome.data() + 8, greeting.data() + 40, 16), 0);
}

TEST(token, is_another_one_each_time) {
  std::set<token_bytes> made;
  for (int i = 0; i < 1000; ++i) made.insert(make_token());
  EXPECT_EQ(made.size(), 1000U);
}

tcp_endpoint endpoint(std::uint32_t family, std::uint32_t port) {
  tcp_endpoint made = {.family = family, .port = port};
  made.address[0] = std::byte{10};
  made.address[3] = std::byte{9};
  return made;
}

TEST(tcp_address, is_read_as_it_was_written) {
  const tcp_address address = {.token = counted_token(), .endpoints = {endpoint(4, 1), endpoint(6, 65535)}};
  const tcp_address read = decode_tcp_address(2, encode_tcp_address(address));
  EXPECT_EQ(read.token, address.token);
  EXPECT_EQ(read.endpoints, address.endpoints);
  EXPECT_EQ(read.endpoints[0].text(), "10.0.0.9 port 1");
  EXPECT_EQ(read.endpoints[1].text(), "a00:9:: port 65535");
}

TEST(tcp_address, of_another_conduit_or_build_is_named) {
  const tcp_address address = {.token = counted_token(), .endpoints = {endpoint(4, 80)}};
  const std::vector<std::byte> bytes = encode_tcp_address(address);
  const auto refuses = [](std::span<const std::byte> wrong, const char* words) {
    check_throws<std::runtime_error>([&] { decode_tcp_address(2, wrong); }, words);
  };
  const char* const other = "what process 2 gives as its address is none of the wire 'tcp', which this process uses";
  for (std::size_t size = 0; size < bytes.size(); ++size) refuses(std::span(bytes).first(size), other);
  std::vector<std::byte> longer = bytes;
  longer.resize(bytes.size() + 1);
  refuses(longer, other);
  std::vector<std::byte> another_mark = bytes;
  another_mark[7] ^= std::byte{1};
  refuses(another_mark, other);
  refuses(encode_tcp_address({.token = {}, .endpoints = {}}), other);
  refuses(encode_tcp_address({.token = {}, .endpoints = {endpoint(5, 80)}}),
          "address family 5 and port 80; they must be");
  refuses(encode_tcp_address({.token = {}, .endpoints = {endpoint(4, 0)}}), "address family 4 and port 0;");
  refuses(encode_tcp_address({.token = {}, .endpoints = {endpoint(6, 65536)}}), "address family 6 and port 65536;");
  refuses(encode_tcp_address({.token = {}, .endpoints = std::vector(65, endpoint(4, 80))}), other);
}

}  // namespace
}  // namespace tri::wire::test
