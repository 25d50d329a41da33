#include "machine_facts.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>

#include "os/clock.hpp"
#include "os/perf_events.hpp"
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

machine_fact try_event(const char* fact, const char* event) {
  const std::string names[] = {event};
  try {
    const os::perf_counters counters(names);
    return {fact, true, "can be counted"};
  } catch (const os::perf_error& error) {
    return {fact, false, error.what()};
  }
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
      try_event("task_clock", "task-clock"),
      try_event("cycles", "cycles"),
      try_event("instructions", "instructions"),
      try_event("cache_misses", "cache-misses"),
  };
}

}  // namespace tri::tools
