// A portion: a range of the packed stream whose bytes are regular enough in memory for one loop to move them. Positions
// in memory are numbers, since a base address may be MPI_BOTTOM (0) and displacements absolute.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tri::mpi {

struct portion {
  enum class form : std::uint8_t {
    grid,  // rows x columns blocks of `length` bytes
    list,  // a block at each of `entries` displacements
    comb,  // such a list, `rows` times
  };
  form what = form::grid;
  bool interleaved = false;  // comb: bytes of one row may be among those of another
  std::uintptr_t place = 0;  // of the first row, or the origin of the displacements
  std::uint64_t bytes = 0;   // packed, of all of it
  std::uint64_t rows = 1;
  std::int64_t row_stride = 0;
  std::uint64_t columns = 1;
  std::int64_t column_stride = 0;
  std::uint64_t length = 0;  // of each block; 0: lengths[i + 1] - lengths[i]
  std::uint64_t entries = 0;
  const std::int64_t* displacements = nullptr;
  const std::uint64_t* lengths = nullptr;
};

/// Moves a portion to its place in the packed stream, or from there. Writes nothing beside its own bytes. Blocks that
/// overlap are written in stream order.
void pack_portion(const portion& from, std::byte* packed);
void unpack_portion(const portion& to, const std::byte* packed);

/// Moves a portion to memory of the same geometry, everything `distance` bytes (modulo 2^64) from where it was.
void copy_portion(const portion& from, std::uintptr_t distance);

/// `count` blocks of `length` bytes from one place to another, each side with its own stride.
void move_blocks(std::uintptr_t to, std::int64_t to_stride, std::uintptr_t from, std::int64_t from_stride,
                 std::uint64_t count, std::uint64_t length);

}  // namespace tri::mpi
