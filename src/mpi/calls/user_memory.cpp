#include "mpi/calls/user_memory.hpp"

#include "arena/window.hpp"
#include "host/configuration.hpp"

namespace tri::mpi {

bool is_user_memory_shared(const void* address, std::size_t) {
  return arena::in_arena(address, host::default_arena_window_bytes);
}

}  // namespace tri::mpi
