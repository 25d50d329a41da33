// Check values of packets (port_options::checks): 16 bytes that only a holder of the receiver's key can have made, for
// exactly this packet. BLAKE2b with a key (RFC 7693), of libsodium, which is loaded on first use. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "wire/packet_format.hpp"
#include "wire/packet_secret.hpp"

namespace tri::wire {

using check_value = std::array<std::byte, 16>;

/// Throws std::runtime_error when the library is missing; the others must not be called then.
void load_check_library();

/// Of a packet: its head, all that is behind the check value, and its body, or the length of one that was announced.
check_value check_of_packet(const packet_key& key, const packet_head& head, std::span<const std::byte> rest,
                            std::span<const std::byte> body, std::optional<std::size_t> announced_bytes);
/// Of a body by rendezvous.
check_value check_of_body(const packet_key& key, std::span<const std::byte> body);

/// Constant time.
bool are_equal(const check_value& one, const check_value& other);

}  // namespace tri::wire
