// Hosts that are namespaces of this machine, with a switch between them that adds a delay
// (bench/network/delay_switch.cpp, tests/support/network_hosts.sh), and MPI jobs on them. For programs of a build
// folder with tests; needs root.
#pragma once

#include <string>
#include <vector>

#include "mpi/libraries.hpp"

namespace tri::bench {

struct host_network {
  int hosts = 2;
  int delay_us = 0;  // added to the way of each message
  bool operator==(const host_network&) const = default;
};

/// Why there can be none here; empty when there can. Tries it, the first time.
const std::string& why_no_host_network();

/// What starts a job of the library on all hosts; the command of a rank follows.
std::vector<std::string> launcher_on(const host_network& network, const mpi_library& library, int ranks_of_a_host);

}  // namespace tri::bench
