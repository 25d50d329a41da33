#include "wire/tcp/tcp_sockets.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace tri::wire {
namespace {

struct socket_address {
  sockaddr_storage storage = {};
  socklen_t bytes = 0;

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

socket_address socket_address_of(const tcp_endpoint& endpoint) {
  socket_address made;
  if (endpoint.family == 4) {
    auto& ip4 = reinterpret_cast<sockaddr_in&>(made.storage);
    ip4.sin_family = AF_INET;
    ip4.sin_port = htons(static_cast<std::uint16_t>(endpoint.port));
    std::memcpy(&ip4.sin_addr, endpoint.address.data(), sizeof ip4.sin_addr);
    made.bytes = sizeof ip4;
  } else {
    auto& ip6 = reinterpret_cast<sockaddr_in6&>(made.storage);
    ip6.sin6_family = AF_INET6;
    ip6.sin6_port = htons(static_cast<std::uint16_t>(endpoint.port));
    std::memcpy(&ip6.sin6_addr, endpoint.address.data(), sizeof ip6.sin6_addr);
    made.bytes = sizeof ip6;
  }
  return made;
}

os::unique_fd make_socket(std::uint32_t family) {
  return os::unique_fd(socket(family == 4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

// Packets are gathered above; none may wait for the acknowledgement of another one.
void send_at_once(int descriptor) {
  const int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// errno, or 0.
int listen_at(tcp_endpoint& endpoint, os::unique_fd& descriptor) {
  descriptor = make_socket(endpoint.family);
  if (!descriptor) return errno;
  const int on = 1;
  if (endpoint.family == 6) setsockopt(descriptor.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  socket_address own = socket_address_of(endpoint);
  if (bind(descriptor.get(), own.get(), own.bytes) != 0 || listen(descriptor.get(), SOMAXCONN) != 0 ||
      getsockname(descriptor.get(), own.get(), &own.bytes) != 0)
    return errno;
  endpoint.port = ntohs(endpoint.family == 4 ? reinterpret_cast<sockaddr_in&>(own.storage).sin_port
                                             : reinterpret_cast<sockaddr_in6&>(own.storage).sin6_port);
  return 0;
}

}  // namespace

std::vector<listening_socket> listen_on(const std::vector<network_address>& addresses) {
  std::vector<listening_socket> made;
  std::string problems;
  for (const network_address& address : addresses) {
    listening_socket one;
    one.endpoint.family = address.text.find(':') == std::string::npos ? 4 : 6;
    inet_pton(one.endpoint.family == 4 ? AF_INET : AF_INET6, address.text.c_str(), one.endpoint.address.data());
    const int error = listen_at(one.endpoint, one.descriptor);
    if (error == 0)
      made.push_back(std::move(one));
    else
      problems += fmt::format("{}{} ({}): {}", problems.empty() ? "" : "; ", address.text, address.interface,
                              std::strerror(error));
  }
  if (made.empty())
    throw std::runtime_error(fmt::format("the wire can listen on none of the chosen addresses: {}", problems));
  return made;
}

started_connection start_connecting(const tcp_endpoint& to) {
  started_connection started = {.descriptor = make_socket(to.family)};
  if (!started.descriptor) return {.descriptor = {}, .error = errno};
  send_at_once(started.descriptor.get());
  socket_address peer = socket_address_of(to);
  if (connect(started.descriptor.get(), peer.get(), peer.bytes) != 0 && errno != EINPROGRESS && errno != EINTR)
    return {.descriptor = {}, .error = errno};
  return started;
}

void prepare_accepted(int descriptor) { send_at_once(descriptor); }

int error_of(int descriptor) {
  int error = 0;
  socklen_t bytes = sizeof error;
  if (getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) return errno;
  return error;
}

void sort_by_nearness(std::vector<tcp_endpoint>& endpoints, const std::vector<network_interface>& own) {
  const auto distance_of = [&](const tcp_endpoint& endpoint) {
    std::array<char, INET6_ADDRSTRLEN> text = {};
    inet_ntop(endpoint.family == 4 ? AF_INET : AF_INET6, endpoint.address.data(), text.data(), text.size());
    int distance = 1;
    for (const network_interface& each : own) {
      for (std::size_t i = 0; i < each.addresses.size(); ++i) {
        if (each.addresses[i] == text.data()) return 2;
        if (i < each.prefixes.size() && each.prefixes[i] != 0 &&
            are_in_one_network(each.addresses[i], text.data(), each.prefixes[i]))
          distance = 0;
      }
    }
    return distance;
  };
  std::stable_sort(endpoints.begin(), endpoints.end(),
                   [&](const auto& one, const auto& other) { return distance_of(one) < distance_of(other); });
}

}  // namespace tri::wire
