// The format of an authenticated connection of the conduit over TCP: frames, each with a head. Both processes have the
// same byte order and the same build; the marks of the handshake change with this file.
//
//   by the connector   packet      header, body
//                      announced   header; `body_bytes` are offered by `name`
//                      body        the bytes that were accepted
//   by the acceptor    accept      of the body of that name
//                      refuse      the same
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tri::wire {

enum class frame_kind : std::uint16_t { packet = 1, announced, body, accept, refuse };

struct frame_head {
  frame_kind kind = frame_kind::packet;
  std::uint16_t header_bytes = 0;
  std::uint32_t name = 0;  // of an announced body, among those of the connection; 0 of packets
  std::uint64_t body_bytes = 0;
};
static_assert(sizeof(frame_head) == 16 && std::has_unique_object_representations_v<frame_head>, "sent as it is");

inline constexpr std::size_t longest_frame_header = 256;

}  // namespace tri::wire
