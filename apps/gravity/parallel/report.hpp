// What a run prints: the table of energies, and at the end times, statistics and errors.
#pragma once

#include <string>
#include <vector>

#include "gravity/parallel/piece.hpp"

namespace gravity {

struct energy_row {
  std::int64_t step = 0;
  double time = 0.0;
  double kinetic = 0.0;
  double potential = 0.0;
  vec3 momentum{};
  double momentum_of_all = 0.0;

  double total() const { return kinetic + potential; }
  /// Twice the kinetic energy by that of attraction: 1 in equilibrium.
  double virial_ratio() const { return potential == 0.0 ? 0.0 : -2.0 * kinetic / potential; }
};

/// Sums go in the order of subtrees, which does not depend on pieces and PEs.
energy_row make_row(std::int64_t step, double time_step, const std::vector<subtree_sums>& sums);
std::string energy_header();
std::string format_row(const energy_row& row);
/// The changes between the first and the last row.
std::string format_conservation(const energy_row& first, const energy_row& last);

enum class phase : std::size_t { drift, decompose, exchange, top_tree, forces, balance };
inline constexpr std::size_t phase_count = 6;
using phase_times = std::array<std::int64_t, phase_count>;  ///< nanoseconds

/// Adds up the time since it was made, or since the last phase has ended.
class phase_timer {
 public:
  explicit phase_timer(phase_times& times);
  void ends(phase which);

 private:
  phase_times& times_;
  std::int64_t since_;
};

/// How evenly the PEs were loaded, step by step: a PE that has more now and less later is not balanced.
class pe_loads {
 public:
  /// The reports of all PEs on one step.
  void add(const std::vector<cache_report>& step);
  const cache_report& all() const { return all_; }
  /// Of the busiest PE in each step, by the mean.
  double imbalance_of_interactions() const;
  double imbalance_of_time() const;

 private:
  cache_report all_;
  std::size_t pes_ = 1;
  std::uint64_t most_interactions_ = 0;  ///< sum over the steps
  std::int64_t longest_ns_ = 0;          ///< sum over the steps
};

/// Of the steps after the first forces.
struct run_totals {
  std::size_t bodies;
  std::int64_t steps;
  std::size_t subtrees;  ///< in the last step
  interaction_counts interactions;
  phase_times times;
  pe_loads pes;
};
std::string format_report(const run_totals& of);

/// `errors` are sorted by the relative error.
std::string format_errors(const std::vector<force_error>& errors);

/// Over the bits of all positions and velocities.
std::uint64_t checksum_of(const std::vector<body>& bodies);

}  // namespace gravity
