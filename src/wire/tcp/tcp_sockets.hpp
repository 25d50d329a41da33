// Sockets of the conduit over TCP: made non-blocking, not passed on to programs that the process starts, and without
// Nagle's delay. Any thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "os/unique_fd.hpp"
#include "wire/network_devices.hpp"
#include "wire/tcp/handshake.hpp"

namespace tri::wire {

struct listening_socket {
  os::unique_fd descriptor;
  tcp_endpoint endpoint;
};

/// One for each address that can be listened on, with a free port each. Throws std::runtime_error when there is none.
std::vector<listening_socket> listen_on(const std::vector<network_address>& addresses);

struct started_connection {
  os::unique_fd descriptor;  // none: it failed
  int error = 0;             // errno of that
};
started_connection start_connecting(const tcp_endpoint& to);

/// As above, of one that was accepted.
void prepare_accepted(int descriptor);

/// Of an attempt that start_connecting() began and poll() calls over: 0, or errno.
int error_of(int descriptor);

/// In the order in which they are tried: those in a network that this host has an address in; then those behind
/// routers; then those that are addresses of this host, too (bridges of containers have the same on every host).
void sort_by_nearness(std::vector<tcp_endpoint>& endpoints, const std::vector<network_interface>& own);

}  // namespace tri::wire
