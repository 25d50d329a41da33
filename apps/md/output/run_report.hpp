// The report after a run: its time in the terms of LAMMPS, and where the PEs spent it.
#pragma once

#include <string>
#include <vector>

#include "md/parallel/proxies.hpp"

namespace md {

/// What the balancings of a run did.
struct balancing_record {
  std::int64_t times = 0;
  std::int64_t moved = 0;
  double seconds = 0.0;
  double last_before = 0.0;  ///< longest time of a PE, relative to the least possible, before and after the last one
  double last_after = 0.0;
};

struct run_report {
  double seconds = 0.0;
  std::vector<pe_report> pes;
  std::size_t atoms = 0;
  std::int64_t steps = 0;
  double dt = 0.0;
  std::int64_t list_builds = 0;
  std::int64_t listed_pairs = 0;
  std::string strategy;  ///< of the balancings
  balancing_record balancing;
};

std::string format_report(const run_report& report);
/// "2 PEs in 1 process".
std::string describe_pes();

}  // namespace md
