// What the rows of arrays on two PEs share: where the two are, and the arrays. PE 0 measures, PE 1 has the elements.
#pragma once

#include <cstdint>
#include <vector>

#include "arrays/peers.hpp"
#include "framework/suite.hpp"
#include "trireme/arrays.hpp"
#include "trireme/group.hpp"

namespace tri::bench {

struct array_place {
  const char* name;  // "same_host": rows are arrays/same_host/...
  launch how;
  peer_place peers;
};
/// One host; two hosts that are emulated over the loopback device, by TCP and UCX; two network namespaces, likewise.
const std::vector<array_place>& array_places();
inline bool is_one_host(const array_place& place) { return place.peers == peer_place::same_host; }

inline constexpr std::int64_t table_words = std::int64_t{8} << 20;  // of each PE: 64 MiB, more than any cache
inline constexpr std::int64_t matrix_rows = 2048;  // of doubles; the second half of the columns is of PE 1

/// A member on each of two PEs.
struct arrays_of_pe : tri::group_member<arrays_of_pe> {
  tri::global_array<std::uint64_t, 1> table;
  tri::global_array<std::uint64_t, 1> walk;  // each word names the next of PE 1
  tri::global_array<double, 2> matrix;

  int make();
};

void* allocate_pages(std::size_t bytes);

/// Made once in each program of rows. Call on PE 0.
const tri::group<arrays_of_pe>& arrays_of_two_pes();

/// Zeros that begin with a page, as the buffers of the peers do; kept to the end of the program.
template <class T>
T* page_aligned(std::size_t bytes) {
  return static_cast<T*>(allocate_pages(bytes));
}
/// The result is used, as far as the compiler knows.
inline void keep(std::uint64_t value) { asm volatile("" : : "r"(value)); }
/// A word of PE 1 that lies in the cache, as in a loop over few elements.
inline std::int64_t near_word(std::uint64_t i) { return table_words + static_cast<std::int64_t>(i % 512 * 8); }

}  // namespace tri::bench
