// The traces of one process: a recorder for each selected PE, and a row for its wire. Owned by the runtime; PEs get
// their recorder from here.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "trace/recorder.hpp"

namespace tri::trace {

struct process_facts {
  int process = 0;
  int processes = 1;
  int host = 0;
  int hosts = 1;
  int pes_per_process = 1;
  std::string comm_thread = "off";
  std::vector<std::string> handlers;  // their names, by number
};

struct trace_options {
  std::string folder;
  std::string pes = "all";
  std::size_t events = 65536;
  int slow_us = 10000;
};

/// Before any process of the job opens its files: removes those of an earlier job, or makes the folder. Throws
/// std::runtime_error.
void remove_old_traces(const std::string& folder);

/// Events of a process's wire: of the thread that makes progress on it, and of the communication thread. Any thread.
class wire_row {
 public:
  wire_row(std::string path, const std::string& description, std::size_t events, std::uint64_t slow_ticks,
           const std::atomic<int>& pes_on)
      : pes_on_(pes_on), slow_ticks_(slow_ticks), recorder_(std::move(path), description, events, slow_ticks) {}

  /// While any PE of the process is. relaxed: events at the edges may be missed
  bool is_on() const { return pes_on_.load(std::memory_order_relaxed) != 0; }
  void left(std::uint32_t source, std::uint32_t number);
  void arrived(std::uint32_t source, std::uint32_t number, std::uint32_t handler, target to, int destination);
  void call_ended(std::uint32_t call, std::uint64_t began);
  /// The communication thread looked at the wire, and did something or not.
  void thread_worked(bool worked, std::uint64_t before);

 private:
  const std::atomic<int>& pes_on_;
  const std::uint64_t slow_ticks_;
  bool working_ = false;  // the communication thread, by itself
  std::mutex lock_;       // for the recorder
  recorder recorder_;
};

class process_trace {
 public:
  /// Null if none of the process's PEs was chosen. Throws std::invalid_argument for a choice that is none,
  /// std::runtime_error for files that cannot be written.
  static std::unique_ptr<process_trace> open(const trace_options& options, const process_facts& facts);

  /// By number in the process; null if it was not chosen.
  recorder* of_pe(int local) { return pes_[static_cast<std::size_t>(local)].get(); }
  /// Null with one host.
  wire_row* wire() { return wire_.get(); }
  /// A PE begins or ceases to be traced. relaxed: see wire_row::is_on
  void switched(bool on) { pes_on_.fetch_add(on ? 1 : -1, std::memory_order_relaxed); }

 private:
  process_trace() = default;
  std::atomic<int> pes_on_{0};
  std::vector<std::unique_ptr<recorder>> pes_;
  std::unique_ptr<wire_row> wire_;
};

}  // namespace tri::trace
