// Snapshots for tests: written by hand in a line, or drawn.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "trireme/detail/balance/snapshot.hpp"

namespace tri::balancing {

/// One host; loads of the objects of each PE, in order.
inline snapshot one_host(const std::vector<std::vector<std::int64_t>>& loads) {
  snapshot made;
  for (std::size_t pe = 0; pe < loads.size(); ++pe) {
    made.pes.emplace_back();
    for (const std::int64_t load : loads[pe])
      made.objects.push_back(
          {.id = made.objects.size(), .load_ns = load, .bytes = 100, .pe = static_cast<std::int32_t>(pe)});
  }
  return made;
}

/// Everything that snapshots may have: odd speeds, background, immovable objects, empty PEs, traffic to itself, ...
inline snapshot drawn_snapshot(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t end) { return random() % end; };
  snapshot made;
  const std::uint64_t hosts = 1 + below(4), pes = hosts + below(12), objects = below(40);
  const bool is_uneven = below(2) == 0, has_background = below(3) == 0;
  for (std::uint64_t pe = 0; pe < pes; ++pe) {
    pe_load one;
    one.host = static_cast<std::int32_t>(pe < hosts ? pe : below(hosts)) * 3;  // numbers with gaps
    one.numa_node = static_cast<std::int32_t>(below(2));
    one.cache = static_cast<std::int32_t>(below(3));
    if (is_uneven) one.speed = 0.5 + static_cast<double>(below(16)) / 8.0;
    if (has_background) one.background_ns = static_cast<std::int64_t>(below(2000));
    made.pes.push_back(one);
  }
  made.dimensions = 1 + static_cast<std::uint32_t>(below(3));
  made.counters = {"misses"};
  const std::uint64_t largest = below(4) == 0 ? 2 : 1000;
  for (std::uint64_t i = 0; i < objects; ++i) {
    made.objects.push_back({.id = 1000 - i,
                            .load_ns = static_cast<std::int64_t>(below(largest)),
                            .bytes = static_cast<std::int64_t>(below(5000)),
                            .pe = static_cast<std::int32_t>(below(4) == 0 ? 0 : below(pes)),
                            .is_migratable = below(6) != 0});
    for (std::uint32_t d = 0; d < made.dimensions; ++d) made.coordinates.push_back(static_cast<double>(below(9)) - 4.0);
    made.counter_values.push_back(static_cast<double>(below(1000)));
    if (i == 0) continue;
    for (std::uint64_t pair = below(3); pair > 0; --pair)
      made.traffic.push_back({static_cast<std::uint32_t>(below(i + 1)), static_cast<std::uint32_t>(i),
                              static_cast<std::int64_t>(below(20)), static_cast<std::int64_t>(below(4000))});
  }
  return made;
}

}  // namespace tri::balancing
