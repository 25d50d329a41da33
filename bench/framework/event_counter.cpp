#include "framework/event_counter.hpp"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace tri::bench {

const counted_event first_cache_misses{
    .type = PERF_TYPE_HW_CACHE,
    .config = PERF_COUNT_HW_CACHE_L1D | PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16};
const counted_event page_faults{.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS};

event_counter::event_counter(const counted_event& what) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = what.type;
  attributes.config = what.config;
  attributes.disabled = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  descriptor_ = static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (descriptor_ < 0) missing_ = fmt::format("perf_event_open: {}", std::strerror(errno));
}

event_counter::~event_counter() {
  if (descriptor_ >= 0) close(descriptor_);
}

void event_counter::start() { ioctl(descriptor_, PERF_EVENT_IOC_ENABLE, 0); }
void event_counter::stop() { ioctl(descriptor_, PERF_EVENT_IOC_DISABLE, 0); }

std::uint64_t event_counter::read() const {
  std::uint64_t count = 0;
  if (::read(descriptor_, &count, sizeof count) != sizeof count)
    throw std::runtime_error(fmt::format("the counter of an event cannot be read: {}", std::strerror(errno)));
  return count;
}

}  // namespace tri::bench
