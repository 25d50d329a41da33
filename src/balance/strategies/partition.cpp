// Graph partitioning: METIS cuts the graph of traffic into a part for each host (or PE, where there is one host), by
// speed, so that few messages cross; parts get the numbers under which most of their load does not move. Inside hosts
// the largest objects choose first.
#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "balance/strategies/fill.hpp"
#include "balance/strategies/metis.hpp"
#include "balance/strategies/strategies.hpp"
#include "balance/traffic_graph.hpp"

namespace tri::balancing {
namespace {

using pe_groups = std::vector<std::vector<std::int32_t>>;

// The PEs of each host; those of a single host one by one.
pe_groups groups_of(const snapshot& of) {
  std::map<std::int32_t, std::vector<std::int32_t>> by_host;
  for (const std::int32_t pe : pes_by_place(of)) by_host[of.pes[static_cast<std::size_t>(pe)].host].push_back(pe);
  pe_groups groups;
  if (by_host.size() == 1) {
    for (const std::int32_t pe : by_host.begin()->second) groups.push_back({pe});
  } else {
    for (auto& [host, pes] : by_host) groups.push_back(std::move(pes));
  }
  return groups;
}

// Which group each part becomes: the pair with the most work in common first. Parts were cut for groups of a certain
// speed, so they only change with their like.
std::vector<std::int32_t> match_parts(const std::vector<double>& shares, std::span<const std::int32_t> parts,
                                      std::span<const std::int32_t> present, std::span<const double> works) {
  std::map<std::pair<std::int32_t, std::int32_t>, double> common;
  for (std::size_t i = 0; i < parts.size(); ++i) common[{parts[i], present[i]}] += works[i];
  std::vector<std::tuple<double, std::int32_t, std::int32_t>> order;
  for (const auto& [pair, work] : common) order.emplace_back(-work, pair.first, pair.second);
  std::sort(order.begin(), order.end());
  std::vector<std::int32_t> group_of(shares.size(), -1), part_of(shares.size(), -1);
  const auto join = [&](std::int32_t part, std::int32_t group) {
    const auto p = static_cast<std::size_t>(part), g = static_cast<std::size_t>(group);
    if (group_of[p] >= 0 || part_of[g] >= 0 || shares[p] != shares[g]) return;
    group_of[p] = group;
    part_of[g] = part;
  };
  for (const auto& [work, part, group] : order) join(part, group);
  const auto all = static_cast<std::int32_t>(shares.size());
  for (std::int32_t part = 0; part < all; ++part)
    for (std::int32_t group = 0; group < all && group_of[static_cast<std::size_t>(part)] < 0; ++group)
      join(part, group);
  return group_of;
}

}  // namespace

decided_moves decide_by_partition(const snapshot& of, const strategy_options& options) {
  placement placed(of);
  load_bins& bins = placed.bins();
  const pe_groups groups = groups_of(of);
  std::vector<std::int32_t> group_of_pe(of.pes.size());
  std::vector<double> shares;
  double speed = 0.0;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    double of_group = 0.0;
    for (const std::int32_t pe : groups[group]) {
      group_of_pe[static_cast<std::size_t>(pe)] = static_cast<std::int32_t>(group);
      of_group += bins.speed_of(pe);
    }
    shares.push_back(of_group);
    speed += of_group;
  }
  for (double& each : shares) each /= speed;
  std::vector<std::int32_t> present, present_pe;
  for (const object_load& each : of.objects) {
    present_pe.push_back(each.pe);
    present.push_back(group_of_pe[static_cast<std::size_t>(each.pe)]);
  }
  const traffic_graph graph(of);
  const std::vector<std::int32_t> parts = metis_parts(graph, placed.works(), shares, options.tolerance, options.seed);
  const std::vector<std::int32_t> numbers = match_parts(shares, parts, present, placed.works());
  std::vector<std::vector<std::uint32_t>> members(groups.size());
  for (std::uint32_t object = 0; object < of.objects.size(); ++object) {
    if (!of.objects[object].is_migratable) continue;
    bins.put(object, load_bins::no_bin);
    members[static_cast<std::size_t>(numbers[static_cast<std::size_t>(parts[object])])].push_back(object);
  }
  for (std::size_t group = 0; group < groups.size(); ++group)
    fill_greedily(bins, std::move(members[group]), groups[group], present_pe);
  return placed.moves();
}

}  // namespace tri::balancing
