#include "framework/machine.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <string_view>

#include "os/cpu/cpu_list.hpp"
#include "os/cpu/pinning.hpp"
#include "trireme/detail/os/sanitizer.hpp"
#include "trireme/version.hpp"

// Of the source that commit.cmake writes: "recorded commit: ", then the commit and spaces.
extern const char trireme_bench_commit[];

namespace tri::bench {
namespace {

using nlohmann::json;

std::string commit() {
  const std::string recorded = std::string(trireme_bench_commit).substr(std::string_view("recorded commit: ").size());
  return recorded.substr(0, recorded.find(' '));
}

json first_line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line) || line.empty()) return nullptr;
  return line;
}

// "key   : value" in /proc/cpuinfo and /proc/meminfo.
json proc_value(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    const auto start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? json(nullptr) : json(line.substr(start));
  }
  return nullptr;
}

json caches() {
  json found = json::array();
  for (int index = 0; index < 8; ++index) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", index);
    const json level = first_line_of(folder + "level");
    if (level.is_null()) break;
    found.push_back({{"level", level},
                     {"type", first_line_of(folder + "type")},
                     {"size", first_line_of(folder + "size")},
                     {"shared_by", first_line_of(folder + "shared_cpu_list")}});
  }
  return found;
}

json load_average() {
  std::array<double, 3> load{};
  if (getloadavg(load.data(), 3) != 3) return nullptr;
  return load;
}

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "g++ " __VERSION__;
#endif
}

json machine() {
  utsname system{};
  uname(&system);
  return {{"host", system.nodename},
          {"architecture", system.machine},
          {"kernel", std::string(system.sysname) + " " + system.release},
          {"cpu", proc_value("/proc/cpuinfo", "model name")},
          {"cpu_mhz", proc_value("/proc/cpuinfo", "cpu MHz")},
          {"cpus_online", sysconf(_SC_NPROCESSORS_ONLN)},
          {"cpus_usable", os::format_cpu_list(os::cpus_of_this_thread())},
          {"caches", caches()},
          {"memory", proc_value("/proc/meminfo", "MemTotal")},
          {"virtual_machine", first_line_of("/sys/class/dmi/id/product_name")},
          {"governor", first_line_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")}};
}

}  // namespace

json describe_context(const batch_options& method) {
  return {{"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
          {"version", version()},
          {"commit", commit()},
          {"compiler", compiler()},
          {"build_type", TRIREME_BENCH_BUILD_TYPE},
          {"thread_sanitizer", os::under_thread_sanitizer},
          {"machine", machine()},
          {"load_average", load_average()},
          {"estimator", "median, 10th and 90th percentile over batches"},
          {"batch_time_ms", method.batch_time_ms},
          {"least_batches", method.repetitions},
          {"least_time_s", method.min_time_s}};
}

double load_per_cpu() {
  double load = 0;
  if (getloadavg(&load, 1) != 1) return 0;
  return load / static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
}

}  // namespace tri::bench
