// Which processes may open a connection of the conduit over TCP, and how both sides prove that they belong to the job.
// Bytes in, bytes out, no I/O. Any thread.
//
// The address of a process carries a random token, which goes to the peers through the launcher and never over the
// network. The connecting process sends its number and proves, over a nonce of the connection, that it knows the token
// of the receiver (greeting); the receiver proves over the same greeting that it knows it, too (welcome). Nothing else
// is sent or read before that.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "flow/peer_number.hpp"
#include "wire/tcp/keyed_hash.hpp"

namespace tri::wire {

using flow::peer_number;

/// Where a process listens.
struct tcp_endpoint {
  std::array<std::byte, 16> address = {};  // IPv4: the first four
  std::uint32_t family = 4;                // or 6
  std::uint32_t port = 0;

  bool operator==(const tcp_endpoint&) const = default;
  /// "10.0.0.1 port 4711"
  std::string text() const;
};
static_assert(sizeof(tcp_endpoint) == 24 && std::has_unique_object_representations_v<tcp_endpoint>, "sent as it is");

struct tcp_address {
  token_bytes token = {};
  std::vector<tcp_endpoint> endpoints;
};
std::vector<std::byte> encode_tcp_address(const tcp_address& address);
/// Throws std::runtime_error that names the process and a possible cause.
tcp_address decode_tcp_address(peer_number from, std::span<const std::byte> bytes);

/// Random. Throws std::system_error.
token_bytes make_token();

/// The two parties of a connection, as both sides must see them.
struct tcp_parties {
  peer_number from = 0;
  peer_number to = 0;
  std::uint32_t peers = 0;  // in the job

  bool operator==(const tcp_parties&) const = default;
};

using greeting_bytes = std::array<std::byte, 56>;
using welcome_bytes = std::array<std::byte, 24>;

greeting_bytes make_greeting(const token_bytes& of_receiver, const token_bytes& nonce, const tcp_parties& parties);
/// Whether its sender knows the token and addresses this process of this job; then `from` is its number.
bool is_greeting(const greeting_bytes& bytes, const token_bytes& own_token, peer_number self, std::size_t peers,
                 peer_number& from);
welcome_bytes make_welcome(const token_bytes& of_receiver, const greeting_bytes& greeting);

}  // namespace tri::wire
