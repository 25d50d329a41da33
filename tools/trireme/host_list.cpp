#include "host_list.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/configuration.hpp"

namespace tri::tools {
namespace {

constexpr std::string_view interpreted = "'\"$`;&|<>()\\*?![]{}~#";

bool is_name(std::string_view host) {
  const auto faulty = [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == '\x7f' || interpreted.find(c) != std::string_view::npos;
  };
  return !host.empty() && host[0] != '-' && std::none_of(host.begin(), host.end(), faulty);
}

}  // namespace

std::vector<std::string> parse_host_list(std::string_view text) {
  std::vector<std::string> hosts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string_view host = text.substr(begin, comma - begin);
    if (!is_name(host)) {
      throw config::configuration_error(
          fmt::format("--hosts '{}' has the host '{}'; write names separated by commas, such as a,b", text, host));
    }
    hosts.emplace_back(host);
    begin = comma + 1;
  }
  return hosts;
}

}  // namespace tri::tools
