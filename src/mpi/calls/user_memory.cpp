#include "mpi/calls/user_memory.hpp"

#include "arena/window.hpp"
#include "host/configuration.hpp"
#include "mpi/heap/static_data.hpp"

namespace tri::mpi {

void* shared_address_of_user_memory(const void* address, std::size_t bytes) {
  if (arena::in_arena(address, host::default_arena_window_bytes)) return const_cast<void*>(address);
  return shared_address_of(address, bytes);
}

}  // namespace tri::mpi
