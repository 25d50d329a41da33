#include "coll/cost_model.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "coll/virtual_host.hpp"

namespace tri::coll {

plan_counts count_of(const request& asked, std::span<const plan> plans) {
  plan_counts found;
  found.of_hosts.resize(static_cast<std::size_t>(asked.hosts.hosts()));
  found.of_ranks.resize(plans.size());
  std::set<std::uint32_t> rounds;
  for (const plan& each : plans) {
    const int host = asked.hosts.host_of(each.rank);
    for (const step& one : each.steps) {
      if (one.kind == step_kind::copy) found.copied_bytes += one.bytes;
      if (one.is_reduction()) found.reduced_bytes += one.bytes;
      if (!one.is_message()) continue;
      const bool is_between = asked.hosts.host_of(one.peer) != host;
      if (is_between) rounds.insert(one.round);
      const auto add = [&](traffic& to) {
        if (one.kind == step_kind::receive) {
          to.received += one.bytes;
        } else {
          ++to.messages;
          to.bytes += one.bytes;
        }
      };
      add(is_between ? found.between_hosts : found.inside_hosts);
      if (!is_between) continue;
      add(found.of_hosts[static_cast<std::size_t>(host)]);
      add(found.of_ranks[static_cast<std::size_t>(each.rank)]);
    }
  }
  found.rounds = static_cast<std::uint32_t>(rounds.size());
  return found;
}

namespace {

plan_cost cost_from(const request& asked, const std::vector<virtual_host>& hosts) {
  const auto record_of = [&](step_name of) -> const step_record& {
    return hosts[static_cast<std::size_t>(asked.hosts.host_of(of.rank))].records_of(of.rank)[of.index];
  };
  plan_cost found;
  step_name last = no_name;
  for (std::int32_t rank = 0; rank < asked.hosts.ranks(); ++rank) {
    const auto records = hosts[static_cast<std::size_t>(asked.hosts.host_of(rank))].records_of(rank);
    found.of_ranks.push_back(0.0);
    found.steps.emplace_back();
    for (std::uint32_t index = 0; index < records.size(); ++index) {
      const step_record& one = records[index];
      found.steps.back().push_back({rank, index, one.begin, one.end});
      found.of_ranks.back() = std::max(found.of_ranks.back(), one.end);
      if (last == no_name || one.end > record_of(last).end) last = {rank, index};
    }
    found.time = std::max(found.time, found.of_ranks.back());
  }
  for (step_name each = last; each != no_name;) {
    const step_record& one = record_of(each);
    found.critical_path.push_back({each.rank, each.index, one.begin, one.end});
    each = one.occupied != no_name ? one.occupied : one.cause;
  }
  std::ranges::reverse(found.critical_path);
  return found;
}

}  // namespace

plan_cost cost_of(const request& asked, std::span<const plan> plans, const cost_parameters& costs) {
  std::vector<virtual_host> hosts;
  hosts.reserve(static_cast<std::size_t>(asked.hosts.hosts()));
  for (int host = 0; host < asked.hosts.hosts(); ++host) {
    virtual_host& made = hosts.emplace_back(asked, costs, nullptr, host);
    made.keep_records();
    made.load(plans.subspan(static_cast<std::size_t>(asked.hosts.first_rank(host)),
                            static_cast<std::size_t>(asked.hosts.ranks_of(host))));
  }
  virtual_totals totals;
  std::vector<message_under_way> under_way;
  run_in_windows(hosts, asked, costs, under_way,
                 [&](std::size_t host, double begin, double end) { hosts[host].run(begin, end, under_way, totals); },
                 {});
  if (!std::ranges::all_of(hosts, &virtual_host::is_over))
    throw std::invalid_argument("the plans block: they have no cost");
  return cost_from(asked, hosts);
}

std::vector<algorithm_cost> compare(const request& asked, const cost_parameters& costs) {
  std::vector<algorithm_cost> found;
  for (const algorithm* each : algorithms_for(asked))
    found.push_back({each, cost_of(asked, generate_all(*each, asked), costs).time});
  std::ranges::stable_sort(found, {}, &algorithm_cost::time);
  return found;
}

}  // namespace tri::coll
