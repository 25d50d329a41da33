// Plain sockets on the loopback device, for tests that play a peer by hand, trusted or not. Blocking; all throw.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "os/unique_fd.hpp"
#include "wire/tcp/handshake.hpp"

namespace tri::wire::test {

inline void demand(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

inline sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in made = {};
  made.sin_family = AF_INET;
  made.sin_port = htons(port);
  made.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return made;
}

/// A listener that is no conduit, and the endpoint of it.
struct plain_listener {
  plain_listener() : descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in own = loopback(0);
    socklen_t bytes = sizeof own;
    demand(bind(descriptor.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0, "bind");
    demand(listen(descriptor.get(), 100) == 0, "listen");
    demand(getsockname(descriptor.get(), reinterpret_cast<sockaddr*>(&own), &bytes) == 0, "getsockname");
    std::memcpy(endpoint.address.data(), &own.sin_addr, sizeof own.sin_addr);
    endpoint.port = ntohs(own.sin_port);
  }
  os::unique_fd accept() const { return os::unique_fd(accept4(descriptor.get(), nullptr, nullptr, SOCK_CLOEXEC)); }
  os::unique_fd descriptor;
  tcp_endpoint endpoint;
};

inline os::unique_fd connect_to(std::uint32_t port) {
  os::unique_fd made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in to = loopback(static_cast<std::uint16_t>(port));
  demand(::connect(made.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0, "connect");
  return made;
}

/// Of the IPv4 endpoint in an address of the conduit.
inline std::uint32_t port_of(const tcp_address& address) {
  for (const tcp_endpoint& each : address.endpoints)
    if (each.family == 4) return each.port;
  throw std::runtime_error("no endpoint of IPv4");
}

template <class Bytes>
void send_bytes(const os::unique_fd& to, const Bytes& bytes) {
  static_cast<void>(::send(to.get(), std::data(bytes), std::size(bytes), MSG_NOSIGNAL));
}

/// What has come so far, without waiting; -1: the other side has closed.
inline ssize_t peek_bytes(const os::unique_fd& from, std::span<std::byte> into) {
  const ssize_t count = recv(from.get(), into.data(), into.size(), MSG_DONTWAIT | MSG_PEEK);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return 0;
  return count <= 0 ? -1 : count;
}

}  // namespace tri::wire::test
