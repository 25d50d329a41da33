// Chooses a job's conduit and network from the user's options and the host's devices. Pure function, any thread. Each
// process chooses by itself; a mismatch is reported on connecting.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wire/network_devices.hpp"
#include "wire/port.hpp"

namespace tri::wire {

struct wire_wishes {
  std::optional<conduit_choice> conduit = {};  // none: automatic
  std::string network = {};                    // as --tri-network; empty: automatic
  std::string ucx_transports = {};             // --tri-wire-transports
  bool environment_has_transports = false;     // UCX_TLS
  bool environment_has_devices = false;        // UCX_NET_DEVICES
  int machines = 1;
};

struct network_of_host {
  std::vector<network_interface> interfaces;
  std::vector<std::string> devices;
  std::vector<std::string> active_ports;  // of adapters
};
network_of_host network_of_this_host();

struct wire_choice {
  conduit_choice conduit;
  std::string transports;  // port_options::transports
  std::string devices;     // port_options::devices
};

/// Throws std::runtime_error for a network that is not there, std::invalid_argument for wishes that contradict.
wire_choice choose_wire(const wire_wishes& wishes, const network_of_host& host);

}  // namespace tri::wire
