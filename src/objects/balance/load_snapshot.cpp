#include "objects/balance/load_snapshot.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <utility>

#include "trireme/index.hpp"

namespace tri::objects {
namespace {

struct hash_of_name {
  std::size_t operator()(const element_name& name) const {
    return static_cast<std::size_t>(finalize_hash(name.number + (std::uint64_t{name.collection} << 40)));
  }
};

// All that can migrate have as many: that number; otherwise 0.
std::uint32_t common_dimensions(const std::vector<load_part>& parts) {
  std::size_t common = 0;
  for (const load_part& part : parts)
    for (const load_part::element& each : part.elements) {
      if (!each.is_migratable) continue;
      if (each.coordinates.empty() || (common != 0 && each.coordinates.size() != common)) return 0;
      common = each.coordinates.size();
    }
  return static_cast<std::uint32_t>(common);
}

// Those of all parts; none while a PE does not know them yet.
std::vector<std::string> common_counters(const std::vector<load_part>& parts) {
  for (const load_part& part : parts)
    if (part.counters != parts.front().counters) return {};
  return parts.empty() ? std::vector<std::string>() : parts.front().counters;
}

void add_traffic(const std::vector<load_part>& parts, named_snapshot& made) {
  std::unordered_map<element_name, std::uint32_t, hash_of_name> index;
  index.reserve(made.names.size());
  for (std::uint32_t object = 0; object < made.names.size(); ++object) index.emplace(made.names[object], object);
  for (const load_part& part : parts)
    for (const load_part::pair& pair : part.traffic) {
      const auto from = index.find(pair.from), to = index.find(pair.to);
      if (from == index.end() || to == index.end()) continue;
      made.loads.traffic.push_back({from->second, to->second, pair.messages, pair.bytes});
    }
}

}  // namespace

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<double> speeds_of(const std::vector<double>& rates, double usual, double noise) {
  std::vector<double> speeds;
  speeds.reserve(rates.size());
  for (const double rate : rates) {
    const double speed = usual > 0.0 ? rate / usual : 1.0;
    speeds.push_back(
        std::abs(speed - 1.0) <= noise ? 1.0 : std::clamp(speed, balancing::lowest_speed, balancing::highest_speed));
  }
  return speeds;
}

named_snapshot snapshot_of(std::vector<load_part> parts, const std::vector<double>& given_speeds, double usual_rate) {
  std::sort(parts.begin(), parts.end(), [](const load_part& a, const load_part& b) { return a.pe < b.pe; });
  std::vector<double> rates;
  for (const load_part& part : parts) rates.push_back(part.rate);
  const std::vector<double> speeds =
      given_speeds.empty() ? speeds_of(rates, usual_rate > 0.0 ? usual_rate : median_of(rates)) : given_speeds;
  named_snapshot made;
  balancing::snapshot& loads = made.loads;
  loads.dimensions = common_dimensions(parts);
  loads.counters = common_counters(parts);
  bool has_user_data = false;
  for (load_part& part : parts) {
    const auto pe = static_cast<std::int32_t>(loads.pes.size());
    std::sort(part.elements.begin(), part.elements.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    const double speed = speeds[static_cast<std::size_t>(pe)];
    loads.pes.push_back({speed, part.background_ns, part.host, part.numa_node, part.cache});
    for (const load_part::element& each : part.elements) {
      const auto number = static_cast<std::uint64_t>(made.names.size());
      made.names.push_back(each.name);
      const std::int64_t time_ns =
          each.is_work ? static_cast<std::int64_t>(static_cast<double>(each.load_ns) / speed) : each.load_ns;
      loads.objects.push_back({number, time_ns, each.bytes, pe, each.is_migratable});
      for (std::uint32_t d = 0; d < loads.dimensions; ++d)
        loads.coordinates.push_back(d < each.coordinates.size() ? each.coordinates[d] : 0.0);
      for (std::size_t i = 0; i < loads.counters.size(); ++i)
        loads.counter_values.push_back(i < each.counts.size() ? static_cast<double>(each.counts[i]) : 0.0);
      loads.user_data.insert(loads.user_data.end(), each.user_data.begin(), each.user_data.end());
      loads.user_data_ends.push_back(loads.user_data.size());
      has_user_data = has_user_data || !each.user_data.empty();
    }
  }
  if (!has_user_data) loads.user_data_ends.clear();
  add_traffic(parts, made);
  return made;
}

}  // namespace tri::objects
