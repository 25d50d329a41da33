// FNV-1a with 64 bits (Fowler, Noll and Vo): numbers for names, and check values of texts. It finds what was changed by
// mistake; an attacker can find two texts with one value. Values are compared between processes of a job and lie in
// files, so they stay what they are.
#pragma once

#include <cstdint>
#include <string_view>

namespace tri::os {

inline constexpr std::uint64_t hash_of_nothing = 0xcbf29ce484222325u;

constexpr std::uint64_t hashed_byte(std::uint64_t hash, unsigned char byte) { return (hash ^ byte) * 0x100000001b3u; }

/// Of what `hash` is of, and the text behind it: of "ab" and "c" as of "a" and "bc".
constexpr std::uint64_t hashed(std::string_view text, std::uint64_t hash = hash_of_nothing) {
  for (const char letter : text) hash = hashed_byte(hash, static_cast<unsigned char>(letter));
  return hash;
}

/// As `hashed`, and a byte that no name has: "ab" and "c" differ from "a" and "bc".
constexpr std::uint64_t hashed_name(std::uint64_t hash, std::string_view name) {
  return hashed_byte(hashed(name, hash), 0xff);
}

/// The word's bytes, lowest first, on every processor.
constexpr std::uint64_t hashed_word(std::uint64_t hash, std::uint64_t word) {
  for (int byte = 0; byte < 8; ++byte, word >>= 8) hash = hashed_byte(hash, static_cast<unsigned char>(word));
  return hash;
}

}  // namespace tri::os
