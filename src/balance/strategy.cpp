#include "trireme/balance_strategy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <mutex>
#include <stdexcept>
#include <utility>

#include "balance/strategies/strategies.hpp"
#include "config/given_name.hpp"
#include "config/suggestion.hpp"

namespace tri::balancing {
namespace {

struct strategy_list {
  std::mutex mutex;
  std::vector<strategy> all{
      {"greedy", "largest objects first, each to the PE that ends soonest; moves most objects", decide_greedy},
      {"refine", "few moves from the PEs with the longest time to those with the shortest", decide_refine},
      {"communication", "exchanges objects between hosts so that fewer messages cross; loads stay in range",
       decide_by_communication},
      {"contention", "exchanges objects between caches so that each has the same share of a counter",
       decide_by_contention},
      {"curve", "a Hilbert curve through the coordinates, cut into pieces of equal time", decide_by_curve},
      {"bisection", "recursive bisection by coordinates", decide_by_bisection},
      {"partition", "graph partitioning by METIS: hosts first, then PEs by load", decide_by_partition},
      {"topology", "few moves between hosts, then between NUMA nodes, then between PEs", decide_by_topology},
      {"gossip", "distributed: rumours of hosts with room, objects are offered to them", decide_by_gossip},
      {"hierarchy", "distributed: a tree of hosts, surplus meets room at the nearest vertex", decide_by_hierarchy},
  };
};
// Never destroyed, and made on first use: programs add strategies before main.
strategy_list& everything() {
  static auto* const list = new strategy_list;
  return *list;
}

void check_options(const strategy_options& options) {
  const auto between = [](const char* name, double value, double least, double most) {
    if (!(value >= least && value <= most))
      throw std::invalid_argument(fmt::format("{} is {}; it must be from {} to {}", name, value, least, most));
  };
  between("tolerance", options.tolerance, 0.0, 10.0);
  between("alpha", options.alpha, 1.0, 1e6);
  between("counter_tolerance", options.counter_tolerance, 0.0, 10.0);
  between("rounds", options.rounds, 1, 64);
}

}  // namespace

void add_strategy(strategy added) {
  if (!config::can_be_a_name(added.name) || added.name == "all")
    throw std::invalid_argument(fmt::format("strategy '{}': {}, and is not 'all'", added.name, config::rule_of_names));
  if (!added.decide) throw std::invalid_argument(fmt::format("strategy '{}' has no function", added.name));
  strategy_list& list = everything();
  const std::lock_guard lock(list.mutex);
  for (const strategy& each : list.all)
    if (each.name == added.name) throw std::invalid_argument(fmt::format("strategy '{}' exists", added.name));
  list.all.push_back(std::move(added));
}

std::vector<strategy> all_strategies() {
  strategy_list& list = everything();
  const std::lock_guard lock(list.mutex);
  return list.all;
}

strategy find_strategy(std::string_view name) {
  std::vector<std::string> names;
  for (const strategy& each : all_strategies()) {
    if (each.name == name) return each;
    names.push_back(each.name);
  }
  throw std::invalid_argument(fmt::format("there is no balancing strategy '{}'{}; known: {}", name,
                                          config::did_you_mean(name, names), fmt::join(names, ", ")));
}

outcome balance(const snapshot& of, const strategy& by, const strategy_options& options) {
  check(of);
  check_options(options);
  decided_moves decided = by.decide(of, options);
  check_moves(of, decided.moves, fmt::format("strategy '{}'", by.name));
  const quality before = quality_of(of, {});
  outcome result{.before = before, .after = before, .cost = decided.cost};
  if (!decided.moves.empty()) result.after = quality_of(of, decided.moves);
  if (result.after.longest_ns > result.before.longest_ns) {
    result.is_refused = true;
    result.after = result.before;
  } else {
    result.moves = std::move(decided.moves);
  }
  return result;
}

}  // namespace tri::balancing
