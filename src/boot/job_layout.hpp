// Which processes of a job are together on a host: a host has contiguous process numbers, in the order of the hosts. A
// value.
#pragma once

#include <cstddef>
#include <vector>

namespace tri::boot {

class layout {
 public:
  layout() : first_{0, 1} {}  // one process on one host
  // Host h has the processes [first[h], first[h + 1]); first[0] is 0, and no host is empty.
  explicit layout(std::vector<int> first) : first_(std::move(first)) {}
  // As equal as possible: `hosts` blocks of `processes` processes.
  static layout even(int processes, int hosts);

  int hosts() const { return static_cast<int>(first_.size()) - 1; }
  int processes() const { return first_.back(); }
  int first_process_of(int host) const { return first_[static_cast<std::size_t>(host)]; }
  int processes_of(int host) const { return first_process_of(host + 1) - first_process_of(host); }
  int host_of(int process) const;
  int local_rank_of(int process) const { return process - first_process_of(host_of(process)); }

 private:
  std::vector<int> first_;
};

}  // namespace tri::boot
