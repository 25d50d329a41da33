#include "mpi/calls/user_memory.hpp"

#include "arena/window.hpp"
#include "host/configuration.hpp"
#include "mpi/heap/static_data.hpp"

namespace tri::mpi {

void* shared_address_of_user_memory(const void* address, std::size_t bytes) {
  const auto in_arena = [](const void* place) { return arena::in_arena(place, host::default_arena_window_bytes); };
  // From its first byte to its last: a datatype may have parts in several kinds of memory.
  const void* const last = static_cast<const std::byte*>(address) + (bytes > 0 ? bytes - 1 : 0);
  if (in_arena(address) && in_arena(last)) return const_cast<void*>(address);
  return shared_address_of(address, bytes);
}

}  // namespace tri::mpi
