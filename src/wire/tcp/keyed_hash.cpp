#include "wire/tcp/keyed_hash.hpp"

#include <bit>
#include <cstdint>
#include <cstring>

namespace tri::wire {
namespace {

// Little-endian as in the paper, whatever the machine.
std::uint64_t word_at(const std::byte* bytes, std::size_t count) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < count; ++i) word |= static_cast<std::uint64_t>(bytes[i]) << (8 * i);
  return word;
}

struct hash_state {
  std::uint64_t v0, v1, v2, v3;

  void mix(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      v0 += v1;
      v1 = std::rotl(v1, 13) ^ v0;
      v0 = std::rotl(v0, 32);
      v2 += v3;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 += v3;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 += v1;
      v1 = std::rotl(v1, 17) ^ v2;
      v2 = std::rotl(v2, 32);
    }
  }
  void add(std::uint64_t word) {
    v3 ^= word;
    mix(2);
    v0 ^= word;
  }
  std::uint64_t folded() const { return v0 ^ v1 ^ v2 ^ v3; }
};

}  // namespace

proof_bytes keyed_hash(const token_bytes& token, std::span<const std::byte> message) {
  const std::uint64_t low = word_at(token.data(), 8), high = word_at(token.data() + 8, 8);
  // The constants of the paper; 0xee makes it the variant of 128 bits.
  hash_state state = {low ^ 0x736f6d6570736575U, high ^ 0x646f72616e646f6dU ^ 0xee, low ^ 0x6c7967656e657261U,
                      high ^ 0x7465646279746573U};
  const std::uint64_t length = message.size();
  for (; message.size() >= 8; message = message.subspan(8)) state.add(word_at(message.data(), 8));
  state.add(word_at(message.data(), message.size()) | length << 56);
  std::array<std::uint64_t, 2> halves = {};
  state.v2 ^= 0xee;
  state.mix(4);
  halves[0] = state.folded();
  state.v1 ^= 0xdd;
  state.mix(4);
  halves[1] = state.folded();
  proof_bytes proof;
  for (std::size_t i = 0; i < proof.size(); ++i) proof[i] = static_cast<std::byte>(halves[i / 8] >> (8 * (i % 8)));
  return proof;
}

bool are_equal_proofs(const proof_bytes& one, const proof_bytes& other) {
  std::byte difference{0};
  for (std::size_t i = 0; i < one.size(); ++i) difference |= one[i] ^ other[i];
  return difference == std::byte{0};
}

}  // namespace tri::wire
