#include "mpi/engine/endpoint.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <new>

namespace tri::mpi {

endpoint* make_endpoint(arena::heap& from, std::uint32_t number, std::uint32_t ranks) {
  constexpr std::uint64_t usual_cells = 512;
  const std::uint64_t cells = std::max<std::uint64_t>(usual_cells, std::bit_ceil(std::uint64_t{ranks} * 4));
  auto* const place = static_cast<std::byte*>(from.reserve(sizeof(endpoint) + cells * sizeof(mailbox_cell)));
  auto* const made = new (place) endpoint;
  made->number = number;
  made->process = getpid();
  // Zeroed memory: no ticket has the stamp 0.
  made->inbox.initialise(reinterpret_cast<mailbox_cell*>(place + sizeof(endpoint)), cells, ranks);
  return made;
}

}  // namespace tri::mpi
