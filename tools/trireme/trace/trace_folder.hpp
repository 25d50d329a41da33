// A folder of trace files as events with times in nanoseconds, for all output of `trireme trace`. message_path.hpp
// aligns the times of hosts with different clocks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "trace/format.hpp"

namespace tri::tools {

struct trace_event {
  std::int64_t ns = 0;      // since the first event of the trace
  std::int64_t length = 0;  // slow, written: nanoseconds
  std::uint64_t number = 0;
  std::uint32_t bytes = 0;
  std::uint32_t peer = 0;
  std::uint32_t handler = 0;
  trace::event what{};
  trace::target to{};
  std::uint8_t tag = 0;
};

/// The content of one file: a PE, or (pe < 0) the wire of a process, including its communication thread.
struct trace_row {
  int pe = -1;
  int process = 0;
  int host = 0;
  std::string clock;
  bool has_thread = false;          // a communication thread
  std::vector<trace_event> events;  // by time
  std::vector<std::string> names;   // of the program, by the number that its events have as `handler`
  /// "PE 3 (N1)", "CommP (N1)" or "wire (N1)": N and the number of the process.
  std::string label() const;
  std::string name_of_program(std::uint32_t number) const;
};

/// Hosts with clocks of their own: the amount subtracted from their times to align them with the first host.
struct clock_correction {
  std::string clock;
  int host = 0;  // one of those that have it
  std::int64_t ns = 0;
  std::int64_t uncertain_ns = 0;  // it may be as much more or less
  std::uint64_t messages = 0;     // that it was estimated from; 0: none in both directions, nothing was taken off
};

struct trace_folder {
  int processes = 0;
  int hosts = 0;
  int pes_per_process = 1;
  int slow_us = 0;
  std::vector<std::string> handlers;
  std::vector<trace_row> rows;           // by process: its PEs, then its wire
  std::vector<clock_correction> clocks;  // of all but the first; empty where all hosts have the same
  std::int64_t end_ns = 0;               // of the last event

  std::string name_of(std::uint32_t handler) const;
  int process_of(std::uint32_t pe) const { return static_cast<int>(pe) / pes_per_process; }
  const trace_row* row_of_pe(int pe) const;
  const trace_row* wire_of(int process) const;
};

/// The times of all hosts by one clock. A message cannot arrive before it left: the least differences of both
/// directions bound how far two clocks are apart, and the middle between the bounds is taken.
void bring_clocks_together(trace_folder& trace);

/// Throws std::runtime_error for a folder without traces, and for files that are none or of another version or job.
trace_folder read_trace(const std::filesystem::path& folder);

}  // namespace tri::tools
