// Events that the processor and the system count for a thread (perf_event_open), by the names that `perf list` has.
// Virtual machines often have no counters of the processor; those of the system (page-faults, ...) work there, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "os/unique_fd.hpp"

namespace tri::os {

/// Says which event cannot be counted, and why.
class perf_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Those that are known by name; r followed by hexadecimal digits is a raw event of the processor besides.
std::vector<std::string> perf_event_names();

/// Counts for the thread that made it, in user code for events of the processor. Used by that thread only.
class perf_counters {
 public:
  /// Throws perf_error that names the event: unknown, not there, not allowed, or too many for the processor at a time.
  explicit perf_counters(std::span<const std::string> names);

  std::size_t size() const { return places_.size(); }
  /// Counts since the object was made, in the order of the names. A system call for each group of events that the
  /// processor counts together; software events of the system are one more. Throws perf_error when the processor has
  /// been given to another user of its counters.
  void read(std::span<std::uint64_t> counts);

 private:
  struct group {
    std::vector<unique_fd> events;  // the first leads
    std::vector<std::uint64_t> values;
  };
  struct place {
    std::size_t group = 0;
    std::size_t event = 0;
  };
  std::vector<group> groups_;
  std::vector<place> places_;  // of each name
};

/// Counts, in user code, for programs that this process starts from then on, with all their threads and children. The
/// process itself counts, too: let it wait meanwhile. One thread.
class child_perf_counters {
 public:
  /// Throws perf_error as perf_counters does.
  explicit child_perf_counters(std::span<const std::string> names);
  /// Counts of the programs that have ended since the last call, or since the beginning, in the order of the names.
  /// Scaled up where the processor had too few counters and took turns. Throws perf_error when the system gives none.
  std::vector<double> take();

 private:
  struct event {
    unique_fd file;
    std::uint64_t before[3] = {};  // value, time enabled, time running
  };
  std::vector<event> events_;
};

}  // namespace tri::os
