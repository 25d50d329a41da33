#include "wire/tcp/handshake.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace tri::wire {
namespace {

// Identify compatible programs. They change with every change of the connection's format.
constexpr std::array<char, 8> address_mark = {'T', 'R', 'I', 'T', 'C', 'P', 'A', '1'};
constexpr std::array<char, 8> greeting_mark = {'T', 'R', 'I', 'T', 'C', 'P', 'G', '1'};
constexpr std::array<char, 8> welcome_mark = {'T', 'R', 'I', 'T', 'C', 'P', 'W', '1'};

constexpr std::uint32_t most_endpoints = 64;

struct address_head {
  std::array<char, 8> mark = address_mark;
  token_bytes token = {};
  std::uint32_t endpoints = 0;
  std::uint32_t unused = 0;
};
static_assert(sizeof(address_head) == 32 && std::has_unique_object_representations_v<address_head>, "sent as it is");

struct greeting {
  std::array<char, 8> mark = greeting_mark;
  token_bytes nonce = {};
  tcp_parties parties = {};
  std::uint32_t unused = 0;
  proof_bytes proof = {};
};
static_assert(sizeof(greeting) == sizeof(greeting_bytes) && std::has_unique_object_representations_v<greeting>,
              "sent as it is");

struct welcome {
  std::array<char, 8> mark = welcome_mark;
  proof_bytes proof = {};
};
static_assert(sizeof(welcome) == sizeof(welcome_bytes) && std::has_unique_object_representations_v<welcome>,
              "sent as it is");

// Over all bytes before the proof. The marks keep the proofs of the two sides apart.
proof_bytes proof_of(const token_bytes& token, const greeting& of) {
  return keyed_hash(token, std::as_bytes(std::span(&of, 1)).first(offsetof(greeting, proof)));
}

template <class Bytes, class Of>
Bytes bytes_of(const Of& value) {
  Bytes bytes;
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

}  // namespace

std::string tcp_endpoint::text() const {
  std::array<char, INET6_ADDRSTRLEN> words = {};
  inet_ntop(family == 4 ? AF_INET : AF_INET6, address.data(), words.data(), words.size());
  return fmt::format("{} port {}", words.data(), port);
}

std::vector<std::byte> encode_tcp_address(const tcp_address& address) {
  const address_head head = {.token = address.token, .endpoints = static_cast<std::uint32_t>(address.endpoints.size())};
  std::vector<std::byte> bytes(sizeof head + address.endpoints.size() * sizeof(tcp_endpoint));
  std::memcpy(bytes.data(), &head, sizeof head);
  if (!address.endpoints.empty())
    std::memcpy(bytes.data() + sizeof head, address.endpoints.data(), bytes.size() - sizeof head);
  return bytes;
}

tcp_address decode_tcp_address(peer_number from, std::span<const std::byte> bytes) {
  address_head head;
  const bool has_head = bytes.size() >= sizeof head;
  if (has_head) std::memcpy(&head, bytes.data(), sizeof head);
  if (!has_head || head.mark != address_mark || head.endpoints == 0 || head.endpoints > most_endpoints ||
      bytes.size() != sizeof head + head.endpoints * sizeof(tcp_endpoint))
    throw std::runtime_error(
        fmt::format("what process {} gives as its address is none of the wire 'tcp', which this process uses: all "
                    "processes of a job must run the same build of the program with the same --tri-wire",
                    from));
  tcp_address address = {.token = head.token, .endpoints = std::vector<tcp_endpoint>(head.endpoints)};
  std::memcpy(address.endpoints.data(), bytes.data() + sizeof head, bytes.size() - sizeof head);
  for (const tcp_endpoint& each : address.endpoints)
    if ((each.family != 4 && each.family != 6) || each.port == 0 || each.port > 65535)
      throw std::runtime_error(
          fmt::format("process {} gives as its address family {} and port {}; they must be 4 or 6, "
                      "and 1 to 65535",
                      from, each.family, each.port));
  return address;
}

token_bytes make_token() {
  token_bytes made;
  if (getrandom(made.data(), made.size(), 0) != static_cast<ssize_t>(made.size()))
    throw std::system_error(errno, std::generic_category(), "the system gives no random bytes");
  return made;
}

greeting_bytes make_greeting(const token_bytes& of_receiver, const token_bytes& nonce, const tcp_parties& parties) {
  greeting made = {.nonce = nonce, .parties = parties};
  made.proof = proof_of(of_receiver, made);
  return bytes_of<greeting_bytes>(made);
}

bool is_greeting(const greeting_bytes& bytes, const token_bytes& own_token, peer_number self, std::size_t peers,
                 peer_number& from) {
  greeting of;
  std::memcpy(&of, bytes.data(), sizeof of);
  if (of.mark != greeting_mark || of.unused != 0 || !are_equal_proofs(of.proof, proof_of(own_token, of))) return false;
  if (of.parties.to != self || of.parties.peers != peers || of.parties.from >= peers || of.parties.from == self)
    return false;
  from = of.parties.from;
  return true;
}

welcome_bytes make_welcome(const token_bytes& of_receiver, const greeting_bytes& of) {
  std::array<std::byte, sizeof(welcome_mark) + sizeof(greeting_bytes)> proven;
  std::memcpy(proven.data(), welcome_mark.data(), sizeof welcome_mark);
  std::memcpy(proven.data() + sizeof welcome_mark, of.data(), of.size());
  return bytes_of<welcome_bytes>(welcome{.proof = keyed_hash(of_receiver, proven)});
}

}  // namespace tri::wire
