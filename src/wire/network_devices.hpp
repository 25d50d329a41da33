// The networks of this host, for options that name some. Any thread.
#pragma once

#include <string>
#include <vector>

namespace tri::wire {

struct network_interface {
  std::string name;                    // "eth0"
  std::vector<std::string> addresses;  // "10.0.0.1", "fe80::1"
  bool is_loopback = false;
  std::vector<int> prefixes = {};  // of the addresses, in bits
};

/// Those that are up and have an address, by name. Throws std::system_error.
std::vector<network_interface> network_interfaces();

/// Of a list with commas in between.
std::vector<std::string> names_in_list(const std::string& list);

/// Interfaces ("eth0") and ports of InfiniBand adapters ("mlx5_0:1"), sorted. `root` replaces /sys/class.
std::vector<std::string> network_devices(const std::string& root = "/sys/class");

/// Of the ports of InfiniBand adapters, those with a link.
std::vector<std::string> active_adapter_ports(const std::string& root = "/sys/class");

/// `wanted`: names separated by commas; "all", and "^" in front to exclude, as newer UCX has them. Throws
/// std::runtime_error that names the first one that is not among `present`, and what there is.
void check_network_devices(const std::string& wanted, const std::vector<std::string>& present);

/// `network` (--tri-network): interfaces, ports of InfiniBand adapters, and networks in CIDR notation ("10.1.0.0/16",
/// "fd00::/8"), separated by commas; "!" in front: all but these. Returns the devices by name: UCX 1.13 knows no "^"
/// for devices. Throws std::runtime_error that names the first part missing on this host, and the available ones.
std::string devices_of_network(const std::string& network, const std::vector<network_interface>& interfaces,
                               const std::vector<std::string>& devices);

/// The same when no network is named: the loopback interface for a job on one machine; otherwise all others. Empty when
/// there are none, which leaves the choice to UCX.
std::string devices_of_job(int machines, const std::vector<network_interface>& interfaces,
                           const std::vector<std::string>& devices);

/// One address of an interface, and how many bits of it name its network.
struct network_address {
  std::string interface;
  std::string text;
  int prefix = 0;
};

/// Addresses on which other hosts may reach this one in `network`, which is as above: all of the interfaces that it
/// names, and of a network in CIDR notation those in it. Without those of a link alone (fe80::), which mean nothing on
/// another host. Throws as devices_of_network(), and where none is left.
std::vector<network_address> addresses_of_network(const std::string& network,
                                                  const std::vector<network_interface>& interfaces,
                                                  const std::vector<std::string>& devices);

/// Whether both are in the network given by the first `prefix` bits. False for an invalid address.
bool are_in_one_network(const std::string& one, const std::string& other, int prefix);

}  // namespace tri::wire
