// The sizes of small blocks of the user heap: multiples of 16 up to 128 bytes, then four per doubling up to 32 KiB (at
// most a quarter of a block is unused). Finer below 128 than the classes of the arena: nodes of lists and trees live
// there.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tri::mpi {

inline constexpr std::size_t page_bytes = 4096;
inline constexpr std::size_t largest_small_bytes = std::size_t{32} * 1024;
inline constexpr unsigned small_class_count = 40;

constexpr std::size_t bytes_of_small_class(unsigned small_class) {
  if (small_class < 8) return std::size_t{16} * (small_class + 1);
  const unsigned step = small_class - 8;
  return (std::size_t{128} << (step / 4)) + (std::size_t{32} << (step / 4)) * (step % 4 + 1);
}

namespace detail {
constexpr auto make_class_table() {
  std::array<std::uint8_t, largest_small_bytes / 16 + 1> table{};
  unsigned small_class = 0;
  for (std::size_t units = 0; units < table.size(); ++units) {
    if (units * 16 > bytes_of_small_class(small_class)) ++small_class;
    table[units] = static_cast<std::uint8_t>(small_class);
  }
  return table;
}
inline constexpr auto class_table = make_class_table();

// Pages of a span: at least eight blocks, at most a sixteenth of the span left over.
constexpr std::size_t span_pages(std::size_t block_bytes) {
  std::size_t pages = 4;
  while (pages * page_bytes / block_bytes < 8 || pages * page_bytes % block_bytes * 16 > pages * page_bytes) ++pages;
  return pages;
}
constexpr auto make_span_table() {
  std::array<std::uint8_t, small_class_count> table{};
  for (unsigned small_class = 0; small_class < small_class_count; ++small_class)
    table[small_class] = static_cast<std::uint8_t>(span_pages(bytes_of_small_class(small_class)));
  return table;
}
inline constexpr auto span_table = make_span_table();
}  // namespace detail

/// Class of a request of 0..largest_small_bytes bytes.
constexpr unsigned small_class_of(std::size_t bytes) { return detail::class_table[(bytes + 15) / 16]; }

/// Pages that are carved together into blocks of the class.
constexpr std::size_t span_pages_of_class(unsigned small_class) { return detail::span_table[small_class]; }

static_assert(bytes_of_small_class(small_class_count - 1) == largest_small_bytes);
static_assert(small_class_of(largest_small_bytes) == small_class_count - 1);
static_assert(small_class_of(0) == 0 && small_class_of(16) == 0 && small_class_of(17) == 1 && small_class_of(129) == 8);

}  // namespace tri::mpi
