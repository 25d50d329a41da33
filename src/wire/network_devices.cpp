#include "wire/network_devices.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "config/suggestion.hpp"

namespace tri::wire {
namespace {

std::vector<std::string> entries_of(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code nothing_there;
  for (const auto& entry : std::filesystem::directory_iterator(folder, nothing_there))
    names.push_back(entry.path().filename());
  return names;
}

struct ip_address {
  int family = AF_INET;
  std::array<unsigned char, 16> bytes = {};
  int bits() const { return family == AF_INET ? 32 : 128; }
};

std::optional<ip_address> read_address(const std::string& text) {
  ip_address read;
  for (const int family : {AF_INET, AF_INET6}) {
    read.family = family;
    if (inet_pton(family, text.c_str(), read.bytes.data()) == 1) return read;
  }
  return std::nullopt;
}

struct ip_network {
  ip_address address;
  int prefix = 0;

  bool contains(const ip_address& other) const {
    if (other.family != address.family) return false;
    for (int bit = 0; bit < prefix; ++bit) {
      const auto at = static_cast<std::size_t>(bit / 8);
      const int mask = 0x80 >> bit % 8;
      if ((address.bytes[at] & mask) != (other.bytes[at] & mask)) return false;
    }
    return true;
  }
};

ip_network read_network(const std::string& text) {
  const std::size_t slash = text.find('/');
  const std::optional<ip_address> address = read_address(text.substr(0, slash));
  ip_network read;
  const char* const begin = text.data() + slash + 1;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, read.prefix);
  if (!address || error != std::errc() || stop != end || read.prefix < 0 || read.prefix > address->bits())
    throw std::runtime_error(fmt::format("--tri-network: '{}' is not a network such as 10.1.0.0/16 or fd00::/8", text));
  read.address = *address;
  return read;
}

bool is_port_of_adapter(const std::string& device) { return device.find(':') != std::string::npos; }

std::string words_of(const std::vector<network_interface>& interfaces, const std::vector<std::string>& devices) {
  std::vector<std::string> words;
  for (const network_interface& each : interfaces)
    words.push_back(fmt::format("{} ({})", each.name, fmt::join(each.addresses, ", ")));
  for (const std::string& device : devices)
    if (is_port_of_adapter(device)) words.push_back(device);
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", "));
}

std::vector<std::string> interfaces_in(const ip_network& network, const std::vector<network_interface>& interfaces) {
  std::vector<std::string> names;
  for (const network_interface& each : interfaces) {
    const bool is_in = std::any_of(each.addresses.begin(), each.addresses.end(), [&](const std::string& text) {
      const std::optional<ip_address> address = read_address(text);
      return address && network.contains(*address);
    });
    if (is_in) names.push_back(each.name);
  }
  return names;
}

// The usable devices: interfaces that are up, and ports of adapters.
std::vector<std::string> all_but(const std::vector<std::string>& excluded,
                                 const std::vector<network_interface>& interfaces,
                                 const std::vector<std::string>& devices) {
  std::vector<std::string> left;
  const auto keep = [&](const std::string& name) {
    if (std::find(excluded.begin(), excluded.end(), name) == excluded.end()) left.push_back(name);
  };
  for (const network_interface& each : interfaces) keep(each.name);
  for (const std::string& device : devices)
    if (is_port_of_adapter(device)) keep(device);
  return left;
}

int prefix_of(const sockaddr* mask) {
  if (mask == nullptr) return 0;
  const auto bits_of = [](const auto& bytes) {
    int bits = 0;
    for (const unsigned char byte : bytes) bits += std::popcount(byte);
    return bits;
  };
  if (mask->sa_family == AF_INET6) return bits_of(reinterpret_cast<const sockaddr_in6*>(mask)->sin6_addr.s6_addr);
  return std::popcount(reinterpret_cast<const sockaddr_in*>(mask)->sin_addr.s_addr);
}

bool is_of_link_alone(const std::string& address) {
  static const ip_network links = read_network("fe80::/10");
  const std::optional<ip_address> read = read_address(address);
  return read && links.contains(*read);
}

}  // namespace

std::vector<network_interface> network_interfaces() {
  ifaddrs* listed = nullptr;
  if (getifaddrs(&listed) != 0)
    throw std::system_error(errno, std::generic_category(), "the network interfaces of this host cannot be listed");
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> list(listed, &freeifaddrs);
  std::vector<network_interface> interfaces;
  for (const ifaddrs* entry = list.get(); entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const void* const address =
        family == AF_INET
            ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(entry->ifa_addr)->sin_addr)
            : static_cast<const void*>(&reinterpret_cast<const sockaddr_in6*>(entry->ifa_addr)->sin6_addr);
    std::array<char, INET6_ADDRSTRLEN> text = {};
    if (inet_ntop(family, address, text.data(), text.size()) == nullptr) continue;
    auto known = std::find_if(interfaces.begin(), interfaces.end(),
                              [&](const network_interface& each) { return each.name == entry->ifa_name; });
    if (known == interfaces.end())
      known = interfaces.insert(
          known, {.name = entry->ifa_name, .addresses = {}, .is_loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0});
    known->addresses.emplace_back(text.data());
    known->prefixes.push_back(prefix_of(entry->ifa_netmask));
  }
  std::sort(interfaces.begin(), interfaces.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return interfaces;
}

std::vector<std::string> network_devices(const std::string& root) {
  const std::filesystem::path classes = root;
  std::vector<std::string> names = entries_of(classes / "net");
  std::erase(names, "bonding_masters");  // a file of the bonding driver, not a device
  const std::filesystem::path adapters = classes / "infiniband";
  for (const std::string& adapter : entries_of(adapters))
    for (const std::string& port : entries_of(adapters / adapter / "ports"))
      names.push_back(fmt::format("{}:{}", adapter, port));
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> active_adapter_ports(const std::string& root) {
  std::vector<std::string> active;
  for (const std::string& device : network_devices(root)) {
    if (!is_port_of_adapter(device)) continue;
    const std::size_t colon = device.find(':');
    std::ifstream file(std::filesystem::path(root) / "infiniband" / device.substr(0, colon) / "ports" /
                       device.substr(colon + 1) / "state");
    std::string state;  // "4: ACTIVE"
    std::getline(file, state);
    if (state.find("ACTIVE") != std::string::npos) active.push_back(device);
  }
  return active;
}

std::vector<std::string> names_in_list(const std::string& list) {
  std::vector<std::string> names;
  std::istringstream all(list);
  for (std::string name; std::getline(all, name, ',');) names.push_back(name);
  return names;
}

void check_network_devices(const std::string& wanted, const std::vector<std::string>& present) {
  for (const std::string& name : names_in_list(wanted.starts_with('^') ? wanted.substr(1) : wanted)) {
    if (name == "all" || std::find(present.begin(), present.end(), name) != present.end()) continue;
    throw std::runtime_error(fmt::format("this host has no network device '{}'; it has: {}{}", name,
                                         fmt::join(present, ", "), config::did_you_mean(name, present)));
  }
}

std::string devices_of_network(const std::string& network, const std::vector<network_interface>& interfaces,
                               const std::vector<std::string>& devices) {
  const bool excludes = network.starts_with('!');
  std::vector<std::string> chosen;
  for (const std::string& part : names_in_list(excludes ? network.substr(1) : network)) {
    if (part.find('/') != std::string::npos) {
      const std::vector<std::string> names = interfaces_in(read_network(part), interfaces);
      if (names.empty())
        throw std::runtime_error(
            fmt::format("--tri-network: no interface of this host has an address in {}; it has: {}", part,
                        words_of(interfaces, devices)));
      chosen.insert(chosen.end(), names.begin(), names.end());
    } else if (std::find(devices.begin(), devices.end(), part) != devices.end()) {
      chosen.push_back(part);
    } else {
      throw std::runtime_error(fmt::format("--tri-network: this host has no network interface '{}'; it has: {}{}", part,
                                           words_of(interfaces, devices), config::did_you_mean(part, devices)));
    }
  }
  if (chosen.empty())
    throw std::runtime_error(fmt::format(
        "--tri-network: '{}' names no network; an interface such as eth0 or a network such as 10.1.0.0/16 would do",
        network));
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  if (!excludes) return fmt::format("{}", fmt::join(chosen, ","));
  const std::vector<std::string> left = all_but(chosen, interfaces, devices);
  if (left.empty())
    throw std::runtime_error(fmt::format("--tri-network: '{}' leaves no network of this host; it has: {}", network,
                                         words_of(interfaces, devices)));
  return fmt::format("{}", fmt::join(left, ","));
}

std::string devices_of_job(int machines, const std::vector<network_interface>& interfaces,
                           const std::vector<std::string>& devices) {
  std::vector<std::string> loopback;
  for (const network_interface& each : interfaces)
    if (each.is_loopback) loopback.push_back(each.name);
  if (loopback.empty()) return {};
  return fmt::format("{}", fmt::join(machines == 1 ? loopback : all_but(loopback, interfaces, devices), ","));
}

std::vector<network_address> addresses_of_network(const std::string& network,
                                                  const std::vector<network_interface>& interfaces,
                                                  const std::vector<std::string>& devices) {
  const std::vector<std::string> names = names_in_list(devices_of_network(network, interfaces, devices));
  // Networks that were named choose among the addresses of an interface, unless the interface itself was named, too.
  std::vector<ip_network> networks;
  std::vector<std::string> whole;
  for (const std::string& part : names_in_list(network.starts_with('!') ? std::string() : network)) {
    if (part.find('/') == std::string::npos)
      whole.push_back(part);
    else
      networks.push_back(read_network(part));
  }
  const auto is_chosen = [&](const network_interface& of, const std::string& text) {
    if (is_of_link_alone(text)) return false;
    if (networks.empty() || std::find(whole.begin(), whole.end(), of.name) != whole.end()) return true;
    const std::optional<ip_address> address = read_address(text);
    return address && std::any_of(networks.begin(), networks.end(),
                                  [&](const ip_network& each) { return each.contains(*address); });
  };
  std::vector<network_address> chosen;
  for (const network_interface& each : interfaces) {
    if (std::find(names.begin(), names.end(), each.name) == names.end()) continue;
    for (std::size_t i = 0; i < each.addresses.size(); ++i)
      if (is_chosen(each, each.addresses[i]))
        chosen.push_back({.interface = each.name,
                          .text = each.addresses[i],
                          .prefix = i < each.prefixes.size() ? each.prefixes[i] : 0});
  }
  if (chosen.empty())
    throw std::runtime_error(
        fmt::format("--tri-network: nothing in '{}' has an address by which other hosts could reach this one over TCP; "
                    "this host has: {}; ports of adapters need --tri-wire ucx",
                    network, words_of(interfaces, devices)));
  return chosen;
}

bool are_in_one_network(const std::string& one, const std::string& other, int prefix) {
  const std::optional<ip_address> first = read_address(one), second = read_address(other);
  return first && second && prefix <= first->bits() &&
         ip_network{.address = *first, .prefix = prefix}.contains(*second);
}

}  // namespace tri::wire
