// Cache misses of the programs that this process starts, where the processor counts them. One thread.
#pragma once

#include <optional>
#include <string>

#include "os/perf_events.hpp"

namespace tri::tools {

class cache_counters {
 public:
  /// Counts programs started from now on, with all their threads and children.
  cache_counters();

  bool available() const { return counters_.has_value(); }
  /// One line: why there are none.
  const std::string& reason() const { return reason_; }

  struct counts {
    double l1_misses = 0.0;          ///< reads of data
    double last_level_misses = 0.0;  ///< reads and writes that went to memory
  };
  /// As os::child_perf_counters. Only where they are available.
  counts take();

 private:
  std::optional<os::child_perf_counters> counters_;
  std::string reason_;
};

}  // namespace tri::tools
