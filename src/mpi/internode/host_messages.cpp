#include "mpi/internode/host_messages.hpp"

#include <new>

namespace tri::mpi {

host_messages* make_host_messages(arena::heap& from, std::uint32_t ranks) {
  auto* const place = static_cast<std::byte*>(from.reserve(sizeof(host_messages) + ranks * sizeof(std::uint32_t)));
  auto* const made = new (place) host_messages;
  made->expected = reinterpret_cast<std::uint32_t*>(place + sizeof(host_messages));  // zeroed memory
  return made;
}

}  // namespace tri::mpi
