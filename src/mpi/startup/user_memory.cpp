#include "mpi/startup/user_memory.hpp"

#include <cstdint>

#include "arena/window.hpp"
#include "config/configuration.hpp"
#include "mpi/heap/addresses.hpp"
#include "mpi/heap/static_data.hpp"

namespace tri::mpi {
namespace {

static_assert(os::under_thread_sanitizer || arena::end_address <= heap_base_address);

std::size_t mapped_bytes = 0;  // of the arena, from its first window on

}  // namespace

void set_arena_windows(int windows) {
  mapped_bytes = static_cast<std::size_t>(windows) * config::default_arena_window_bytes;
}

// Behind the job's windows the address range of the arena is unused: MPICH, for example, may map its shared windows
// there, at different addresses in different processes.
void* shared_address_of_user_memory(const void* address, std::size_t bytes) {
  const auto offset = reinterpret_cast<std::uintptr_t>(address) - arena::base_address;
  if (offset < mapped_bytes && bytes <= mapped_bytes - offset) return const_cast<void*>(address);
  return shared_address_of(address, bytes);
}

}  // namespace tri::mpi
