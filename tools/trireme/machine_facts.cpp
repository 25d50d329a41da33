#include "machine_facts.hpp"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <system_error>

#include "os/clock.hpp"
#include "os/unique_fd.hpp"

namespace tri::tools {
namespace {

constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

std::string reason(int error) { return std::generic_category().message(error); }

// Asks the kernel for one huge page of shared memory at a suitable address.
machine_fact try_huge_page(int memfd) {
  machine_fact fact{"madv_collapse", false, ""};
#ifdef MADV_COLLAPSE
  const int advice = MADV_COLLAPSE;
#else
  const int advice = 25;  // the number in the kernel's interface; the headers may be older than the kernel
#endif
  void* const space = mmap(nullptr, 2 * huge_page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) return {fact.name, false, reason(errno)};
  const auto aligned =
      (reinterpret_cast<std::uintptr_t>(space) + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes;
  void* const page =
      mmap(reinterpret_cast<void*>(aligned), huge_page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memfd, 0);
  if (page == MAP_FAILED) {
    fact.detail = reason(errno);
  } else {
    std::memset(page, 1, huge_page_bytes);
    fact.works = madvise(page, huge_page_bytes, advice) == 0;
    fact.detail = fact.works ? "shared memory can be given huge pages"
                             : fmt::format("no huge pages for shared memory ({})", reason(errno));
  }
  munmap(space, 2 * huge_page_bytes);
  return fact;
}

machine_fact try_perf_event(const char* name, std::uint32_t type, std::uint64_t config) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = type;
  attributes.config = config;
  attributes.disabled = 1;
  attributes.exclude_kernel = 1;
  const os::unique_fd event(
      static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
  if (event) return {name, true, "can be counted"};
  const int error = errno;
  std::string level = "unknown";
  std::ifstream("/proc/sys/kernel/perf_event_paranoid") >> level;
  return {name, false, fmt::format("{}; kernel.perf_event_paranoid is {}", reason(error), level)};
}

}  // namespace

std::vector<machine_fact> memory_facts() {
  const os::unique_fd memory(memfd_create("trireme-info", MFD_CLOEXEC));
  if (!memory) return {{"memfd", false, reason(errno)}};
  if (ftruncate(memory.get(), static_cast<off_t>(huge_page_bytes)) != 0) return {{"memfd", false, reason(errno)}};
  return {{"memfd", true, "shared memory without files is available"}, try_huge_page(memory.get())};
}

std::vector<machine_fact> counter_facts() {
  return {
      {"tick", true, fmt::format("{:.4f} ns ({:.0f} MHz)", os::ns_per_tick(), 1e3 / os::ns_per_tick())},
      try_perf_event("task_clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK),
      try_perf_event("cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES),
      try_perf_event("instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS),
      try_perf_event("cache_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES),
  };
}

}  // namespace tri::tools
