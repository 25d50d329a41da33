// The shortest tour through all cities, by branch and bound: an object for every beginning of a tour that may still
// become the shortest. Where it begins is left to seed balancing; the most promising beginnings come first (priority by
// bound), and a tour that is shorter than all before is announced to all PEs by a group.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <utility>

#include "searches/arguments.hpp"
#include "searches/cities.hpp"
#include "trireme/objects.hpp"

namespace {

using searches::cities;

constexpr int cities_left_to_methods = 7;  // of tours with so few cities to go, the rest is searched in one method

tri::read_only<cities> the_map;

/// A beginning of a tour; plain data.
struct beginning {
  std::uint32_t visited = 1;  // cities, by bit
  std::int32_t last = 0;
  std::int32_t length = 0;
  std::int32_t bound = 0;  // no tour with this beginning is shorter

  beginning through(const cities& map, int next) const {
    beginning longer = *this;
    longer.visited |= std::uint32_t{1} << next;
    longer.length += map.distance[static_cast<std::size_t>(last)][static_cast<std::size_t>(next)];
    longer.last = next;
    // The way out of each city that is still to be left is at least its shortest one.
    longer.bound = bound + map.distance[static_cast<std::size_t>(last)][static_cast<std::size_t>(next)] -
                   map.shortest_way_out[static_cast<std::size_t>(last)];
    return longer;
  }
  bool is_complete(const cities& map) const { return visited == (std::uint32_t{1} << map.count) - 1; }
  std::int32_t length_of_tour(const cities& map) const {
    return length + map.distance[static_cast<std::size_t>(last)][0];
  }
};

/// What a PE knows of the shortest tour, and what it has done.
struct record : tri::group_member<record> {
  std::int32_t shortest = std::numeric_limits<std::int32_t>::max();
  std::int64_t objects = 0;
  std::int64_t pruned = 0;

  void improve(std::int32_t length) { shortest = std::min(shortest, length); }
  void found(std::int32_t length) {
    if (length >= shortest) return;
    shortest = length;
    this_array().broadcast<&record::improve>(length);
  }
  std::int32_t get_shortest() { return shortest; }
  std::int64_t get_objects() { return objects; }
  std::int64_t get_pruned() { return pruned; }
};

void search_rest(const cities& map, record& known, const beginning& at) {
  if (at.is_complete(map)) return known.found(at.length_of_tour(map));
  for (int next = 1; next < map.count; ++next) {
    if ((at.visited >> next & 1) != 0) continue;
    const beginning longer = at.through(map, next);
    if (longer.bound < known.shortest)
      search_rest(map, known, longer);
    else
      ++known.pruned;
  }
}

struct branch : tri::object<branch> {
  branch(tri::group<record> records, bool in_order, beginning at) {
    record& known = records.local();
    const cities& map = *the_map;
    ++known.objects;
    if (at.bound >= known.shortest) {  // a shorter tour was found since this one was made
      ++known.pruned;
    } else if (map.count - __builtin_popcount(at.visited) <= cities_left_to_methods) {
      search_rest(map, known, at);
    } else {
      for (int next = 1; next < map.count; ++next) {
        if ((at.visited >> next & 1) != 0) continue;
        const beginning longer = at.through(map, next);
        if (longer.bound >= known.shortest) {
          ++known.pruned;
          continue;
        }
        tri::seed_options options;
        if (in_order) options.urgency = tri::priority(longer.bound);
        tri::make_object<branch>(options, records, in_order, longer);
      }
    }
    erase_this();
  }
};

void search(int count, int seed, bool in_order) {
  const cities map = searches::random_cities(count, static_cast<std::uint64_t>(seed));
  the_map.publish(map).get();
  const auto records = tri::make_group<record>();
  beginning start;
  for (int city = 0; city < count; ++city) start.bound += map.shortest_way_out[static_cast<std::size_t>(city)];
  const auto before = std::chrono::steady_clock::now();
  tri::make_object<branch>(records, in_order, start);
  tri::quiescence().get();
  const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - before).count();
  const std::int32_t found = records.reduce<&record::get_shortest>(tri::minimum).get();
  const std::int32_t expected = searches::shortest_tour_by_table(map);
  if (found != expected)
    throw std::runtime_error(fmt::format("found a tour of {}, but the shortest one has {}", found, expected));
  fmt::print("{} cities: the shortest tour has {}, verified; {} objects, {} branches cut, {:.1f} ms\n", count, found,
             records.reduce<&record::get_objects>(tri::sum).get(), records.reduce<&record::get_pruned>(tri::sum).get(),
             ms);
}

}  // namespace

// Usage: tsp [cities [seed [1: the most promising first; 0: the newest first]]]
int main(int argc, char** argv) {
  return tri::run(argc, argv, [](int count, char** arguments) {
    try {
      const int of_map = searches::number_of(count, arguments, 1, "cities", 14, 3, searches::most_cities);
      const int seed = searches::number_of(count, arguments, 2, "seed", 1, 0, 1'000'000);
      const int in_order = searches::number_of(count, arguments, 3, "order", 1, 0, 1);
      search(of_map, seed, in_order != 0);
      return 0;
    } catch (const std::exception& error) {
      fmt::print(stderr, "tsp: {}\n", error.what());
      return 1;
    }
  });
}
