// Cities with distances for the travelling salesman, and the length of the shortest tour by dynamic programming, to
// check the search. Plain values, any thread.
#pragma once

#include <array>
#include <cstdint>

namespace searches {

inline constexpr int most_cities = 20;

struct cities {
  int count = 0;
  std::array<std::array<std::int32_t, most_cities>, most_cities> distance{};
  std::array<std::int32_t, most_cities> shortest_way_out{};  // of each city
};

/// Cities at random places of a square of 1,000 x 1,000; distances are rounded.
cities random_cities(int count, std::uint64_t seed);

/// Held and Karp (1962): count^2 2^count steps.
std::int32_t shortest_tour_by_table(const cities& map);

}  // namespace searches
