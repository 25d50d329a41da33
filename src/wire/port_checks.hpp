// Arguments of ports that cannot work, reported in words.
#pragma once

#include <cstddef>

#include "wire/port.hpp"

namespace tri::wire {

/// The options as they are; throws std::invalid_argument that names the value and what would be right.
const port_options& checked(peer_number self, std::size_t peers, const port_options& options);

/// Throws std::invalid_argument for a destination or a header that port::send() does not accept.
[[noreturn]] void refuse_send(peer_number to, peer_number self, std::size_t peers, std::size_t header_bytes);

/// Ends the program: memory_for() gave no memory for a body that does not go by rendezvous, and has nowhere to stay.
[[noreturn]] void missing_memory(peer_number from, std::size_t bytes);

}  // namespace tri::wire
