// What comes over connections between hosts (src/wire/tcp): frames of both sides, greetings, and addresses of
// processes.
#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "fuzz/fuzz_target.hpp"
#include "wire/tcp/frame_stream.hpp"
#include "wire/tcp/handshake.hpp"

namespace tri::fuzz {
namespace {

using namespace wire;
using wire::test::frame_reader;
using wire::test::frame_stream;

// The first byte says how long the pieces are in which a connection gives the rest.
bool read_frames(frame_side by, std::string_view input) {
  if (input.empty()) return false;
  const std::size_t longest = 1 + static_cast<unsigned char>(input[0]);
  std::span<const std::byte> rest = std::as_bytes(std::span(input.substr(1)));
  frame_decoder decoder(by, 5000);
  frame_reader reader({1, 2, 3});
  while (!rest.empty()) {
    const std::size_t piece = std::min(rest.size(), longest);
    if (!wire::test::give(decoder, reader, rest.first(piece))) {
      expect(!decoder.fault().empty(), "a refusal says what is wrong");
      return false;
    }
    rest = rest.subspan(piece);
  }
  expect(decoder.fault().empty(), "what is wrong is refused");
  return true;
}

bool read_address(std::string_view input) {
  const auto bytes = std::as_bytes(std::span(input));
  const std::vector<std::byte> again = encode_tcp_address(decode_tcp_address(1, bytes));
  // A field that nobody uses may be anything.
  expect(again.size() == bytes.size(), "an address is written as it was read");
  return true;
}

constexpr tcp_parties parties = {.from = 3, .to = 1, .peers = 4};

bool read_greeting(std::string_view input) {
  greeting_bytes greeting;
  if (input.size() != greeting.size()) return false;
  std::memcpy(greeting.data(), input.data(), greeting.size());
  peer_number from = 0;
  if (!is_greeting(greeting, token_bytes{}, parties.to, parties.peers, from)) return false;
  expect(from < parties.peers && from != parties.to, "who greets is another process of the job");
  return true;
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

bool read(std::string_view input) {
  if (input.empty()) return false;
  const std::string_view rest = input.substr(1);
  try {
    switch (input[0]) {
      case 'c':
        return read_frames(frame_side::by_connector, rest);
      case 'a':
        return read_frames(frame_side::by_acceptor, rest);
      case 'd':
        return read_address(rest);
      case 'g':
        return read_greeting(rest);
      default:
        return false;
    }
  } catch (const std::runtime_error&) {  // of an address
    return false;
  }
}

std::vector<std::string> seeds() {
  const frame_stream frames =
      frame_stream().packet(3, 5).announce(7, 2, 20).packet(0, 0).body(7, 20).announce(8, 0, 300).body(8, 300);
  const frame_stream answers =
      frame_stream().answer(frame_kind::accept, 2).answer(frame_kind::refuse, 1).answer(frame_kind::accept, 3);
  const tcp_endpoint one = {.family = 4, .port = 80}, other = {.family = 6, .port = 65535};
  std::vector<std::string> made = {"c\xff", "c\3", "a\7", "d", "g"};
  made[0] += text_of(frames.bytes());
  made[1] += text_of(frames.bytes());
  made[2] += text_of(answers.bytes());
  made[3] += text_of(encode_tcp_address({.token = {}, .endpoints = {one, other}}));
  made[4] += text_of(make_greeting({}, {}, parties));
  return made;
}

}  // namespace tri::fuzz
