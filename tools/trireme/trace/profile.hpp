// Where the time of each row went, method by method: the intervals of a row, one after another, and their sums. Time
// between methods (queues, scheduling, sends of the runtime) is overhead.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trace/trace_folder.hpp"

namespace tri::tools {

enum class activity : std::uint8_t { off, overhead, method, help, idle };

/// A part of a row's time with one activity. They follow each other without gaps.
struct interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  activity what{};
  std::uint32_t handler = 0;  // method
  bool starts = false;        // the method begins with it; false: continues
};
std::vector<interval> intervals_of(const trace_row& row, std::int64_t end_ns);

struct method_profile {
  std::uint64_t calls = 0;
  std::int64_t total = 0;    // without what ran inside it, as messages do while the main program waits
  std::int64_t longest = 0;  // from begin to end
  int longest_pe = 0;
  std::int64_t longest_begin = 0;
};

struct row_profile {
  const trace_row* row = nullptr;
  std::int64_t busy = 0;  // in methods, and helping on the board of the host
  std::int64_t idle = 0;
  std::int64_t overhead = 0;
  std::int64_t off = 0;
  double writing = 0;         // of the trace itself, part of the others
  std::uint64_t begun = 0;    // methods
  std::uint64_t sent = 0;     // messages; of a wire, that left
  std::uint64_t arrived = 0;  // of a wire
};

struct trace_profile {
  std::vector<row_profile> rows;
  std::map<std::uint32_t, method_profile> methods;
};
trace_profile profile_of(const trace_folder& trace);

/// A line per row, the methods that took longest, the calls that took abnormally long.
std::string text_of_rows(const trace_folder& trace, const trace_profile& profile);
std::string text_of_methods(const trace_folder& trace, const trace_profile& profile, std::size_t most);
std::string text_of_slow_calls(const trace_folder& trace, std::size_t most);

}  // namespace tri::tools
