#include "mpi/engine/endpoint.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <new>

#include "board/victim_order.hpp"

namespace tri::mpi {

endpoint* make_endpoint(arena::heap& from, std::uint32_t number, std::uint32_t ranks, std::int32_t domain) {
  // 256 KiB: as in eager_buffers.hpp, lines that have left the first-level caches are quicker to write again. With a
  // ring of 64 KiB messages of 128 and 256 B take 5 and 15 % longer.
  constexpr std::uint64_t usual_cells = 8192;
  const std::uint64_t cells = std::max<std::uint64_t>(usual_cells, std::bit_ceil(std::uint64_t{ranks} * 8));
  auto* const place = static_cast<std::byte*>(from.reserve(sizeof(endpoint) + cells * sizeof(inbox_cell)));
  auto* const made = new (place) endpoint;
  made->number = number;
  made->domain = domain;
  made->process = getpid();
  // Zeroed memory: no ticket of the first round has the stamp 0.
  made->inbox.initialise(reinterpret_cast<inbox_cell*>(place + sizeof(endpoint)), cells, ranks);
  return made;
}

std::vector<std::uint32_t> order_of_ranks(std::span<endpoint* const> endpoints, std::uint32_t number) {
  std::vector<std::uint32_t> distances;
  for (const endpoint* const one : endpoints)
    for (const endpoint* const other : endpoints) distances.push_back(is_far(one->domain, other->domain) ? 1 : 0);
  return board::victim_order(number, static_cast<std::uint32_t>(endpoints.size()), distances);
}

}  // namespace tri::mpi
