#include "config/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "config/configuration.hpp"
#include "os/cpu/cpu_list.hpp"
#include "os/cpu/topology.hpp"

namespace tri::config {
namespace {

// All PUs, the first of every core before the second of any.
std::vector<int> cores_first(const os::topology& machine) {
  std::vector<int> order;
  std::vector<const os::pu*> rest;
  for (const os::pu& each : machine.pus()) rest.push_back(&each);
  while (!rest.empty()) {
    std::vector<const os::pu*> siblings;
    std::set<int> taken;
    for (const os::pu* each : rest) {
      if (taken.insert(each->core).second) {
        order.push_back(each->number);
      } else {
        siblings.push_back(each);
      }
    }
    rest.swap(siblings);
  }
  return order;
}

std::vector<int> listed_cpus(const configuration& values, const os::topology& machine, std::size_t pes) {
  std::vector<int> list;
  try {
    list = os::parse_cpu_list(values.affinity);
  } catch (const std::invalid_argument& problem) {
    throw configuration_error(fmt::format("affinity: {}; or write auto or none", problem.what()));
  }
  if (list.size() < pes) {
    throw configuration_error(
        fmt::format("affinity '{}' has CPUs for {} PEs, but the host has {} PEs; list {} CPUs, or use auto",
                    values.affinity, list.size(), pes, pes));
  }
  list.resize(pes);
  for (int cpu : list) {
    if (machine.has(cpu)) continue;
    std::vector<int> usable;
    for (const os::pu& each : machine.pus()) usable.push_back(each.number);
    std::sort(usable.begin(), usable.end());
    throw configuration_error(fmt::format("affinity '{}' has CPU {}, which this process may not use; it may use {}",
                                          values.affinity, cpu, os::format_cpu_list(usable)));
  }
  return list;
}

}  // namespace

int resolve_pes(const configuration& values, int processes_on_machine) {
  if (values.pes > 0) return values.pes;
  return std::max(1, os::topology::shared(values.topology).useful_cores() / processes_on_machine);
}

placement assign_cpus(const configuration& values, const os::topology& machine, int process, int processes,
                      int pes_per_process) {
  const auto pes = static_cast<std::size_t>(processes) * static_cast<std::size_t>(pes_per_process);
  placement placed;
  const bool listed = values.affinity != "auto" && values.affinity != "none";
  if (listed) {
    placed.all_cpus = listed_cpus(values, machine, pes);
  } else {
    const std::vector<int> order = cores_first(machine);
    for (std::size_t i = 0; i < pes; ++i) placed.all_cpus.push_back(order[i % order.size()]);
  }
  const std::set<int> distinct(placed.all_cpus.begin(), placed.all_cpus.end());
  placed.oversubscribed = distinct.size() < pes || pes > static_cast<std::size_t>(machine.useful_pus());
  placed.pinned = machine.is_this_machine() && (listed || (values.affinity == "auto" && distinct.size() == pes));
  const auto first = placed.all_cpus.begin() + static_cast<std::ptrdiff_t>(process) * pes_per_process;
  placed.cpus.assign(first, first + pes_per_process);
  return placed;
}

placement assign_cpus(const configuration& values, int process, int processes, int pes_per_process) {
  return assign_cpus(values, os::topology::shared(values.topology), process, processes, pes_per_process);
}

std::vector<int> victim_order(const os::topology& machine, std::span<const int> cpus, int self) {
  const int pes = static_cast<int>(cpus.size());
  std::vector<int> order;
  for (int step = 1; step < pes; ++step) order.push_back((self + step) % pes);
  const int own = cpus[static_cast<std::size_t>(self)];
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return machine.distance(own, cpus[static_cast<std::size_t>(a)]) <
           machine.distance(own, cpus[static_cast<std::size_t>(b)]);
  });
  return order;
}

}  // namespace tri::config
