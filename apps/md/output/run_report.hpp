// The report after a run: its time in the terms of LAMMPS, and where the PEs spent it.
#pragma once

#include <string>
#include <vector>

#include "md/parallel/proxies.hpp"

namespace md {

struct run_report {
  double seconds = 0.0;
  std::vector<pe_report> pes;
  std::size_t atoms = 0;
  std::int64_t steps = 0;
  double dt = 0.0;
  std::int64_t list_builds = 0;
  std::int64_t listed_pairs = 0;
};

std::string format_report(const run_report& report);
/// "2 PEs in 1 process".
std::string describe_pes();

}  // namespace md
