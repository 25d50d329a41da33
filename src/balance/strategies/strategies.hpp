// The strategies that are there without any of the program (strategy.hpp has them by name). Each takes a snapshot that
// was checked; those that a word follows throw std::invalid_argument when the snapshot lacks it.
#pragma once

#include "trireme/balance_strategy.hpp"

namespace tri::balancing {

decided_moves decide_greedy(const snapshot& of, const strategy_options& options);
decided_moves decide_refine(const snapshot& of, const strategy_options& options);
decided_moves decide_by_communication(const snapshot& of, const strategy_options& options);
decided_moves decide_by_contention(const snapshot& of, const strategy_options& options);  // counters
decided_moves decide_by_curve(const snapshot& of, const strategy_options& options);       // coordinates
decided_moves decide_by_bisection(const snapshot& of, const strategy_options& options);   // coordinates
/// Throws std::runtime_error where METIS is not installed, or was not when this was built.
decided_moves decide_by_partition(const snapshot& of, const strategy_options& options);
decided_moves decide_by_topology(const snapshot& of, const strategy_options& options);
decided_moves decide_by_gossip(const snapshot& of, const strategy_options& options);
decided_moves decide_by_hierarchy(const snapshot& of, const strategy_options& options);

}  // namespace tri::balancing
