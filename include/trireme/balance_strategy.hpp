// Balancing strategies by name. A strategy is a pure function: a snapshot in, moves out; the same snapshot, options and
// seed give the same moves. docs/user/balancing.md has one of a user's own in 20 lines. Any thread.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/detail/balance/loads.hpp"
#include "trireme/detail/balance/snapshot.hpp"

#pragma GCC visibility push(default)

namespace tri::balancing {

struct strategy_options {
  double tolerance = 0.02;          ///< a PE may be this part above the level and needs no help
  double alpha = 10.0;              ///< a message between hosts costs so many inside one
  std::string counter = {};         ///< the counter of `contention`; empty: the first of the snapshot
  double counter_tolerance = 0.05;  ///< groups may be this part away from the mean of the counter
  std::int32_t rounds = 3;          ///< of rumours of gossip, before each turn of offers
  std::uint64_t seed = 1;
  /// Long strategies call it with the part that is done, 0 to 1. May be empty.
  std::function<void(double part)> progress = {};
};

/// Of a strategy that runs on all hosts at once: what it sends between them, migrations aside.
struct protocol_cost {
  std::int64_t messages = 0;
  std::int64_t most_of_a_host = 0;  ///< sent and received by one host
};

struct decided_moves {
  std::vector<move> moves;
  protocol_cost cost;
  decided_moves(std::vector<move> of_it, protocol_cost costing = {}) : moves(std::move(of_it)), cost(costing) {}
};

/// The snapshot was checked. Throws std::invalid_argument when it lacks what the strategy needs, std::runtime_error
/// when the machine does.
using strategy_function = std::function<decided_moves(const snapshot&, const strategy_options&)>;

struct strategy {
  std::string name;     ///< lower-case letters, digits, - and _
  std::string summary;  ///< a line for lists
  strategy_function decide;
};

/// Adds one of the program's. Throws std::invalid_argument for a name that is taken or no name, and for no function.
void add_strategy(strategy added);

/// In the order of the documents, those of the program last.
std::vector<strategy> all_strategies();

/// Throws std::invalid_argument with the nearest name.
strategy find_strategy(std::string_view name);

struct outcome {
  std::vector<move> moves = {};
  quality before;
  quality after;
  protocol_cost cost;
  bool is_refused = false;  ///< the strategy's moves would have made the makespan longer, so there are none
};

/// Checks the snapshot and the options, runs the strategy, checks its moves, and drops them all if the makespan would
/// be longer than before. Throws what those throw.
outcome balance(const snapshot& of, const strategy& by, const strategy_options& options = {});

}  // namespace tri::balancing

#pragma GCC visibility pop
