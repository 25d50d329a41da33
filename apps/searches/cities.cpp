#include "searches/cities.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace searches {

cities random_cities(int count, std::uint64_t seed) {
  cities map;
  map.count = count;
  std::mt19937_64 random(seed);
  std::array<std::array<double, 2>, most_cities> places{};
  for (auto& place : places)
    for (double& coordinate : place) coordinate = static_cast<double>(random() % 1000);
  for (std::size_t a = 0; a < most_cities; ++a)
    for (std::size_t b = 0; b < most_cities; ++b)
      map.distance[a][b] =
          static_cast<std::int32_t>(std::lround(std::hypot(places[a][0] - places[b][0], places[a][1] - places[b][1])));
  for (std::size_t a = 0; a < static_cast<std::size_t>(count); ++a) {
    std::int32_t shortest = std::numeric_limits<std::int32_t>::max();
    for (std::size_t b = 0; b < static_cast<std::size_t>(count); ++b)
      if (a != b) shortest = std::min(shortest, map.distance[a][b]);
    map.shortest_way_out[a] = shortest;
  }
  return map;
}

// best[set][last]: the shortest way from city 0 through all of `set` that ends in `last`; city 0 is in no set.
std::int32_t shortest_tour_by_table(const cities& map) {
  const auto others = static_cast<std::size_t>(map.count - 1);
  constexpr std::int32_t none = std::numeric_limits<std::int32_t>::max() / 2;
  std::vector<std::int32_t> best((std::size_t{1} << others) * others, none);
  for (std::size_t last = 0; last < others; ++last)
    best[(std::size_t{1} << last) * others + last] = map.distance[0][last + 1];
  for (std::size_t set = 1; set < std::size_t{1} << others; ++set)
    for (std::size_t last = 0; last < others; ++last) {
      const std::int32_t so_far = best[set * others + last];
      if ((set >> last & 1) == 0 || so_far >= none) continue;
      for (std::size_t next = 0; next < others; ++next) {
        if ((set >> next & 1) != 0) continue;
        std::int32_t& known = best[(set | std::size_t{1} << next) * others + next];
        known = std::min(known, so_far + map.distance[last + 1][next + 1]);
      }
    }
  std::int32_t shortest = none;
  const std::size_t all = (std::size_t{1} << others) - 1;
  for (std::size_t last = 0; last < others; ++last)
    shortest = std::min(shortest, best[all * others + last] + map.distance[last + 1][0]);
  return shortest;
}

}  // namespace searches
