#include "mpi/heap/memory_limits.hpp"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#include <algorithm>
#include <bit>
#include <string_view>

#include "mpi/heap/addresses.hpp"
#include "mpi/heap/size_classes.hpp"

namespace tri::mpi {
namespace {

constexpr std::size_t unlimited = ~std::size_t{0};
constexpr std::size_t most_kept_from_group = std::size_t{64} << 20;

class small_file {
 public:
  explicit small_file(const char* path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    const ssize_t count = read(file, text_, sizeof(text_));
    if (count > 0) length_ = static_cast<std::size_t>(count);
    close(file);
  }
  std::string_view text() const { return {text_, length_}; }

 private:
  char text_[4096];
  std::size_t length_ = 0;
};

// A decimal number at the start of the text; anything else ("max", nothing) means no limit.
std::size_t number_in(std::string_view text) {
  std::size_t number = 0;
  std::size_t digits = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits)
    number = number * 10 + static_cast<std::size_t>(text[digits] - '0');
  return digits == 0 ? unlimited : number;
}

// The kernel's names for the files of a memory cgroup, by version of the hierarchy.
struct group_files {
  std::string_view limit;
  std::string_view usage;
  std::string_view statistics_prefix;  // of the lines in memory.stat that include the groups below
};
constexpr group_files unified{"memory.max", "memory.current", ""};
constexpr group_files version_1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_"};

text_line path_of(std::string_view root, std::string_view hierarchy, std::string_view group, std::string_view file) {
  text_line path;
  path << root << hierarchy << group << "/" << file;
  return path;
}

// Calls visit(files, hierarchy, group) for each memory group in `groups` and for those above it.
template <typename Visitor>
void for_each_memory_group(std::string_view groups, Visitor&& visit) {
  std::string_view rest = groups;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    const std::size_t controllers = line.find(':') + 1;
    const std::size_t path = line.find(':', controllers) + 1;
    if (controllers == 0 || path == 0) continue;
    std::string_view group = line.substr(path);
    if (group == "/") group = {};
    const std::string_view names = line.substr(controllers, path - 1 - controllers);
    if (!names.empty() && names != "memory") continue;
    while (true) {
      visit(names.empty() ? unified : version_1, names.empty() ? "" : "/memory", group);
      if (group.empty()) break;
      group = group.substr(0, group.rfind('/'));
    }
  }
}

// The number after `name` at the start of a line; 0 when there is no such line.
std::size_t number_behind(std::string_view text, std::string_view prefix, std::string_view name) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.starts_with(prefix) || !line.substr(prefix.size()).starts_with(name)) continue;
    line.remove_prefix(prefix.size() + name.size());
    const std::size_t digit = line.find_first_not_of(' ');
    return digit == std::string_view::npos || line[digit] < '0' || line[digit] > '9' ? 0
                                                                                     : number_in(line.substr(digit));
  }
  return 0;
}

std::size_t soft_limit(decltype(RLIMIT_AS) resource) {
  rlimit limit{};
  return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : unlimited;
}

}  // namespace

std::size_t cgroup_memory_limit(std::string_view groups, std::string_view root) {
  std::size_t limit = unlimited;
  for_each_memory_group(groups, [&](const group_files& files, std::string_view hierarchy, std::string_view group) {
    limit = std::min(limit, number_in(small_file(path_of(root, hierarchy, group, files.limit).c_str()).text()));
  });
  return limit;
}

std::size_t cgroup_memory_left(std::string_view groups, std::string_view root) {
  std::size_t left = unlimited;
  for_each_memory_group(groups, [&](const group_files& files, std::string_view hierarchy, std::string_view group) {
    const auto text_of = [&](std::string_view file) {
      return small_file(path_of(root, hierarchy, group, file).c_str());
    };
    const std::size_t limit = number_in(text_of(files.limit).text());
    const std::size_t usage = number_in(text_of(files.usage).text());
    if (limit == unlimited || usage == unlimited) return;
    // The kernel drops pages of files on disk before it ends a process. Shared memory is not among these.
    const small_file statistics = text_of("memory.stat");
    const std::size_t files_on_disk = number_behind(statistics.text(), files.statistics_prefix, "inactive_file") +
                                      number_behind(statistics.text(), files.statistics_prefix, "active_file");
    left = std::min(left, limit - std::min(limit, usage - std::min(usage, files_on_disk)));
  });
  return left;
}

std::size_t memory_left() {
  const small_file host("/proc/meminfo");
  const std::size_t of_host =
      (number_behind(host.text(), "", "MemAvailable:") + number_behind(host.text(), "", "SwapFree:")) << 10;
  return std::min(of_host == 0 ? unlimited : of_host,
                  cgroup_memory_left(small_file("/proc/self/cgroup").text(), "/sys/fs/cgroup"));
}

bool within_resource_limits(std::size_t bytes) {
  return bytes <= soft_limit(RLIMIT_DATA) && bytes <= soft_limit(RLIMIT_AS);
}

memory_limits read_memory_limits() {
  memory_limits limits;
  // Code, stacks and page tables also count to the group: beyond its limit the kernel kills processes, so malloc must
  // fail before.
  const std::size_t group = cgroup_memory_limit(small_file("/proc/self/cgroup").text(), "/sys/fs/cgroup");
  limits.heap_bytes = group == unlimited ? group : group - std::min(group / 32, most_kept_from_group);
  struct sysinfo host {};
  limits.block_bytes =
      sysinfo(&host) == 0 ? (host.totalram + host.totalswap) * static_cast<std::size_t>(host.mem_unit) : unlimited;

  if (const auto host_page = getauxval(AT_PAGESZ); host_page != page_bytes) {
    limits.reason << "memory pages of this host have " << host_page << " bytes; the shared heap is made for "
                  << page_bytes;
    return limits;
  }
  if (number_in(small_file("/proc/sys/vm/overcommit_memory").text()) == 2) {
    limits.reason << "vm.overcommit_memory is 2: the kernel would answer a full memory with SIGBUS, not with ENOMEM";
    return limits;
  }
  struct demand {
    const char* limit;
    std::size_t now;
    std::size_t needed;
  };
  // Peers' windows, stacks, libraries and the copy for a fork also need address space, so a quarter is ours. Creating
  // the file beyond the limit of file sizes would kill the process by SIGXFSZ.
  const demand demands[] = {
      {"address space (ulimit -v)", soft_limit(RLIMIT_AS), 4 * smallest_window_bytes},
      {"data (ulimit -d)", soft_limit(RLIMIT_DATA), smallest_window_bytes},
      {"file sizes (ulimit -f)", soft_limit(RLIMIT_FSIZE), smallest_window_bytes},
  };
  std::size_t room = heap_stride_bytes;
  for (const demand& each : demands) {
    if (each.now < each.needed) {
      limits.reason << "the limit of " << each.limit << " is " << (each.now >> 10)
                    << " KiB; a shared heap needs at least " << (each.needed >> 10) << " KiB";
      return limits;
    }
    room = std::min(room, each.now / (each.needed / smallest_window_bytes));
  }
  limits.window_bytes = std::bit_floor(room);
  return limits;
}

}  // namespace tri::mpi
