// Random words by their number, so that each PE fills its part of an array, and a sequential program knows the rest.
#pragma once

#include <cstdint>

namespace dis {

/// Word `number` of a stream, below `bound`: splitmix64 (Steele, Lea, Flood 2014).
inline std::uint64_t random_word(std::int64_t seed, std::int64_t number, std::int64_t bound) {
  std::uint64_t x = (static_cast<std::uint64_t>(seed) << 32) + static_cast<std::uint64_t>(number) * 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return (x ^ (x >> 31)) % static_cast<std::uint64_t>(bound);
}

}  // namespace dis
