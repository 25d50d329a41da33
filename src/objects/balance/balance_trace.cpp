#include "objects/balance/balance_trace.hpp"

#include <cstddef>
#include <map>

namespace tri::objects {

std::vector<pe_expectation> expected_loads(const named_snapshot& taken,
                                           const std::vector<balancer::actions::orders_of_pe>& orders) {
  std::map<element_name, std::int32_t> destinations;
  for (const auto& each : orders)
    for (const move_order& order : each.orders) destinations[order.name] = order.to;
  std::vector<pe_expectation> loads;
  for (const balancing::pe_load& each : taken.loads.pes) loads.push_back({each.background_ns, each.background_ns});
  for (std::size_t i = 0; i < taken.loads.objects.size(); ++i) {
    const balancing::object_load& object = taken.loads.objects[i];
    const auto moved = destinations.find(taken.names[i]);
    loads[static_cast<std::size_t>(object.pe)].before_ns += object.load_ns;
    loads[static_cast<std::size_t>(moved == destinations.end() ? object.pe : moved->second)].after_ns += object.load_ns;
  }
  return loads;
}

void trace_balancing(trace::recorder& row, std::uint32_t step, const named_snapshot& taken,
                     const std::vector<balancer::actions::orders_of_pe>& orders) {
  const std::vector<pe_expectation> loads = expected_loads(taken, orders);
  for (std::size_t pe = 0; pe < loads.size(); ++pe)
    row.balanced(step, static_cast<std::uint32_t>(pe), static_cast<std::uint64_t>(loads[pe].before_ns),
                 static_cast<std::uint64_t>(loads[pe].after_ns));
}

}  // namespace tri::objects
