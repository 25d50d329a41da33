#include "balance/made_snapshot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <random>
#include <stdexcept>

#include "config/suggestion.hpp"

namespace tri::balancing {
namespace {

struct kind_name {
  const char* name;
  snapshot_wish::kind what;
};
constexpr kind_name kinds[] = {{"random", snapshot_wish::kind::random},
                               {"patches", snapshot_wish::kind::patches},
                               {"droplet", snapshot_wish::kind::droplet}};

// One row for each value of a wish.
struct value_row {
  const char* name;
  double least, most;
  bool is_whole;
  void (*set)(snapshot_wish&, double);
};
constexpr double most_objects = 50e6;
const value_row rows[] = {
    {"objects", 0, most_objects, true, [](snapshot_wish& w, double v) { w.objects = static_cast<std::int64_t>(v); }},
    {"pes", 1, 1 << 20, true, [](snapshot_wish& w, double v) { w.pes = static_cast<std::int32_t>(v); }},
    {"hosts", 1, 1 << 20, true, [](snapshot_wish& w, double v) { w.hosts = static_cast<std::int32_t>(v); }},
    {"numa", 1, 1024, true, [](snapshot_wish& w, double v) { w.numa_nodes = static_cast<std::int32_t>(v); }},
    {"immovable", 0, 1, false, [](snapshot_wish& w, double v) { w.immovable = v; }},
    {"speeds", 0, 0.9, false, [](snapshot_wish& w, double v) { w.uneven_speeds = v; }},
    {"background", 0, 100, false, [](snapshot_wish& w, double v) { w.background = v; }},
    {"seed", 0, 9e15, true, [](snapshot_wish& w, double v) { w.seed = static_cast<std::uint64_t>(v); }},
};

void set_value(snapshot_wish& wish, std::string_view part) {
  const std::size_t equals = part.find('=');
  const std::string_view name = part.substr(0, equals);
  const auto row =
      std::find_if(std::begin(rows), std::end(rows), [&](const value_row& each) { return each.name == name; });
  std::vector<std::string> names;
  for (const value_row& each : rows) names.emplace_back(each.name);
  if (row == std::end(rows))
    throw std::invalid_argument(fmt::format("a made snapshot has no '{}'{}; it has {}", name,
                                            config::did_you_mean(name, names), names_of_wishes()));
  const std::string_view text = equals == std::string_view::npos ? "" : part.substr(equals + 1);
  double value = 0.0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size() || !(value >= row->least && value <= row->most) ||
      (row->is_whole && value != std::floor(value)))
    throw std::invalid_argument(fmt::format("'{}': {} must be a {}number from {} to {}", part, name,
                                            row->is_whole ? "whole " : "", row->least, row->most));
  row->set(wish, value);
}

// Doubles from 0 to 1 that are the same with every standard library, which its distributions are not.
class draws {
 public:
  explicit draws(std::uint64_t seed) : random_(seed) {}
  double part() { return static_cast<double>(random_() >> 11U) * 0x1p-53; }
  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(end));
  }

 private:
  std::mt19937_64 random_;
};

// The smallest cube with so many cells.
std::int64_t side_of(std::int64_t cells) {
  std::int64_t side = 1;
  while (side * side * side < cells) ++side;
  return side;
}

// Relative to a usual object; the place is in the unit cube.
double weight_at(snapshot_wish::kind what, const std::array<double, 3>& place, draws& random) {
  switch (what) {
    case snapshot_wish::kind::random:
      return std::pow(9.0, random.part());
    case snapshot_wish::kind::patches:
      return place[0] < 0.5 && place[1] < 0.5 ? 4.0 : 1.0;
    case snapshot_wish::kind::droplet: {
      double square = 0.0;
      for (const double x : place) square += (x - 0.5) * (x - 0.5);
      return square < 0.09 ? 1.0 : 0.02;
    }
  }
  return 1.0;
}

void add_pes(snapshot& made, const snapshot_wish& wish, draws& random) {
  for (std::int32_t pe = 0; pe < wish.pes; ++pe) {
    pe_load one;
    one.host = static_cast<std::int32_t>(std::int64_t{pe} * wish.hosts / wish.pes);
    const auto first = static_cast<std::int32_t>((std::int64_t{one.host} * wish.pes + wish.hosts - 1) / wish.hosts);
    const auto end = static_cast<std::int32_t>((std::int64_t{one.host + 1} * wish.pes + wish.hosts - 1) / wish.hosts);
    one.numa_node = static_cast<std::int32_t>(std::int64_t{pe - first} * wish.numa_nodes / std::max(end - first, 1));
    one.cache = one.numa_node;
    if (wish.uneven_speeds > 0.0) one.speed = 1.0 + wish.uneven_speeds * (2.0 * random.part() - 1.0);
    made.pes.push_back(one);
  }
}

}  // namespace

std::string names_of_wishes() {
  std::string names;
  for (const value_row& each : rows) names += fmt::format("{}{}", names.empty() ? "" : ", ", each.name);
  return names;
}

snapshot_wish wish_from(std::string_view text) {
  snapshot_wish wish;
  std::vector<std::string> names;
  for (const kind_name& each : kinds) names.emplace_back(each.name);
  const std::string_view kind = text.substr(0, text.find(','));
  const auto found =
      std::find_if(std::begin(kinds), std::end(kinds), [&](const kind_name& each) { return each.name == kind; });
  if (found == std::end(kinds))
    throw std::invalid_argument(
        fmt::format("a made snapshot begins with its kind, random, patches or droplet; '{}' is "
                    "none{}",
                    kind, config::did_you_mean(kind, names)));
  wish.what = found->what;
  for (std::size_t at = kind.size(); at < text.size();) {
    const std::size_t comma = std::min(text.find(',', at + 1), text.size());
    set_value(wish, text.substr(at + 1, comma - at - 1));
    at = comma;
  }
  if (wish.hosts > wish.pes)
    throw std::invalid_argument(fmt::format("hosts is {} and pes {}; each host needs a PE", wish.hosts, wish.pes));
  return wish;
}

snapshot make_snapshot(const snapshot_wish& wish) {
  constexpr double usual_load_ns = 100'000.0;
  draws random(wish.seed);
  snapshot made;
  add_pes(made, wish, random);
  made.dimensions = 3;
  made.counters = {"cache_misses"};
  const std::int64_t side = side_of(wish.objects);
  double sum = 0.0;
  for (std::int64_t i = 0; i < wish.objects; ++i) {
    const std::array<std::int64_t, 3> cell{i / (side * side), i / side % side, i % side};
    std::array<double, 3> place{};
    for (std::size_t d = 0; d < 3; ++d) place[d] = (static_cast<double>(cell[d]) + 0.5) / static_cast<double>(side);
    object_load one;
    one.id = static_cast<std::uint64_t>(i);
    const double load = usual_load_ns * weight_at(wish.what, place, random);
    one.pe = static_cast<std::int32_t>(wish.what == snapshot_wish::kind::random ? random.below(wish.pes)
                                                                                : i * wish.pes / wish.objects);
    one.load_ns = std::llround(load / made.pes[static_cast<std::size_t>(one.pe)].speed);
    one.bytes = 1024 + random.below(65536);
    one.is_migratable = random.part() >= wish.immovable;
    sum += load;
    made.objects.push_back(one);
    made.coordinates.insert(made.coordinates.end(), place.begin(), place.end());
    made.counter_values.push_back(std::floor(load * random.part()));
    // Each pair once: to the neighbours with smaller coordinates.
    for (std::size_t d = 0; d < 3; ++d) {
      const std::int64_t stride = d == 0 ? side * side : d == 1 ? side : 1;
      if (cell[d] > 0)
        made.traffic.push_back({static_cast<std::uint32_t>(i - stride), static_cast<std::uint32_t>(i),
                                1 + random.below(4), 8 * (1 + random.below(4096))});
    }
  }
  if (wish.background > 0.0)
    for (pe_load& each : made.pes)
      each.background_ns = std::llround(wish.background * random.part() * sum / static_cast<double>(wish.pes));
  return made;
}

}  // namespace tri::balancing
