#include "boot/job_layout.hpp"

#include <algorithm>

#include "boot/job.hpp"

namespace tri::boot {

layout layout::even(int processes, int hosts) {
  std::vector<int> first;
  for (int host = 0; host <= hosts; ++host) first.push_back(boot::first_process_of(host, processes, hosts));
  return layout(std::move(first));
}

int layout::host_of(int process) const {
  return static_cast<int>(std::upper_bound(first_.begin(), first_.end(), process) - first_.begin()) - 1;
}

}  // namespace tri::boot
