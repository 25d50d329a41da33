// The balancing of a run: where patches, pairs and the parts of the charge mesh live after it. Called on PE 0 between
// two phases of the run, when all elements wait for the next one and no message is under way.
#pragma once

#include <string>

#include "md/output/run_report.hpp"
#include "md/parallel/run_objects.hpp"

namespace md {

/// `strategy`: one of `trireme balance --list`, or `scatter`, which sends every object to another PE at random, to try
/// that this changes no result.
void balance_objects(const run_objects& all, const std::string& strategy, balancing_record& record);

/// Whether there is such a strategy; throws std::invalid_argument with the nearest name otherwise.
void check_strategy(const std::string& strategy);

}  // namespace md
