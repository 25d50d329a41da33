// Level by level: what is uneven between hosts moves between hosts, and so on down to PEs. So few objects go far.
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "balance/strategies/fill.hpp"
#include "balance/strategies/strategies.hpp"

namespace tri::balancing {
namespace {

enum class level { host, numa_node, pe };

// The PEs of each host, or of each NUMA node, in order of place.
std::vector<std::vector<std::int32_t>> parts_of(const snapshot& of, const std::vector<std::int32_t>& pes, level what) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<std::int32_t>> parts;
  for (const std::int32_t pe : pes) {
    const pe_load& each = of.pes[static_cast<std::size_t>(pe)];
    parts[{each.host, what == level::numa_node ? each.numa_node : 0}].push_back(pe);
  }
  std::vector<std::vector<std::int32_t>> list;
  for (auto& [place, members] : parts) list.push_back(std::move(members));
  return list;
}

using part_list = std::vector<std::vector<std::int32_t>>;

// Parts as bins that hold what their PEs hold.
load_bins coarse_bins(const placement& placed, const part_list& parts) {
  const load_bins& bins = placed.bins();
  std::vector<double> speeds, fixed;
  for (const std::vector<std::int32_t>& part : parts) {
    double speed = 0.0, work = 0.0;
    for (const std::int32_t pe : part) {
      speed += bins.speed_of(pe);
      work += bins.load_of(pe);
      for (const std::uint32_t object : bins.objects_in(pe)) work -= bins.work_of(object);
    }
    speeds.push_back(speed);
    fixed.push_back(work);
  }
  load_bins coarse(std::move(speeds), std::move(fixed), placed.works());
  for (std::size_t part = 0; part < parts.size(); ++part)
    for (const std::int32_t pe : parts[part])
      for (const std::uint32_t object : bins.objects_in(pe)) coarse.put(object, static_cast<std::int32_t>(part));
  return coarse;
}

// Objects change between parts; in a part that is new to them they go to the PE where they end soonest.
void balance_parts(placement& placed, const part_list& parts, double tolerance) {
  load_bins& bins = placed.bins();
  load_bins coarse = coarse_bins(placed, parts);
  std::vector<std::int32_t> all(parts.size());
  std::iota(all.begin(), all.end(), 0);
  refine(coarse, all, tolerance);
  std::vector<std::int32_t> part_of(static_cast<std::size_t>(bins.size()), load_bins::no_bin);
  for (const std::int32_t part : all)
    for (const std::int32_t pe : parts[static_cast<std::size_t>(part)]) part_of[static_cast<std::size_t>(pe)] = part;
  std::vector<std::vector<std::uint32_t>> arrived(parts.size());
  for (const std::int32_t part : all)
    for (const std::uint32_t object : coarse.objects_in(part))
      if (part_of[static_cast<std::size_t>(bins.bin_of(object))] != part)
        arrived[static_cast<std::size_t>(part)].push_back(object);
  for (const std::vector<std::uint32_t>& list : arrived)
    for (const std::uint32_t object : list) bins.put(object, load_bins::no_bin);
  for (std::size_t part = 0; part < parts.size(); ++part)
    fill_greedily(bins, std::move(arrived[part]), parts[part], {});
}

void balance_level(placement& placed, const std::vector<std::int32_t>& pes, level what, double tolerance) {
  if (what == level::pe) {
    refine(placed.bins(), pes, tolerance);
    return;
  }
  const part_list parts = parts_of(placed.of(), pes, what);
  if (parts.size() > 1) balance_parts(placed, parts, tolerance);
  const level below = what == level::host ? level::numa_node : level::pe;
  for (const std::vector<std::int32_t>& part : parts) balance_level(placed, part, below, tolerance);
}

}  // namespace

decided_moves decide_by_topology(const snapshot& of, const strategy_options& options) {
  placement placed(of);
  // Each level gets its share of what is allowed.
  balance_level(placed, pes_by_place(of), level::host, options.tolerance / 3.0);
  return placed.moves();
}

}  // namespace tri::balancing
