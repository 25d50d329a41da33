#include "mpi/internode/host_messages.hpp"

#include <new>

namespace tri::mpi {

void host_messages::append(incoming_message& message) {
  message.next = nullptr;
  (last_incoming != nullptr ? last_incoming->next : incoming) = &message;
  last_incoming = &message;
}

void host_messages::remove(incoming_message& message) {
  incoming_message* before = nullptr;
  for (incoming_message* each = incoming; each != &message; each = each->next) before = each;
  (before != nullptr ? before->next : incoming) = message.next;
  if (last_incoming == &message) last_incoming = before;
}

host_messages* make_host_messages(arena::heap& from, std::uint32_t ranks) {
  auto* const place = static_cast<std::byte*>(from.reserve(sizeof(host_messages) + ranks * sizeof(std::uint32_t)));
  auto* const made = new (place) host_messages;
  made->expected = reinterpret_cast<std::uint32_t*>(place + sizeof(host_messages));  // zeroed memory
  return made;
}

}  // namespace tri::mpi
