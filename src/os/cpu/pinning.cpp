#include "os/cpu/pinning.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>

#include "os/cpu/cpu_list.hpp"

namespace tri::os {
namespace {

// A CPU set for any number of CPUs; the fixed cpu_set_t ends at 1024.
class cpu_set {
 public:
  explicit cpu_set(int cpus)
      : bytes_(CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus))), set_(CPU_ALLOC(static_cast<std::size_t>(cpus))) {
    if (set_ == nullptr) throw std::bad_alloc();
    CPU_ZERO_S(bytes_, set_.get());
  }
  cpu_set_t* get() const { return set_.get(); }
  std::size_t bytes() const { return bytes_; }

 private:
  struct deleter {
    void operator()(cpu_set_t* set) const { CPU_FREE(set); }
  };
  std::size_t bytes_;
  std::unique_ptr<cpu_set_t, deleter> set_;
};

}  // namespace

void pin_this_thread(const std::vector<int>& cpus) {
  cpu_set set(cpus.empty() ? 1 : *std::max_element(cpus.begin(), cpus.end()) + 1);
  for (int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), set.bytes(), set.get());
  if (sched_setaffinity(0, set.bytes(), set.get()) != 0) {
    throw std::system_error(errno, std::generic_category(),
                            fmt::format("cannot bind a thread to CPU {}", format_cpu_list(cpus)));
  }
}

std::vector<int> cpus_of_this_thread() {
  // The kernel refuses (EINVAL) a set smaller than its own; so grow until it fits.
  for (int capacity = 1024; capacity <= (1 << 20); capacity *= 2) {
    cpu_set set(capacity);
    if (sched_getaffinity(0, set.bytes(), set.get()) != 0) {
      if (errno == EINVAL) continue;
      break;
    }
    std::vector<int> cpus;
    for (int cpu = 0; cpu < capacity; ++cpu)
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), set.bytes(), set.get())) cpus.push_back(cpu);
    return cpus;
  }
  throw std::system_error(errno, std::generic_category(), "cannot read the CPUs of a thread");
}

int current_cpu() { return sched_getcpu(); }

bool migration_probe::sample() {
  const int cpu = current_cpu();
  const bool changed = samples_ > 0 && cpu != last_cpu_;
  ++samples_;
  if (changed) ++changes_;
  last_cpu_ = cpu;
  return changed;
}

}  // namespace tri::os
