// The general allocators that ours is compared with, as pairs of functions: glibc's malloc always, mimalloc when its
// shared library is installed (found when the program runs, so no build needs it). Callable from any thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tri::bench {

struct allocator_peer {
  std::string name;  // "glibc", "mimalloc"
  void* (*allocate)(std::size_t);
  void (*release)(void*);
};

std::vector<allocator_peer> allocator_peers();

}  // namespace tri::bench
