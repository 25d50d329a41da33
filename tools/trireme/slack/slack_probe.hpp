// Measures slack: every PE works for a moment, then takes part in a collective operation, repeatedly; its wait in the
// operation is its slack (V. Kale, PhD dissertation, Illinois 2015, chapter 4: a tool of that kind). Runs in a job,
// called by its main program.
#pragma once

#include <vector>

#include "slack/slack_report.hpp"

namespace tri::tools {

/// Broadcast from PE 0, reduction to PE 0 with its result sent to all, and exchange with both neighbours in a ring.
/// `work_ns`: of every PE before each operation, in arithmetic.
std::vector<operation_waits> measure_slack(int rounds, double work_ns);

}  // namespace tri::tools
