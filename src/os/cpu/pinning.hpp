// Binding threads to CPUs and seeing whether they stay there. Each function acts on the calling thread.
#pragma once

#include <cstdint>
#include <vector>

namespace tri::os {

// From now on the calling thread runs only on these CPUs (numbers of the operating system). Throws std::system_error
// with the list when the system refuses, e.g. for a CPU that does not exist or is not allowed.
void pin_this_thread(const std::vector<int>& cpus);
inline void pin_this_thread(int cpu) { pin_this_thread(std::vector<int>{cpu}); }

// The CPUs that the calling thread may run on, ascending.
std::vector<int> cpus_of_this_thread();

// The CPU that runs the calling thread now; may be outdated when the call returns unless the thread is pinned.
int current_cpu();

// Counts how often a thread was seen on another CPU than before. Used by one thread: call sample() now and then.
class migration_probe {
 public:
  // True when the thread changed its CPU since the last sample.
  bool sample();
  std::uint64_t samples() const { return samples_; }
  std::uint64_t changes() const { return changes_; }
  int last_cpu() const { return last_cpu_; }  // -1 before the first sample

 private:
  std::uint64_t samples_ = 0;
  std::uint64_t changes_ = 0;
  int last_cpu_ = -1;
};

}  // namespace tri::os
