// The network devices of this host, for options that name some. Any thread.
#pragma once

#include <string>
#include <vector>

namespace tri::wire {

/// Interfaces ("eth0") and ports of InfiniBand adapters ("mlx5_0:1"), sorted. `root` takes the place of /sys/class.
std::vector<std::string> network_devices(const std::string& root = "/sys/class");

/// `wanted`: names separated by commas; "all", and "^" in front to exclude, as UCX has them. Throws
/// std::runtime_error that names the first one that is not among `present`, and what there is.
void check_network_devices(const std::string& wanted, const std::vector<std::string>& present);

}  // namespace tri::wire
