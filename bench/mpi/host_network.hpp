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
  int delay_us = 0;   // added to the way of each message
  bool veth = false;  // the kernel's own switch in the place of ours, without a delay
  bool operator==(const host_network&) const = default;
};

/// Why there can be none here; empty when there can. Tries it, the first time.
const std::string& why_no_host_network();

/// What makes the hosts, and runs the command behind it on the first of them.
std::vector<std::string> on_hosts(const host_network& network);

/// What starts a job by a launcher of MPI on all hosts; the command of a rank follows.
std::vector<std::string> started_on(const host_network& network, bool open_mpi, const std::string& launcher,
                                    int ranks_of_a_host);

/// What starts a job of the library on all hosts, whose ranks share cores.
std::vector<std::string> launcher_on(const host_network& network, const mpi_library& library, int ranks_of_a_host);

}  // namespace tri::bench
