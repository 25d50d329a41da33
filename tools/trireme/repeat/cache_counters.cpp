#include "repeat/cache_counters.hpp"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace tri::tools {
namespace {

struct event_kind {
  std::uint32_t type;
  std::uint64_t config;
};
constexpr event_kind kinds[] = {
    {PERF_TYPE_HW_CACHE,
     PERF_COUNT_HW_CACHE_L1D | PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
};

// Of this process and, from then on, of its children; this process itself does next to nothing while it waits.
int open_event(const event_kind& kind) {
  perf_event_attr wanted{};
  wanted.size = sizeof wanted;
  wanted.type = kind.type;
  wanted.config = kind.config;
  wanted.inherit = 1;
  wanted.exclude_kernel = 1;
  wanted.exclude_hv = 1;
  wanted.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return static_cast<int>(syscall(SYS_perf_event_open, &wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

std::string why_not(int error) {
  std::string paranoid;
  std::ifstream("/proc/sys/kernel/perf_event_paranoid") >> paranoid;
  const char* hint = "";
  if (error == ENOENT || error == EOPNOTSUPP || error == ENODEV)
    hint = ": the processor shows no such counters here, as in most virtual machines";
  else if (error == EACCES || error == EPERM)
    hint = ": not allowed; kernel.perf_event_paranoid of 2 or less, or the capability CAP_PERFMON, would be needed";
  else if (error == ENOSYS)
    hint = ": the kernel, or a filter of the container, has no such call";
  return fmt::format("perf_event_open: {}{}{}", std::strerror(error), hint,
                     paranoid.empty() ? "" : fmt::format(" (perf_event_paranoid is {})", paranoid));
}

}  // namespace

cache_counters::cache_counters() {
  for (std::size_t index = 0; index < events_.size() && reason_.empty(); ++index) {
    events_[index].file = open_event(kinds[index]);
    if (events_[index].file < 0) reason_ = why_not(errno);
  }
}

cache_counters::~cache_counters() {
  for (const event& each : events_)
    if (each.file >= 0) close(each.file);
}

cache_counters::counts cache_counters::take() {
  if (!available()) throw std::runtime_error(reason_);
  double found[2] = {};
  for (std::size_t index = 0; index < events_.size(); ++index) {
    event& each = events_[index];
    std::uint64_t now[3] = {};
    if (read(each.file, now, sizeof now) != static_cast<ssize_t>(sizeof now))
      throw std::runtime_error(fmt::format("cache counters cannot be read: {}", std::strerror(errno)));
    const double counted = static_cast<double>(now[0] - each.before[0]);
    const double enabled = static_cast<double>(now[1] - each.before[1]);
    const double running = static_cast<double>(now[2] - each.before[2]);
    found[index] = running > 0.0 ? counted * enabled / running : 0.0;
    std::copy(std::begin(now), std::end(now), std::begin(each.before));
  }
  return {found[0], found[1]};
}

}  // namespace tri::tools
