#include "os/perf_events.hpp"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

namespace tri::os {
namespace {

struct named_event {
  const char* name;
  std::uint32_t type;
  std::uint64_t config;
};

constexpr std::uint64_t cache_event(std::uint64_t cache, std::uint64_t operation, std::uint64_t result) {
  return cache | operation << 8 | result << 16;
}
constexpr std::uint64_t accesses = PERF_COUNT_HW_CACHE_RESULT_ACCESS;
constexpr std::uint64_t misses = PERF_COUNT_HW_CACHE_RESULT_MISS;
constexpr std::uint64_t loads = PERF_COUNT_HW_CACHE_OP_READ;
constexpr std::uint64_t stores = PERF_COUNT_HW_CACHE_OP_WRITE;

constexpr std::array events = {
    named_event{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    named_event{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    named_event{"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    named_event{"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    named_event{"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    named_event{"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    named_event{"stalled-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
    named_event{"stalled-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
    named_event{"ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
    named_event{"L1-dcache-loads", PERF_TYPE_HW_CACHE, cache_event(PERF_COUNT_HW_CACHE_L1D, loads, accesses)},
    named_event{"L1-dcache-load-misses", PERF_TYPE_HW_CACHE, cache_event(PERF_COUNT_HW_CACHE_L1D, loads, misses)},
    named_event{"LLC-loads", PERF_TYPE_HW_CACHE, cache_event(PERF_COUNT_HW_CACHE_LL, loads, accesses)},
    named_event{"LLC-load-misses", PERF_TYPE_HW_CACHE, cache_event(PERF_COUNT_HW_CACHE_LL, loads, misses)},
    named_event{"LLC-stores", PERF_TYPE_HW_CACHE, cache_event(PERF_COUNT_HW_CACHE_LL, stores, accesses)},
    named_event{"LLC-store-misses", PERF_TYPE_HW_CACHE, cache_event(PERF_COUNT_HW_CACHE_LL, stores, misses)},
    named_event{"dTLB-load-misses", PERF_TYPE_HW_CACHE, cache_event(PERF_COUNT_HW_CACHE_DTLB, loads, misses)},
    named_event{"node-loads", PERF_TYPE_HW_CACHE, cache_event(PERF_COUNT_HW_CACHE_NODE, loads, accesses)},
    named_event{"node-load-misses", PERF_TYPE_HW_CACHE, cache_event(PERF_COUNT_HW_CACHE_NODE, loads, misses)},
    named_event{"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    named_event{"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    named_event{"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
    named_event{"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    named_event{"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
    named_event{"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
};

std::optional<named_event> event_named(const std::string& name) {
  for (const named_event& each : events)
    if (name == each.name) return each;
  std::uint64_t raw = 0;
  if (name.size() < 2 || name[0] != 'r') return std::nullopt;
  const char* const end = name.data() + name.size();
  if (const auto read = std::from_chars(name.data() + 1, end, raw, 16); read.ec != std::errc() || read.ptr != end)
    return std::nullopt;
  return named_event{nullptr, PERF_TYPE_RAW, raw};
}

named_event event_or_error(const std::string& name) {
  if (const std::optional<named_event> found = event_named(name)) return *found;
  throw perf_error(fmt::format("there is no event '{}'; there are {} and raw ones such as r01c2", name,
                               fmt::join(perf_event_names(), ", ")));
}

perf_event_attr attributes_of(const named_event& event) {
  perf_event_attr wanted{};
  wanted.size = sizeof wanted;
  wanted.type = event.type;
  wanted.config = event.config;
  wanted.exclude_hv = 1;
  return wanted;
}

// For the calling thread, on any processor. The leader of its group, or -1.
unique_fd opened(perf_event_attr& wanted, int leader) {
  return unique_fd(static_cast<int>(syscall(SYS_perf_event_open, &wanted, 0, -1, leader, PERF_FLAG_FD_CLOEXEC)));
}

// Pinned: counted all the time, or not at all; never for a part of the time, which would be too little of something.
unique_fd opened(const named_event& event, int leader) {
  perf_event_attr wanted = attributes_of(event);
  if (leader < 0) wanted.pinned = 1;
  if (event.type != PERF_TYPE_SOFTWARE) wanted.exclude_kernel = 1;
  wanted.read_format = PERF_FORMAT_GROUP;
  unique_fd file = opened(wanted, leader);
  if (!file && (errno == EACCES || errno == EPERM)) {  // what happens in the kernel is not for everybody
    wanted.exclude_kernel = 1;
    file = opened(wanted, leader);
  }
  return file;
}

std::string why_not(int error) {
  std::string paranoid;
  std::ifstream("/proc/sys/kernel/perf_event_paranoid") >> paranoid;
  switch (error) {
    case ENOENT:
    case EOPNOTSUPP:
    case ENODEV:
      return "the processor shows no such counter here, as in most virtual machines";
    case EACCES:
    case EPERM:
      return fmt::format("not allowed: kernel.perf_event_paranoid is {}, and 2 or less is needed, or CAP_PERFMON",
                         paranoid.empty() ? "unknown" : paranoid);
    case ENOSYS:
      return "the kernel, or a filter of the container, has no perf_event_open";
    case EMFILE:
      return "too many open files (ulimit -n)";
    default:
      return std::strerror(error);
  }
}

}  // namespace

std::vector<std::string> perf_event_names() {
  std::vector<std::string> names;
  for (const named_event& each : events) names.emplace_back(each.name);
  return names;
}

perf_counters::perf_counters(std::span<const std::string> names) {
  // Software events are a group of their own: they never wait for the processor.
  std::optional<std::size_t> of_software, of_hardware;
  for (const std::string& name : names) {
    const named_event event = event_or_error(name);
    std::optional<std::size_t>& into = event.type == PERF_TYPE_SOFTWARE ? of_software : of_hardware;
    unique_fd file;
    if (into) file = opened(event, groups_[*into].events.front().get());
    if (!file) {  // the first one, or the processor cannot count all of them together
      file = opened(event, -1);
      if (!file) throw perf_error(fmt::format("'{}' cannot be counted: {}", name, why_not(errno)));
      into = groups_.size();
      groups_.emplace_back();
    }
    group& chosen = groups_[*into];
    places_.push_back({*into, chosen.events.size()});
    chosen.events.push_back(std::move(file));
    chosen.values.resize(chosen.events.size() + 1);
  }
  std::vector<std::uint64_t> once(size());
  read(once);  // says so if they are too many
}

void perf_counters::read(std::span<std::uint64_t> counts) {
  for (group& each : groups_) {
    const std::size_t bytes = each.values.size() * sizeof each.values.front();
    const ssize_t found = ::read(each.events.front().get(), each.values.data(), bytes);
    if (found == static_cast<ssize_t>(bytes)) continue;
    throw perf_error(found == 0 ? "the processor has too few counters that are free for all of these events; name fewer"
                                : fmt::format("counters of events cannot be read: {}", std::strerror(errno)));
  }
  for (std::size_t i = 0; i < size(); ++i) counts[i] = groups_[places_[i].group].values[1 + places_[i].event];
}

child_perf_counters::child_perf_counters(std::span<const std::string> names) {
  for (const std::string& name : names) {
    perf_event_attr wanted = attributes_of(event_or_error(name));
    wanted.inherit = 1;
    wanted.exclude_kernel = 1;
    wanted.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    events_.push_back({opened(wanted, -1)});
    if (!events_.back().file) throw perf_error(fmt::format("'{}' cannot be counted: {}", name, why_not(errno)));
  }
}

std::vector<double> child_perf_counters::take() {
  std::vector<double> counts;
  for (event& each : events_) {
    std::uint64_t now[3] = {};
    if (::read(each.file.get(), now, sizeof now) != static_cast<ssize_t>(sizeof now))
      throw perf_error(fmt::format("counters of events cannot be read: {}", std::strerror(errno)));
    const auto counted = static_cast<double>(now[0] - each.before[0]);
    const auto enabled = static_cast<double>(now[1] - each.before[1]);
    const auto running = static_cast<double>(now[2] - each.before[2]);
    counts.push_back(running > 0.0 ? counted * enabled / running : 0.0);
    std::copy(std::begin(now), std::end(now), std::begin(each.before));
  }
  return counts;
}

}  // namespace tri::os
