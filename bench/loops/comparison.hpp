// A comparison: one kernel run under many schedules of several runtimes, in many rounds of short batches. In each round
// every entry has its turn, in another order each time, so that what disturbs the machine hits all alike, and entries
// are compared within rounds. Used by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/batches.hpp"
#include "loops/competitor_process.hpp"

namespace tri::bench {

struct comparison_plan {
  kernel which = kernel::pair;
  std::vector<std::string> entries = {};  // "trireme/static", "openmp/dynamic"; those that are not there are left out
  std::uint32_t learning = 0;             // loops of each entry before the first round
  std::uint32_t warm_up = 0;              // loops before each batch
  std::uint32_t loops = 1;                // of a batch
  std::size_t batches_per_round = 1;      // of the runner's repetitions per round
  bool disturbances_count = true;         // batches in which a thread lost its core are set aside
  bool first_executions = false;          // the loops of a batch are first executions: batch_request::first
  bool ask_who_shared = false;
};

struct comparison_entry {
  std::string name;  // "static", "libgomp/static"
  std::vector<batch_reply> rounds = {};
  std::optional<double> shared = {};  // part of the loops in which two threads took part
};

class comparison_result {
 public:
  comparison_result(std::vector<comparison_entry> entries, std::vector<double> handoff_ns, bool disturbances_count)
      : entries_(std::move(entries)), handoff_ns_(std::move(handoff_ns)), disturbances_count_(disturbances_count) {}

  const std::vector<comparison_entry>& entries() const { return entries_; }
  const comparison_entry& entry(const std::string& name) const;  // throws std::logic_error
  const std::vector<double>& handoff_ns() const { return handoff_ns_; }

  // Rounds in which all of these entries ran undisturbed; all rounds when those are less than a third.
  std::vector<std::size_t> rounds_of(const std::vector<const comparison_entry*>& together) const;
  double median_ns(const comparison_entry& of) const;
  // value(first, second) in each round that counts for both
  std::vector<double> pairs(const comparison_entry& first, const comparison_entry& second,
                            const std::function<double(double, double)>& value) const;

 private:
  std::vector<comparison_entry> entries_;
  std::vector<double> handoff_ns_;
  bool disturbances_count_;
};

// Starts the competitors and runs the rounds. `notes`: one line for each runtime that is left out, and why.
comparison_result run_comparison(const comparison_plan& plan, const batch_options& method, const std::string& program,
                                 std::vector<std::string>& notes);

}  // namespace tri::bench
