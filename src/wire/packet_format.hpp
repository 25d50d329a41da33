// The format of a port's packets over a conduit. Both processes have the same byte order and the same build; the mark
// in front of addresses (packet_secret.cpp) changes with this file. The receiver of a packet validates it with
// decode_packet() (packet_decoder.hpp) before it trusts any field.
//
//   short messages   conduit header: empty     body: packet_head, then per message: message_head, header, body
//   one message      conduit header: packet_head, header of the message                 body: that of the message
//   disconnect       as short messages, with none
//   credit           conduit header: empty     body: packet_head, flow::credit_control     has no place in the order
//   heartbeat        conduit header: empty     body: packet_head; asks for an answer    has no place in the order
//   answer           the same, and requests nothing
//
// With port_options::checks a check value (packet_check.hpp) follows each packet_head; that of an announced message is
// followed by the one of its body.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "flow/peer_number.hpp"

namespace tri::wire {

using flow::peer_number;

enum class packet_kind : std::uint16_t { short_messages, one_message, disconnect, credit, heartbeat, answer };
constexpr bool has_order(packet_kind kind) {
  return kind == packet_kind::short_messages || kind == packet_kind::one_message || kind == packet_kind::disconnect;
}

struct packet_head {
  std::uint64_t tag =
      0;  // of the receiver: packet_secret::tag. A sender that does not know it is not a process of the job
  std::uint64_t sequence = 0;  // of the packets from that peer to this one, those with an order and the others apart
  peer_number from = 0;
  packet_kind kind = packet_kind::short_messages;
  std::uint16_t messages = 0;  // of one message: message_body::copies
};
static_assert(sizeof(packet_head) == 24 && std::has_unique_object_representations_v<packet_head>, "sent as it is");

struct message_head {
  std::uint32_t body_bytes = 0;
  std::uint16_t header_bytes = 0;
  std::uint16_t copies = 0;  // message_body::copies
};
static_assert(sizeof(message_head) == 8 && std::has_unique_object_representations_v<message_head>, "sent as it is");

}  // namespace tri::wire
