// Cache misses of the programs that this process starts, counted by the processor, where the system allows it
// (perf_event_open). One thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace tri::tools {

class cache_counters {
 public:
  /// Counts programs started from now on, with all their threads and children.
  cache_counters();
  ~cache_counters();
  cache_counters(const cache_counters&) = delete;
  cache_counters& operator=(const cache_counters&) = delete;

  bool available() const { return reason_.empty(); }
  /// One line: why there are none.
  const std::string& reason() const { return reason_; }

  struct counts {
    double l1_misses = 0.0;          ///< reads of data
    double last_level_misses = 0.0;  ///< reads and writes that went to memory
  };
  /// Of the programs that were started and have ended since the last call, or since the beginning. Scaled up where the
  /// processor had too few counters and took turns. Throws std::runtime_error when the system gives none.
  counts take();

 private:
  struct event {
    int file = -1;
    std::uint64_t before[3] = {};  // value, time enabled, time running
  };
  std::array<event, 2> events_;
  std::string reason_;
};

}  // namespace tri::tools
