// A secret that a process passes only to its peers, through the launcher: their packets to it must contain it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "flow/peer_number.hpp"

namespace tri::wire {

using flow::peer_number;

using packet_key = std::array<std::byte, 32>;

/// Of one receiver. The two parts have nothing to do with each other: the tag travels in every packet, the key never.
struct packet_secret {
  std::uint64_t tag = 0;
  packet_key key = {};  // of check values (packet_check.hpp)

  /// Random. Throws std::system_error.
  static packet_secret make();
};

/// The address of a port: its secret, whether it requires check values, and the address of its conduit.
struct port_address {
  packet_secret secret;
  bool has_checks = false;
  std::vector<std::byte> of_conduit;
};
std::vector<std::byte> encode_address(const packet_secret& secret, bool has_checks,
                                      std::span<const std::byte> of_conduit);
/// Throws std::runtime_error that names the process.
port_address decode_address(peer_number from, std::span<const std::byte> bytes);

}  // namespace tri::wire
