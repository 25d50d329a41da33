#include "repeat/cache_counters.hpp"

#include <vector>

namespace tri::tools {

cache_counters::cache_counters() {
  const std::string misses[] = {"L1-dcache-load-misses", "cache-misses"};
  try {
    counters_.emplace(misses);
  } catch (const os::perf_error& error) {
    reason_ = error.what();
  }
}

cache_counters::counts cache_counters::take() {
  const std::vector<double> found = counters_.value().take();
  return {found[0], found[1]};
}

}  // namespace tri::tools
