#include "host/cgroup.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>

namespace tri::host {
namespace {

std::optional<std::string> first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

// "<quota> <period>" in microseconds; "max" or -1 for no limit.
std::optional<double> ratio(const std::optional<std::string>& quota_and_period) {
  if (!quota_and_period) return std::nullopt;
  std::istringstream words(*quota_and_period);
  double quota = 0;
  double period = 0;
  if (!(words >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

std::optional<double> group_quota(const std::string& folder, bool version_2) {
  if (version_2) return ratio(first_line(folder + "/cpu.max"));
  const auto quota = first_line(folder + "/cpu.cfs_quota_us");
  const auto period = first_line(folder + "/cpu.cfs_period_us");
  if (!quota || !period) return std::nullopt;
  return ratio(*quota + " " + *period);
}

bool lists_cpu(std::string_view controllers) {
  std::istringstream words{std::string(controllers)};
  for (std::string word; std::getline(words, word, ',');)
    if (word == "cpu") return true;
  return false;
}

}  // namespace

std::optional<double> cpu_quota(const std::string& root) {
  std::optional<double> smallest;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line;
       std::getline(groups, line);) {  // "<hierarchy>:<controllers>:<path>"; no controllers = version 2
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool version_2 = controllers.empty();
    if (!version_2 && !lists_cpu(controllers)) continue;
    // Inside a container the path may be the one outside; then only the mount point itself exists, which the walk to
    // the top reads in any case.
    std::string path = line.substr(second + 1);
    while (true) {
      if (!path.empty() && path.back() == '/') path.pop_back();
      for (const char* mount :
           {"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"}) {
        const auto quota = group_quota(root + mount + path, version_2);
        if (quota) smallest = std::min(smallest.value_or(*quota), *quota);
      }
      if (path.empty()) break;
      path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
  }
  return smallest;
}

}  // namespace tri::host
