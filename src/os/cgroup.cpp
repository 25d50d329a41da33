#include "os/cgroup.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include "os/text_file.hpp"

namespace tri::os {
namespace {

std::optional<std::string> first_line(const std::string& path) {
  std::string line;
  if (!text_file(path).next_line(line)) return std::nullopt;
  return line;
}

// "<quota> <period>" in microseconds; "max" or -1 for no limit.
std::optional<double> ratio(const std::optional<std::string>& quota_and_period) {
  if (!quota_and_period) return std::nullopt;
  char* behind_quota = nullptr;
  const double quota = std::strtod(quota_and_period->c_str(), &behind_quota);
  const double period = std::strtod(behind_quota, nullptr);  // 0 when there is none
  const double share = quota / period;
  if (!(quota > 0 && period > 0 && share > 0) || !std::isfinite(share)) return std::nullopt;  // 0: an endless period
  return share;
}

std::optional<double> group_quota(const std::string& folder, bool version_2) {
  if (version_2) return ratio(first_line(folder + "/cpu.max"));
  const auto quota = first_line(folder + "/cpu.cfs_quota_us");
  const auto period = first_line(folder + "/cpu.cfs_period_us");
  if (!quota || !period) return std::nullopt;
  return ratio(*quota + " " + *period);
}

// Bytes; "max" for no limit. Version 1 says "no limit" by a number that no machine has.
std::optional<std::size_t> group_memory(const std::string& folder, bool version_2) {
  const auto line = first_line(folder + (version_2 ? "/memory.max" : "/memory.limit_in_bytes"));
  std::size_t bytes = 0;
  if (!line || std::from_chars(line->data(), line->data() + line->size(), bytes).ec != std::errc() ||
      bytes >= std::size_t{1} << 62)
    return std::nullopt;
  return bytes;
}

bool lists(std::string_view controllers, std::string_view controller) {
  while (true) {
    const std::size_t comma = controllers.find(',');
    if (controllers.substr(0, comma) == controller) return true;
    if (comma == std::string_view::npos) return false;
    controllers.remove_prefix(comma + 1);
  }
}

// The smallest of what `limit_of(folder, version_2)` says of the groups of this process that `controller` belongs to,
// and of all that enclose them.
template <class Value, class LimitOf>
std::optional<Value> smallest_limit(const std::string& root, std::string_view controller,
                                    std::initializer_list<const char*> mounts, LimitOf&& limit_of) {
  std::optional<Value> smallest;
  text_file groups(root + "/proc/self/cgroup");
  for (std::string line; groups.next_line(line);) {  // "<hierarchy>:<controllers>:<path>"; no controllers = version 2
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool version_2 = controllers.empty();
    if (!version_2 && !lists(controllers, controller)) continue;
    // Inside a container the path may be the one outside; then only the mount point itself exists, which the walk to
    // the top reads in any case.
    std::string path = line.substr(second + 1);
    while (true) {
      if (!path.empty() && path.back() == '/') path.pop_back();
      for (const char* mount : mounts) {
        const std::optional<Value> limit = limit_of(std::string(root).append(mount).append(path), version_2);
        if (limit) smallest = std::min(smallest.value_or(*limit), *limit);
      }
      if (path.empty()) break;
      path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
  }
  return smallest;
}

}  // namespace

std::optional<double> cpu_quota(const std::string& root) {
  return smallest_limit<double>(
      root, "cpu", {"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"},
      group_quota);
}

std::optional<std::size_t> memory_limit(const std::string& root) {
  return smallest_limit<std::size_t>(
      root, "memory", {"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/memory"}, group_memory);
}

}  // namespace tri::os
