// Reads packets from the wire, from any sender: bytes in, a view with only valid fields out, or an error. Pure
// functions, any thread. The port decides what depends on other packets (is its number the next one, is its sender
// connected).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>

#include "flow/memory_credit.hpp"
#include "wire/packet_check.hpp"
#include "wire/packet_format.hpp"
#include "wire/packet_secret.hpp"

namespace tri::wire {

/// The receiver's knowledge about valid packets.
struct packet_rules {
  std::uint64_t tag = 0;  // of this process
  peer_number self = 0;
  std::size_t peers = 0;
  const packet_key* key = nullptr;  // of this process, where packets carry check values
};

enum class packet_verdict : std::uint8_t {
  valid,
  foreign,    // its sender does not know the secret: nothing in it is evidence about a process of the job
  unchecked,  // its check value is missing or wrong: made or changed by a party that knows only the tag
  malformed,  // its sender knows the secret, and a field is invalid
};

struct packet_fault {
  const char* field = nullptr;
  std::uint64_t value = 0;
  std::uint64_t least = 0;  // what would be right
  std::uint64_t most = 0;
  std::optional<peer_number> from = {};  // if that one is valid

  /// "its field `messages` is 7, which must be 0"
  std::string text() const;
};

struct packet_view {
  packet_head head;
  std::span<const std::byte> header;  // one message: its header
  std::span<const std::byte> body;    // one message: its body, if it came along; short messages: all, for next_message
  flow::credit_control note;          // credit
  check_value check_of_body = {};     // announced body, with check values
};

/// One of short messages.
struct message_view {
  std::span<const std::byte> header;
  std::span<const std::byte> body;
  std::uint16_t copies = 0;
};

/// `header` and `body` as the conduit has them; `announced_bytes`: of a body that is still at its sender. Sets `view`
/// if the packet is valid, `fault` if it is malformed. The views are into `header` and `body`.
packet_verdict decode_packet(const packet_rules& rules, std::span<const std::byte> header,
                             std::span<const std::byte> body, std::optional<std::size_t> announced_bytes,
                             packet_view& view, packet_fault& fault);

/// Removes the first message from packet_view::body; called packet_head::messages times.
inline message_view next_message(std::span<const std::byte>& messages) {
  message_head head;
  std::memcpy(&head, messages.data(), sizeof head);
  const message_view first = {.header = messages.subspan(sizeof head, head.header_bytes),
                              .body = messages.subspan(sizeof head + head.header_bytes, head.body_bytes),
                              .copies = head.copies};
  messages = messages.subspan(sizeof head + head.header_bytes + head.body_bytes);
  return first;
}

}  // namespace tri::wire
