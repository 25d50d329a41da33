#include "objects/balance/load_snapshot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace tri::objects {
namespace {

// All that can migrate have as many: that number; otherwise 0.
std::uint32_t common_dimensions(const std::vector<load_part>& parts) {
  std::uint32_t common = 0;
  for (const load_part& part : parts)
    for (const load_part::element& each : part.elements) {
      if (each.is_migratable == 0) continue;
      if (each.dimensions == 0 || (common != 0 && each.dimensions != common)) return 0;
      common = each.dimensions;
    }
  return common;
}

// Those of all parts; none while a PE does not know them yet.
std::vector<std::string> common_counters(const std::vector<load_part>& parts) {
  for (const load_part& part : parts)
    if (part.counters != parts.front().counters) return {};
  return parts.empty() ? std::vector<std::string>() : parts.front().counters;
}

// What a PE of this program would not send.
void check(const load_part& part) {
  std::size_t user_data = 0;
  for (const load_part::element& each : part.elements) {
    if (each.dimensions > each.position.size())
      throw std::logic_error(fmt::format("loads of PE {}: an element has {} coordinates", part.pe, each.dimensions));
    user_data += each.user_data_bytes;
  }
  if (user_data != part.user_data.size() || part.counts.size() != part.elements.size() * part.counters.size())
    throw std::logic_error(fmt::format("loads of PE {}: {} bytes of user data and {} counts do not fit its {} elements",
                                       part.pe, part.user_data.size(), part.counts.size(), part.elements.size()));
  const auto is_before = [](const auto& a, const auto& b) { return a.name < b.name; };
  if (!std::is_sorted(part.elements.begin(), part.elements.end(), is_before))
    throw std::logic_error(fmt::format("loads of PE {}: the elements are not sorted by name", part.pe));
}

/// The objects of a snapshot by their names: a hash table without chains, because there are many objects.
class object_index {
 public:
  explicit object_index(const std::vector<element_name>& names)
      : names_(names), places_(std::bit_ceil(2 * names.size() + 1), none) {
    for (std::uint32_t object = 0; object < names.size(); ++object) places_[place_of(names[object])] = object;
  }
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  std::uint32_t find(const element_name& name) const { return places_[place_of(name)]; }

 private:
  // Where it is, or would be.
  std::size_t place_of(const element_name& name) const {
    auto at = static_cast<std::size_t>(hash_of(name));
    while (true) {
      at &= places_.size() - 1;
      if (places_[at] == none || names_[places_[at]] == name) return at;
      ++at;
    }
  }
  const std::vector<element_name>& names_;
  std::vector<std::uint32_t> places_;
};

void add_traffic(const std::vector<load_part>& parts, named_snapshot& made) {
  std::size_t pairs = 0;
  for (const load_part& part : parts) pairs += part.traffic.size();
  if (pairs == 0) return;
  made.loads.traffic.reserve(pairs);
  const object_index objects(made.names);
  for (const load_part& part : parts)
    for (const load_part::pair& pair : part.traffic) {
      const std::uint32_t from = objects.find(pair.from), to = objects.find(pair.to);
      if (from != object_index::none && to != object_index::none)
        made.loads.traffic.push_back({from, to, pair.messages, pair.bytes});
    }
}

void add_objects(const load_part& part, std::int32_t pe, double speed, named_snapshot& made) {
  balancing::snapshot& loads = made.loads;
  auto counts = part.counts.begin();
  for (const load_part::element& each : part.elements) {
    const auto number = static_cast<std::uint64_t>(made.names.size());
    made.names.push_back(each.name);
    const std::int64_t time_ns =
        each.is_work != 0 ? static_cast<std::int64_t>(static_cast<double>(each.load_ns) / speed) : each.load_ns;
    loads.objects.push_back({number, time_ns, each.bytes, pe, each.is_migratable != 0});
    for (std::uint32_t d = 0; d < loads.dimensions; ++d)
      loads.coordinates.push_back(d < each.dimensions ? each.position[d] : 0.0);
    for (std::size_t i = 0; i < loads.counters.size(); ++i)
      loads.counter_values.push_back(static_cast<double>(*counts++));
    const std::size_t before = loads.user_data_ends.empty() ? 0 : loads.user_data_ends.back();
    loads.user_data_ends.push_back(before + each.user_data_bytes);
  }
  loads.user_data.insert(loads.user_data.end(), part.user_data.begin(), part.user_data.end());
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
  std::size_t elements = 0;
  for (const load_part& part : parts) {
    check(part);
    elements += part.elements.size();
  }
  made.names.reserve(elements);
  loads.objects.reserve(elements);
  loads.coordinates.reserve(elements * loads.dimensions);
  loads.user_data_ends.reserve(elements);
  for (const load_part& part : parts) {
    const auto pe = static_cast<std::int32_t>(loads.pes.size());
    const double speed = speeds[static_cast<std::size_t>(pe)];
    loads.pes.push_back({speed, part.background_ns, part.host, part.numa_node, part.cache});
    add_objects(part, pe, speed, made);
  }
  if (loads.user_data.empty()) loads.user_data_ends.clear();
  add_traffic(parts, made);
  return made;
}

}  // namespace tri::objects
