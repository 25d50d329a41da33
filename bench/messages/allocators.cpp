#include "messages/allocators.hpp"

#include <dlfcn.h>

#include <cstdlib>

namespace tri::bench {

std::vector<allocator_peer> allocator_peers() {
  std::vector<allocator_peer> peers = {{"glibc", &std::malloc, &std::free}};
  for (const char* name : {"libmimalloc.so.2", "libmimalloc.so"}) {
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);  // stays open: its blocks may outlive this call
    if (library == nullptr) continue;
    auto* allocate = reinterpret_cast<void* (*)(std::size_t)>(dlsym(library, "mi_malloc"));
    auto* release = reinterpret_cast<void (*)(void*)>(dlsym(library, "mi_free"));
    if (allocate != nullptr && release != nullptr) {
      peers.push_back({"mimalloc", allocate, release});
      break;
    }
  }
  return peers;
}

}  // namespace tri::bench
