#include "wire/wire_choice.hpp"

#include <algorithm>
#include <stdexcept>

namespace tri::wire {
namespace {

// Its listener for TCP believes any process that connects (docs/user/security.md).
constexpr const char* adapters_alone = "^tcp,shm,self";

bool has_adapter(const std::string& names, const std::vector<std::string>& ports) {
  const std::vector<std::string> listed = names_in_list(names);
  return std::find_first_of(listed.begin(), listed.end(), ports.begin(), ports.end()) != listed.end();
}

}  // namespace

network_of_host network_of_this_host() {
  return {.interfaces = network_interfaces(), .devices = network_devices(), .active_ports = active_adapter_ports()};
}

wire_choice choose_wire(const wire_wishes& wishes, const network_of_host& host) {
  if (wishes.conduit == conduit_choice::mpi) return {.conduit = conduit_choice::mpi, .transports = {}, .devices = {}};
  const auto names = [&] {
    return wishes.network.empty() ? devices_of_job(wishes.machines, host.interfaces, host.devices)
                                  : devices_of_network(wishes.network, host.interfaces, host.devices);
  };
  const bool means_ucx =
      !wishes.ucx_transports.empty() || wishes.environment_has_transports || wishes.environment_has_devices;
  if (wishes.conduit == conduit_choice::ucx || (!wishes.conduit && means_ucx)) {
    // The user's own UCX settings take precedence.
    const bool says_nothing = wishes.network.empty() && wishes.environment_has_devices;
    return {.conduit = conduit_choice::ucx,
            .transports = wishes.ucx_transports,
            .devices = says_nothing ? std::string() : names()};
  }
  if (!wishes.ucx_transports.empty())
    throw std::invalid_argument("--tri-wire-transports '" + wishes.ucx_transports +
                                "' are transports of UCX, but --tri-wire is tcp: leave one of the two out");
  const std::string devices = names();
  if (!wishes.conduit && has_adapter(devices, host.active_ports))
    return {.conduit = conduit_choice::ucx, .transports = adapters_alone, .devices = devices};
  // The user's own words, because a network in CIDR notation may be less than an interface.
  return {
      .conduit = conduit_choice::tcp, .transports = {}, .devices = wishes.network.empty() ? devices : wishes.network};
}

}  // namespace tri::wire
