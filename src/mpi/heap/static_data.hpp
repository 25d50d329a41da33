// The zero-initialised static data of the program (static arrays, Fortran COMMON blocks and module arrays) moved into
// the window of the user heap, where peers reach it by an alias. The program still sees it at its old address: both are
// mappings of the same pages.
//
// Done inside the first allocation, when the dynamic linker has relocated everything and there is one thread. Not
// moved: data initialised from the file (rarely a message buffer, and copying it would make it resident), data smaller
// than 64 KiB (small messages are copied anyway), pages with copies of libraries' variables (copy relocations: the C
// library may write those in a forked child before any handler), data of libraries, the stack.
#pragma once

#include <cstddef>

#include "mpi/heap/heap_window.hpp"
#include "mpi/heap/text_line.hpp"

namespace tri::mpi {

/// Pages mapped at two places.
struct static_range {
  std::byte* place = nullptr;  ///< where the program has them
  std::size_t bytes = 0;
  std::byte* alias = nullptr;  ///< in the window
};
inline constexpr std::size_t most_static_ranges = 8;
inline constexpr std::size_t smallest_static_range = std::size_t{64} * 1024;

/// Moves the ranges. Called once when the heap starts. `reason` explains why there are none although there is static
/// data.
void share_static_data(const heap_window& own, text_line& reason);

struct static_ranges {
  const static_range* first = nullptr;
  std::size_t count = 0;
  const static_range* begin() const { return first; }
  const static_range* end() const { return first + count; }
};
static_ranges shared_static_data();

/// Whether the ranges are still our mappings: a program may have mapped something else over its own data. Reads
/// /proc/self/maps; for MPI_Init. If not, they are dropped: shared_address_of no longer finds them.
bool check_static_data();

/// The address at which all processes of the job can access `bytes` at `address`: the address itself in a mapped
/// window, the alias of static data, or nullptr for everything else.
void* shared_address_of(const void* address, std::size_t bytes);

/// In a forked child, once the window is a private copy: remaps the ranges to it. False: the kernel refused.
bool make_static_data_private();

}  // namespace tri::mpi
