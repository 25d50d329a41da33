// Counters beside the times of elements, for load balancing: --tri-load-counters names them, each method's counts go to
// its element, and snapshots (tri::load_snapshot, balancing strategies such as `contention`) have them for each
// element.
//
// Names as of `perf list` (cache-misses, page-faults, r01c2) are events of the processor and the system. A program adds
// its own sources: whatever counts on a PE, such as PAPI, flops that it knows, or numbers that a test has chosen.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#pragma GCC visibility push(default)

namespace tri {

/// Counts on one PE: made, used and destroyed by its thread.
class load_counter_source {
 public:
  load_counter_source() = default;
  virtual ~load_counter_source() = default;
  load_counter_source(const load_counter_source&) = delete;
  load_counter_source& operator=(const load_counter_source&) = delete;
  /// What was counted since some moment, never less than before: a count for each name. Called before and after each
  /// method of an element, so its cost is that of every method twice. An exception ends the job.
  virtual void read(std::span<std::uint64_t> counts) = 0;
};

/// Called on each PE with the names that are its own, without the prefix, in the order of --tri-load-counters. An
/// exception ends the job, with its message.
using load_counter_maker = std::function<std::unique_ptr<load_counter_source>(const std::vector<std::string>& names)>;

/// Names that begin with `prefix` and a colon are counted by sources that `make` makes. In every process, before
/// tri::run or tri::init. Throws std::invalid_argument for a prefix that is taken, or is not of letters, digits and _.
void add_load_counters(const std::string& prefix, load_counter_maker make);

}  // namespace tri

#pragma GCC visibility pop
