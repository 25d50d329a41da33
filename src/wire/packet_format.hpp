// What a port puts into the packets of a conduit. Both processes have the same byte order and the same build; the mark
// in front of addresses (ucx_conduit.cpp) changes with this file.
//
//   short messages   conduit header: empty     body: packet_head, then per message: message_head, header, body
//   one message      conduit header: packet_head, header of the message                 body: that of the message
//   goodbye          as short messages, with none
//   credit           conduit header: empty     body: packet_head, flow::credit_note     has no place in the order
//   heartbeat        conduit header: empty     body: packet_head; asks for an answer    has no place in the order
//   answer           the same, and asks for nothing
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "wire/peer.hpp"

namespace tri::wire {

enum class packet_kind : std::uint16_t { short_messages, one_message, goodbye, credit, heartbeat, answer };

struct packet_head {
  peer_number from = 0;
  std::uint32_t sequence = 0;  // of the packets from that peer to this one; says in which order they count
  packet_kind kind = packet_kind::short_messages;
  std::uint16_t messages = 0;  // of one message: message_body::copies
};
static_assert(sizeof(packet_head) == 12 && std::has_unique_object_representations_v<packet_head>, "sent as it is");

struct message_head {
  std::uint32_t body_bytes = 0;
  std::uint16_t header_bytes = 0;
  std::uint16_t copies = 0;  // message_body::copies
};
static_assert(sizeof(message_head) == 8 && std::has_unique_object_representations_v<message_head>, "sent as it is");

/// Takes the next `Part` off the front of `bytes`; false when they are too few.
template <class Part>
bool take(std::span<const std::byte>& bytes, Part& part) {
  if (bytes.size() < sizeof part) return false;
  std::memcpy(&part, bytes.data(), sizeof part);
  bytes = bytes.subspan(sizeof part);
  return true;
}

}  // namespace tri::wire
