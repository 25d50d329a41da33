// The inner loops. The block length is checked once per portion and selects a loop in which it, or at least the number
// of loads and stores, is constant; only blocks above 256 bytes call memcpy.
#include "mpi/datatypes/layout/portion.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <type_traits>

namespace tri::mpi {
namespace {

using byte_pointer = std::byte*;
using const_byte_pointer = const std::byte*;

std::uintptr_t moved(std::uintptr_t place, std::int64_t by) { return place + static_cast<std::uintptr_t>(by); }
byte_pointer writable(std::uintptr_t place) { return reinterpret_cast<byte_pointer>(place); }
const_byte_pointer readable(std::uintptr_t place) { return reinterpret_cast<const_byte_pointer>(place); }

template <std::size_t Length>
struct exactly {
  static void copy(byte_pointer to, const_byte_pointer from) { __builtin_memcpy(to, from, Length); }
};

// Half <= length <= 2 * Half: the first and the last Half bytes, which may overlap. Both are read before either is
// written.
template <std::size_t Half>
struct two_halves {
  std::size_t back;  // length - Half
  void copy(byte_pointer to, const_byte_pointer from) const {
    struct part {
      unsigned char bytes[Half];
    };
    part first, last;
    __builtin_memcpy(&first, from, Half);
    __builtin_memcpy(&last, from + back, Half);
    __builtin_memcpy(to, &first, Half);
    __builtin_memcpy(to + back, &last, Half);
  }
};

struct any_length {
  std::size_t length;
  void copy(byte_pointer to, const_byte_pointer from) const { std::memcpy(to, from, length); }
};

// Calls action(copier) with the copier for blocks of this length.
template <class Action>
void with_copier(std::uint64_t length, Action&& action) {
  switch (length) {
    case 1:
      return action(exactly<1>{});
    case 2:
      return action(exactly<2>{});
    case 3:
      return action(exactly<3>{});
    case 4:
      return action(exactly<4>{});
    case 8:
      return action(exactly<8>{});
    case 12:
      return action(exactly<12>{});
    case 16:
      return action(exactly<16>{});
    case 24:
      return action(exactly<24>{});
    case 32:
      return action(exactly<32>{});
    case 48:
      return action(exactly<48>{});
    case 64:
      return action(exactly<64>{});
    default:
      break;
  }
  if (length < 8) return action(two_halves<4>{length - 4});
  if (length < 16) return action(two_halves<8>{length - 8});
  if (length < 32) return action(two_halves<16>{length - 16});
  if (length < 64) return action(two_halves<32>{length - 32});
  if (length <= 128) return action(two_halves<64>{length - 64});
  if (length <= 256) return action(two_halves<128>{length - 128});
  action(any_length{length});
}

// Two blocks of 8 bytes make one store: packing is bound by stores as long as several blocks share a cache line.
constexpr std::int64_t cache_line = 64;
std::uint64_t gather_pairs(std::uintptr_t to, std::uintptr_t from, std::int64_t from_stride, std::uint64_t count) {
  using two_words = std::uint64_t __attribute__((vector_size(16)));
  const std::uint64_t pairs = count / 2;
  for (std::uint64_t pair = 0; pair < pairs; ++pair) {
    std::uint64_t first = 0, second = 0;
    const std::uintptr_t next = moved(from, from_stride);
    __builtin_memcpy(&first, readable(from), 8);
    __builtin_memcpy(&second, readable(next), 8);
    const two_words both = {first, second};
    __builtin_memcpy(writable(to), &both, 16);
    from = moved(next, from_stride);
    to += 16;
  }
  return pairs * 2;
}

template <class Copier>
void strided(const Copier& copier, std::uintptr_t to, std::int64_t to_stride, std::uintptr_t from,
             std::int64_t from_stride, std::uint64_t count) {
  if constexpr (std::is_same_v<Copier, exactly<8>>) {
    if (to_stride == 8 && std::abs(from_stride) < cache_line) {
      const std::uint64_t done = gather_pairs(to, from, from_stride, count);
      to += done * 8;
      from += static_cast<std::uintptr_t>(from_stride) * done;
      count -= done;
    }
  }
  // With distant blocks each access waits for memory, and the shortest loop has the most of them in flight (5 to 10 %
  // more).
  constexpr std::int64_t far_apart = 1024;
  if (std::max(std::abs(to_stride), std::abs(from_stride)) >= far_apart) {
#pragma GCC unroll 1
    for (; count > 0; --count) {
      copier.copy(writable(to), readable(from));
      to = moved(to, to_stride);
      from = moved(from, from_stride);
    }
    return;
  }
  for (; count >= 4; count -= 4) {
    const std::uintptr_t to1 = moved(to, to_stride), to2 = moved(to1, to_stride), to3 = moved(to2, to_stride);
    const std::uintptr_t from1 = moved(from, from_stride), from2 = moved(from1, from_stride),
                         from3 = moved(from2, from_stride);
    copier.copy(writable(to), readable(from));
    copier.copy(writable(to1), readable(from1));
    copier.copy(writable(to2), readable(from2));
    copier.copy(writable(to3), readable(from3));
    to = moved(to3, to_stride);
    from = moved(from3, from_stride);
  }
  for (; count > 0; --count) {
    copier.copy(writable(to), readable(from));
    to = moved(to, to_stride);
    from = moved(from, from_stride);
  }
}

// A block whose length is only known at run time.
void copy_block(byte_pointer to, const_byte_pointer from, std::uint64_t length) {
  if (length >= 128) {
    std::memcpy(to, from, length);
  } else if (length >= 16) {
    if (length > 64) return two_halves<64>{length - 64}.copy(to, from);
    if (length > 32) return two_halves<32>{length - 32}.copy(to, from);
    two_halves<16>{length - 16}.copy(to, from);
  } else if (length >= 8) {
    two_halves<8>{length - 8}.copy(to, from);
  } else if (length >= 4) {
    two_halves<4>{length - 4}.copy(to, from);
  } else {
    for (std::uint64_t i = 0; i < length; ++i) to[i] = from[i];
  }
}

// All directions are the same loops. One side is the memory of the program; the other the packed stream, or memory of
// the same geometry elsewhere.
enum class direction { pack, unpack, copy };

// The other side of a block: `stream` bytes behind the start of the packed stream, or at the common distance.
template <direction Way>
std::uintptr_t other_side(std::uintptr_t other, std::uintptr_t memory, std::uint64_t stream) {
  return Way == direction::copy ? memory + other : other + stream;
}

template <direction Way, class Copier>
void move_block(const Copier& copier, std::uintptr_t memory, std::uintptr_t other) {
  if constexpr (Way == direction::unpack)
    copier.copy(writable(memory), readable(other));
  else
    copier.copy(writable(other), readable(memory));
}

template <direction Way, class Copier>
void move_row(const Copier& copier, std::uintptr_t memory, std::int64_t stride, std::uintptr_t other,
              std::int64_t stream_stride, std::uint64_t count) {
  if constexpr (Way == direction::unpack)
    strided(copier, memory, stride, other, stream_stride, count);
  else
    strided(copier, other, Way == direction::copy ? stride : stream_stride, memory, stride, count);
}

// Entry by entry of a row, each through as many rows as stay in the first-level cache.
constexpr std::uint64_t rows_at_a_time = 128;
constexpr std::uint64_t packed_bytes_at_a_time = 8192;

// A grid of many short rows, column by column.
template <direction Way>
void narrow_grid(const portion& what, std::uintptr_t other) {
  const std::uint64_t row_bytes = what.columns * what.length;
  with_copier(what.length, [&](const auto& copier) {
    std::uintptr_t place = what.place;
    for (std::uint64_t row = 0; row < what.rows;) {
      const std::uint64_t rows = std::min(rows_at_a_time, what.rows - row);
      for (std::uint64_t column = 0; column < what.columns; ++column) {
        const std::uintptr_t memory = moved(place, static_cast<std::int64_t>(column) * what.column_stride);
        move_row<Way>(copier, memory, what.row_stride,
                      other_side<Way>(other, memory, row * row_bytes + column * what.length),
                      static_cast<std::int64_t>(row_bytes), rows);
      }
      row += rows;
      place = moved(place, static_cast<std::int64_t>(rows) * what.row_stride);
    }
  });
}

// Rows so short that a loop over one would end before it got going. Not where they reach into each other: blocks that
// overlap would not be written in stream order.
bool is_narrow(const portion& grid) {
  constexpr std::uint64_t few_columns = 8;
  constexpr std::uint64_t small_block = 64;
  if (grid.columns > few_columns || grid.columns >= grid.rows || grid.length > small_block) return false;
  const std::int64_t last = std::abs(grid.column_stride) * static_cast<std::int64_t>(grid.columns - 1);
  return last + static_cast<std::int64_t>(grid.length) <= std::abs(grid.row_stride);
}

template <direction Way>
void grid(const portion& what, std::uintptr_t other) {
  if (is_narrow(what)) return narrow_grid<Way>(what, other);
  with_copier(what.length, [&](const auto& copier) {
    std::uintptr_t memory = what.place;
    for (std::uint64_t row = 0; row < what.rows; ++row) {
      move_row<Way>(copier, memory, what.column_stride,
                    other_side<Way>(other, memory, row * what.columns * what.length),
                    static_cast<std::int64_t>(what.length), what.columns);
      memory = moved(memory, what.row_stride);
    }
  });
}

// `stream`: where the list begins in the packed stream of the portion.
template <direction Way>
void list_of_lengths(const portion& what, std::uintptr_t place, std::uintptr_t other, std::uint64_t stream) {
  for (std::uint64_t i = 0; i < what.entries; ++i) {
    const std::uint64_t length = what.lengths[i + 1] - what.lengths[i];
    const std::uintptr_t memory = moved(place, what.displacements[i]);
    const std::uintptr_t there = other_side<Way>(other, memory, stream);
    if constexpr (Way == direction::unpack)
      copy_block(writable(memory), readable(there), length);
    else
      copy_block(writable(there), readable(memory), length);
    stream += length;
  }
}

template <direction Way>
void list(const portion& what, std::uintptr_t place, std::uintptr_t other, std::uint64_t stream) {
  if (what.length == 0) return list_of_lengths<Way>(what, place, other, stream);
  with_copier(what.length, [&](const auto& copier) {
    for (std::uint64_t i = 0; i < what.entries; ++i) {
      const std::uintptr_t memory = moved(place, what.displacements[i]);
      move_block<Way>(copier, memory, other_side<Way>(other, memory, stream + i * what.length));
    }
  });
}

// Entry by entry through several rows: then the loops are as tight as for a grid. Where rows reach into each other this
// would not be stream order, so they are done one by one.
template <direction Way>
void comb(const portion& what, std::uintptr_t other) {
  const std::uint64_t row_bytes = what.bytes / what.rows;
  const std::uint64_t most = std::clamp<std::uint64_t>(packed_bytes_at_a_time / row_bytes, 1, rows_at_a_time);
  std::uintptr_t place = what.place;
  for (std::uint64_t row = 0; row < what.rows;) {
    const std::uint64_t rows = what.interleaved ? 1 : std::min(most, what.rows - row);
    if (rows < 4) {
      for (std::uint64_t k = 0; k < rows; ++k)
        list<Way>(what, moved(place, static_cast<std::int64_t>(k) * what.row_stride), other, (row + k) * row_bytes);
    } else {
      std::uint64_t stream = row * row_bytes;
      for (std::uint64_t i = 0; i < what.entries; ++i) {
        const std::uint64_t length = what.length != 0 ? what.length : what.lengths[i + 1] - what.lengths[i];
        const std::uintptr_t memory = moved(place, what.displacements[i]);
        with_copier(length, [&](const auto& copier) {
          move_row<Way>(copier, memory, what.row_stride, other_side<Way>(other, memory, stream),
                        static_cast<std::int64_t>(row_bytes), rows);
        });
        stream += length;
      }
    }
    row += rows;
    place = moved(place, static_cast<std::int64_t>(rows) * what.row_stride);
  }
}

template <direction Way>
void move_portion(const portion& what, std::uintptr_t other) {
  switch (what.what) {
    case portion::form::grid:
      return grid<Way>(what, other);
    case portion::form::list:
      return list<Way>(what, what.place, other, 0);
    case portion::form::comb:
      return comb<Way>(what, other);
  }
}

}  // namespace

void pack_portion(const portion& from, std::byte* packed) {
  move_portion<direction::pack>(from, reinterpret_cast<std::uintptr_t>(packed));
}

void unpack_portion(const portion& to, const std::byte* packed) {
  move_portion<direction::unpack>(to, reinterpret_cast<std::uintptr_t>(packed));
}

void copy_portion(const portion& from, std::uintptr_t distance) { move_portion<direction::copy>(from, distance); }

void move_blocks(std::uintptr_t to, std::int64_t to_stride, std::uintptr_t from, std::int64_t from_stride,
                 std::uint64_t count, std::uint64_t length) {
  with_copier(length, [&](const auto& copier) { strided(copier, to, to_stride, from, from_stride, count); });
}

}  // namespace tri::mpi
