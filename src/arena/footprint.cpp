#include "arena/footprint.hpp"

#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>

namespace tri::arena {

memory_footprint measure_footprint(const heap& own) {
  std::ifstream status("/proc/self/status");
  std::size_t resident = 0, shared = 0;
  int found = 0;
  for (std::string name; status >> name; status.ignore(std::numeric_limits<std::streamsize>::max(), '\n')) {
    if (name == "VmRSS:" && status >> resident) ++found;
    if (name == "RssShmem:" && status >> shared) ++found;
  }
  if (found != 2) throw std::runtime_error("memory footprint: /proc/self/status has no VmRSS or no RssShmem");
  return {resident << 10, shared << 10, (resident - shared) << 10, own.bytes_in_use()};  // the kernel counts in KiB
}

}  // namespace tri::arena
