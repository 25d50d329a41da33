// The sizes of message blocks. Blocks of 64 bytes and more are multiples of a cache line, so that two blocks never
// share a line; above 256 bytes there are four classes per doubling (at most 25 % of a block is unused).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tri::arena {

inline constexpr std::size_t cache_line_bytes = 64;
inline constexpr std::size_t span_bytes = std::size_t{64} << 10;           ///< unit of the heap's page table
inline constexpr std::size_t largest_small_block = std::size_t{32} << 10;  ///< larger blocks are runs of whole spans
inline constexpr unsigned size_class_count = 35;

/// Class of a request of 1..largest_small_block bytes; 0 counts as 1.
constexpr unsigned size_class_of(std::size_t bytes) {
  if (bytes <= 64) return bytes <= 16 ? 0 : static_cast<unsigned>((bytes - 1) / 16);
  if (bytes <= 256) return 3 + static_cast<unsigned>((bytes - 1) / 64);
  const auto top = static_cast<unsigned>(std::bit_width(bytes - 1)) - 1;  // 2^top < bytes <= 2^(top+1)
  const auto quarter = static_cast<unsigned>((bytes - 1) >> (top - 2)) & 3;
  return 7 + (top - 8) * 4 + quarter;
}

/// Block size of a class, in bytes.
constexpr std::size_t size_of_class(unsigned size_class) {
  if (size_class < 4) return std::size_t{16} * (size_class + 1);
  if (size_class < 7) return std::size_t{64} * (size_class - 2);
  const unsigned step = size_class - 7;
  return (std::size_t{256} << (step / 4)) + (std::size_t{64} << (step / 4)) * (step % 4 + 1);
}

static_assert(size_class_of(largest_small_block) == size_class_count - 1);
static_assert(size_of_class(size_class_count - 1) == largest_small_block);

/// Spans for a large block. Does not overflow for any size.
constexpr std::size_t spans_for(std::size_t bytes) { return bytes / span_bytes + (bytes % span_bytes != 0 ? 1 : 0); }

/// Spans that are carved at once for a class: at least eight blocks each.
constexpr std::size_t spans_of_class(unsigned size_class) {
  return size_of_class(size_class) <= span_bytes / 8 ? 1 : 4;
}

}  // namespace tri::arena
