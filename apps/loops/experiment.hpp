// Runs a kernel by several methods, round by round, in another order each time, so that a disturbance of the machine
// hits all of them alike; checks every result; reports times as a table, a CSV file and a picture. One thread calls.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernel.hpp"

namespace kernels {

struct measured {
  std::string method;
  std::optional<double> static_fraction;
  bool is_peer = false;
  bool in_sweep = false;      ///< a point of a curve rather than a requested row
  bool same_result = true;    ///< bits of every run equal those of the first run of all
  std::vector<double> times;  ///< milliseconds per step, one per round

  /// Quantile of the times; none measured: 0.
  double quantile(double share) const;
  double median() const { return quantile(0.5); }
  double best() const { return quantile(0.0); }
};

struct experiment_plan {
  std::vector<std::string> methods;
  std::vector<std::string> sweep;  ///< methods of the curves, such as "hybrid,0.35"
  int rounds = 5;                  ///< after one that is not counted
};

struct experiment_result {
  std::vector<measured> rows;
  std::vector<finding> findings;
  std::uint64_t fingerprint = 0;  ///< of all bits of the result
  bool right() const;
};

/// `progress(done, all, what)` before every run.
using progress_function = std::function<void(int done, int all, const std::string& what)>;

/// Throws std::invalid_argument when a method is not valid for the kernel.
experiment_result run_experiment(kernel& of, const experiment_plan& plan, const progress_function& progress);

/// Requested rows and peers, each with its ratio to `static` if that is among them.
std::string table_of(const kernel& of, const experiment_result& result);
/// For each static fraction the time of every curve, and the best one.
std::string sweep_table_of(const experiment_result& result);
/// A line for every run: kernel,method,static_fraction,threads,round,milliseconds_per_step.
std::string csv_of(const std::string& kernel_name, int threads, const experiment_result& result);
/// Time against static fraction as SVG: a curve per kind of method, a level line for every method without a fraction.
std::string picture_of(const std::string& title, const experiment_result& result);

}  // namespace kernels
