// The distributed strategies, with all hosts in one process: what they would decide, and the messages that it takes.
#include "balance/distributed/gossip_host.hpp"
#include "balance/distributed/hierarchy_host.hpp"
#include "balance/distributed/run_hosts.hpp"
#include "balance/strategies/strategies.hpp"

namespace tri::balancing {
namespace {

template <class Host, class... Options>
decided_moves run(const snapshot& of, const Options&... options) {
  std::vector<host_part> parts = host_part::of_hosts(of);
  const auto count = static_cast<std::int32_t>(parts.size());
  std::vector<Host> hosts;
  hosts.reserve(parts.size());
  for (host_part& part : parts)
    hosts.emplace_back(std::move(part), static_cast<std::int32_t>(hosts.size()), count, options...);
  const protocol_cost cost = run_hosts(hosts);
  return {moves_of(of, hosts), cost};
}

}  // namespace

decided_moves decide_by_gossip(const snapshot& of, const strategy_options& options) {
  return run<gossip_host>(
      of, gossip_options{.tolerance = options.tolerance, .rounds = options.rounds, .seed = options.seed});
}

decided_moves decide_by_hierarchy(const snapshot& of, const strategy_options& options) {
  return run<hierarchy_host>(of, options.tolerance);
}

}  // namespace tri::balancing
