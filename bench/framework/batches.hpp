// Measures an operation in many short batches. A batch is calibrated to about `batch_time_ms`, shorter than a scheduler
// slice, so on a busy machine most batches run undisturbed and their median is the figure. Batches in which the
// measuring thread was switched out involuntarily are set aside as long as half of the batches are clean.
// One `batch_runner` belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace tri::bench {

struct batch_options {
  double batch_time_ms = 1.0;
  double warm_up_ms = 20;
  std::size_t repetitions = 200;  // at least this many batches,
  double min_time_s = 0.3;        // at least for so long,
  double max_time_s = 20;         // and no longer than this once there are three batches
};

// The report of one batch. An operation that times itself (e.g. on another PE) sets elapsed_ns.
struct batch_result {
  double elapsed_ns = 0;
  double handoff_ns = 0;  // one-way hand-off of a cache line measured in this batch on the same cores; 0 = not measured
  bool disturbed = false;  // the operation knows that it was interrupted
};

// Nanoseconds per operation, one entry per batch kept; handoff_ns is empty or as long.
struct samples {
  std::vector<double> operation_ns = {};
  std::vector<double> handoff_ns = {};
  std::size_t disturbed = 0;                  // batches set aside
  std::uint64_t operations_in_one_batch = 0;  // after calibration
};

class batch_runner {
 public:
  explicit batch_runner(const batch_options& options) : options_(options) {}

  // Calls operation(n), which performs n operations, and times the calls with the monotonic clock.
  samples time(const std::function<void(std::uint64_t)>& operation) const;

  // Calls operation(n), which performs n operations and reports how long they took.
  samples collect(const std::function<batch_result(std::uint64_t)>& operation) const;

  const batch_options& options() const { return options_; }

 private:
  batch_options options_;
};

}  // namespace tri::bench
