#include "wire/network_devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <stdexcept>

#include "host/suggestion.hpp"

namespace tri::wire {
namespace {

std::vector<std::string> entries_of(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code nothing_there;
  for (const auto& entry : std::filesystem::directory_iterator(folder, nothing_there))
    names.push_back(entry.path().filename());
  return names;
}

}  // namespace

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

void check_network_devices(const std::string& wanted, const std::vector<std::string>& present) {
  std::istringstream names(wanted.starts_with('^') ? wanted.substr(1) : wanted);
  for (std::string name; std::getline(names, name, ',');) {
    if (name == "all" || std::find(present.begin(), present.end(), name) != present.end()) continue;
    throw std::runtime_error(fmt::format("this host has no network device '{}'; it has: {}; did you mean '{}'?", name,
                                         fmt::join(present, ", "), host::nearest_name(name, present)));
  }
}

}  // namespace tri::wire
