// The windows of the user heaps: each a sparse memory file, mapped at the place of its slot.
#pragma once

#include <cstddef>

#include "mpi/heap/text_line.hpp"

namespace tri::mpi {

struct heap_window {
  std::byte* address = nullptr;  ///< nullptr: none, see `reason`
  std::size_t bytes = 0;
  int file = -1;  ///< peers map the window from this; closes on exec; may neither shrink nor grow
  text_line reason;
};

/// Makes the memory file of this process and maps it. Commits nothing. Allocates nothing.
heap_window create_heap_window(unsigned slot, std::size_t bytes);

/// Maps the window of a peer from the descriptor that it sent, which the caller may close afterwards. Returns 0, or the
/// error: EINVAL when the file is not a window of `bytes`, EEXIST when something else is mapped there. Excluded from
/// core dumps and from forked children.
int map_peer_heap(unsigned slot, int file, std::size_t bytes);
void unmap_peer_heap(unsigned slot);  ///< also the own window, when the start is abandoned

}  // namespace tri::mpi
