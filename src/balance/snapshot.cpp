#include "trireme/detail/balance/snapshot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace tri::balancing {
namespace {

// Sums of works up to this are exact in doubles (loads.hpp relies on it).
constexpr double most_work = 9007199254740992.0;
// Sums of bytes and messages fit 64 bits.
constexpr double most_counted = 4e18;
// Differences of coordinates and sums of counters are finite.
constexpr double most_value = 1e100;

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument("snapshot: " + what); }

void check_pes(const snapshot& of) {
  if (of.pes.empty()) refuse("it has no PEs; at least one is needed");
  for (std::size_t pe = 0; pe < of.pes.size(); ++pe) {
    const pe_load& each = of.pes[pe];
    if (!(each.speed >= lowest_speed && each.speed <= highest_speed))
      refuse(fmt::format("the speed of PE {} is {}; it must be from {} to {}", pe, each.speed, lowest_speed,
                         highest_speed));
    if (each.background_ns < 0)
      refuse(fmt::format("the background load of PE {} is {} ns; it must not be negative", pe, each.background_ns));
    if (each.host < 0 || each.numa_node < 0 || each.cache < 0)
      refuse(fmt::format("PE {} is on host {}, NUMA node {}, cache {}; none of them may be negative", pe, each.host,
                         each.numa_node, each.cache));
  }
}

void check_objects(const snapshot& of) {
  double work = 0.0, bytes = 0.0;
  std::vector<std::uint64_t> ids;
  ids.reserve(of.objects.size());
  for (std::size_t object = 0; object < of.objects.size(); ++object) {
    const object_load& each = of.objects[object];
    if (each.pe < 0 || static_cast<std::size_t>(each.pe) >= of.pes.size())
      refuse(fmt::format("object {} (id {}) is on PE {}; there are PEs 0 to {}", object, each.id, each.pe,
                         of.pes.size() - 1));
    if (each.load_ns < 0 || each.bytes < 0)
      refuse(fmt::format("object {} (id {}) has a load of {} ns and {} bytes; neither may be negative", object, each.id,
                         each.load_ns, each.bytes));
    work += static_cast<double>(each.load_ns) * of.pes[static_cast<std::size_t>(each.pe)].speed;
    bytes += static_cast<double>(each.bytes);
    ids.push_back(each.id);
  }
  if (bytes > most_counted)
    refuse(fmt::format("all objects together have {:.3g} bytes; {} are too many", bytes, most_counted));
  for (const pe_load& each : of.pes) work += static_cast<double>(each.background_ns) * each.speed;
  if (!(work < most_work)) refuse("all loads together are more than 2^53 ns, 104 days; give times of shorter spans");
  std::sort(ids.begin(), ids.end());
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice != ids.end()) refuse(fmt::format("two objects have the id {}; ids must differ", *twice));
}

void check_lists(const snapshot& of) {
  const std::size_t objects = of.objects.size();
  if (of.dimensions > most_dimensions)
    refuse(fmt::format("coordinates have {} dimensions; up to {} are known", of.dimensions, most_dimensions));
  if (of.coordinates.size() != objects * of.dimensions)
    refuse(fmt::format("there are {} coordinates; {} objects with {} dimensions need {}", of.coordinates.size(),
                       objects, of.dimensions, objects * of.dimensions));
  for (std::size_t i = 0; i < of.coordinates.size(); ++i)
    if (!(std::abs(of.coordinates[i]) <= most_value))
      refuse(fmt::format("a coordinate of object {} is {}; it must be from -1e100 to 1e100", i / of.dimensions,
                         of.coordinates[i]));
  if (of.counter_values.size() != objects * of.counters.size())
    refuse(fmt::format("there are {} values of counters; {} objects with {} counters need {}", of.counter_values.size(),
                       objects, of.counters.size(), objects * of.counters.size()));
  for (std::size_t i = 0; i < of.counter_values.size(); ++i)
    if (!(of.counter_values[i] >= 0.0 && of.counter_values[i] <= most_value))
      refuse(fmt::format("counter '{}' of object {} is {}; it must be from 0 to 1e100",
                         of.counters[i % of.counters.size()], i / of.counters.size(), of.counter_values[i]));
  if (of.user_data_ends.empty() ? !of.user_data.empty() : of.user_data_ends.size() != objects)
    refuse(fmt::format("there are {} ends of user data for {} objects; each object needs one", of.user_data_ends.size(),
                       objects));
  if (!std::is_sorted(of.user_data_ends.begin(), of.user_data_ends.end()) ||
      (!of.user_data_ends.empty() && of.user_data_ends.back() != of.user_data.size()))
    refuse(fmt::format("the ends of user data must grow, up to its {} bytes", of.user_data.size()));
}

void check_traffic(const snapshot& of) {
  double messages = 0.0, bytes = 0.0;
  for (std::size_t pair = 0; pair < of.traffic.size(); ++pair) {
    const pair_traffic& each = of.traffic[pair];
    if (each.from >= of.objects.size() || each.to >= of.objects.size())
      refuse(fmt::format("traffic {} is from object {} to {}; there are {} objects", pair, each.from, each.to,
                         of.objects.size()));
    if (each.messages < 0 || each.bytes < 0)
      refuse(fmt::format("traffic {} is {} messages and {} bytes; neither may be negative", pair, each.messages,
                         each.bytes));
    messages += static_cast<double>(each.messages);
    bytes += static_cast<double>(each.bytes);
  }
  if (messages > most_counted || bytes > most_counted)
    refuse(fmt::format("all traffic together is {:.3g} messages and {:.3g} bytes; {} of either are too many", messages,
                       bytes, most_counted));
}

}  // namespace

std::span<const double> snapshot::coordinates_of(std::uint32_t object) const {
  return std::span(coordinates).subspan(std::size_t{object} * dimensions, dimensions);
}

std::span<const std::byte> snapshot::user_data_of(std::uint32_t object) const {
  if (user_data_ends.empty()) return {};
  const std::uint64_t begin = object == 0 ? 0 : user_data_ends[object - 1];
  return std::span(user_data).subspan(begin, user_data_ends[object] - begin);
}

void check(const snapshot& of) {
  check_pes(of);
  if (of.objects.size() > UINT32_MAX) refuse("it has more than 2^32 - 1 objects");
  check_objects(of);
  check_lists(of);
  check_traffic(of);
}

void check_moves(const snapshot& of, std::span<const move> moves, std::string_view who) {
  std::vector<bool> moved(of.objects.size());
  const auto refuse_move = [&](const move& each, const std::string& why) {
    throw std::invalid_argument(
        fmt::format("{} moves object {} from PE {} to PE {}: {}", who, each.object, each.from, each.to, why));
  };
  for (const move& each : moves) {
    if (each.object >= of.objects.size()) refuse_move(each, fmt::format("there are {} objects", of.objects.size()));
    const object_load& object = of.objects[each.object];
    if (each.to < 0 || static_cast<std::size_t>(each.to) >= of.pes.size())
      refuse_move(each, fmt::format("there are PEs 0 to {}", of.pes.size() - 1));
    if (each.from != object.pe) refuse_move(each, fmt::format("it is on PE {}", object.pe));
    if (each.to == each.from) refuse_move(each, "it is there already");
    if (!object.is_migratable) refuse_move(each, "it cannot migrate");
    if (moved[each.object]) refuse_move(each, "it was moved before");
    moved[each.object] = true;
  }
}

}  // namespace tri::balancing
