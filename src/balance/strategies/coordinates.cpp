// Strategies for objects with places in space: what is near stays near. PEs are in order of their place (host, NUMA
// node, cache), so that neighbours in space are on near PEs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>

#include "balance/strategies/hilbert.hpp"
#include "balance/strategies/strategies.hpp"

namespace tri::balancing {
namespace {

// All objects that may move, out of their bins.
std::vector<std::uint32_t> take_out(placement& placed, const char* strategy) {
  if (placed.of().dimensions == 0)
    throw std::invalid_argument(
        fmt::format("strategy '{}' needs coordinates of the objects, and the snapshot has none", strategy));
  std::vector<std::uint32_t> objects;
  for (std::uint32_t object = 0; object < placed.of().objects.size(); ++object) {
    if (!placed.of().objects[object].is_migratable) continue;
    objects.push_back(object);
    placed.bins().put(object, load_bins::no_bin);
  }
  return objects;
}

// Cuts a list of objects into runs for PEs, with the shortest makespan that runs in this order can have.
class run_cutter {
 public:
  run_cutter(placement& placed, std::span<const std::uint32_t> objects, std::span<const std::int32_t> pes)
      : bins_(placed.bins()), objects_(objects), pes_(pes) {}

  void cut() {
    if (objects_.empty()) return;
    // Time for which the runs surely fit: all of the work on one PE.
    double work = 0.0, low = 0.0;
    for (const std::uint32_t object : objects_) work += bins_.work_of(object);
    double high = 0.0;
    for (const std::int32_t pe : pes_) high = std::max(high, bins_.time_with(pe, work));
    for (int step = 0; step < 100 && high - low > 0.5; ++step) {
      const double middle = 0.5 * (low + high);
      (fits(middle) ? high : low) = middle;
    }
    place(high);
  }

 private:
  template <class Put>
  std::size_t walk(double time, const Put& put) const {
    std::size_t next = 0;
    for (const std::int32_t pe : pes_) {
      double sum = 0.0;
      for (; next < objects_.size(); ++next) {
        const double work = bins_.work_of(objects_[next]);
        if (bins_.time_with(pe, sum + work) > time) break;
        sum += work;
        put(objects_[next], pe);
      }
    }
    return next;
  }
  bool fits(double time) const {
    return walk(time, [](std::uint32_t, std::int32_t) {}) == objects_.size();
  }
  void place(double time) {
    std::vector<std::pair<std::uint32_t, std::int32_t>> put;
    walk(time, [&](std::uint32_t object, std::int32_t pe) { put.emplace_back(object, pe); });
    for (const auto& [object, pe] : put) bins_.put(object, pe);
  }

  load_bins& bins_;
  std::span<const std::uint32_t> objects_;
  std::span<const std::int32_t> pes_;
};

using box = std::array<std::pair<double, double>, most_dimensions>;

box bounds_of(const snapshot& of, std::span<const std::uint32_t> objects) {
  box bounds;
  bounds.fill({0.0, 0.0});
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const std::span<const double> at = of.coordinates_of(objects[i]);
    for (std::size_t d = 0; d < at.size(); ++d) {
      bounds[d].first = i == 0 ? at[d] : std::min(bounds[d].first, at[d]);
      bounds[d].second = i == 0 ? at[d] : std::max(bounds[d].second, at[d]);
    }
  }
  return bounds;
}

// Objects and PEs are cut in two at once, until there is one PE.
class bisector {
 public:
  explicit bisector(placement& placed) : of_(placed.of()), bins_(placed.bins()) {}

  void divide(std::span<std::uint32_t> objects, std::span<const std::int32_t> pes) {
    if (objects.empty()) return;
    if (pes.size() == 1) {
      for (const std::uint32_t object : objects) bins_.put(object, pes[0]);
      return;
    }
    const std::span<const std::int32_t> first_pes = pes.first(middle_of(pes));
    const std::span<const std::int32_t> other_pes = pes.subspan(first_pes.size());
    sort_along_longest(objects);
    const std::size_t cut = cut_of(objects, first_pes, pes);
    divide(objects.first(cut), first_pes);
    divide(objects.subspan(cut), other_pes);
  }

 private:
  // Between two hosts, or two NUMA nodes, where there are more than one.
  std::size_t middle_of(std::span<const std::int32_t> pes) const {
    const auto place = [&](std::size_t i, bool with_numa) {
      const pe_load& pe = of_.pes[static_cast<std::size_t>(pes[i])];
      return std::pair(pe.host, with_numa ? pe.numa_node : 0);
    };
    const std::size_t half = pes.size() / 2;
    for (const bool with_numa : {false, true}) {
      for (std::size_t distance = 0; distance < half; ++distance) {
        if (place(half - distance - 1, with_numa) != place(half - distance, with_numa)) return half - distance;
        if (half + distance < pes.size() && place(half + distance - 1, with_numa) != place(half + distance, with_numa))
          return half + distance;
      }
    }
    return half;
  }
  void sort_along_longest(std::span<std::uint32_t> objects) const {
    const box bounds = bounds_of(of_, objects);
    std::size_t longest = 0;
    for (std::size_t d = 1; d < of_.dimensions; ++d)
      if (bounds[d].second - bounds[d].first > bounds[longest].second - bounds[longest].first) longest = d;
    std::sort(objects.begin(), objects.end(), [&](std::uint32_t a, std::uint32_t b) {
      const double of_a = of_.coordinates_of(a)[longest], of_b = of_.coordinates_of(b)[longest];
      return of_a != of_b ? of_a < of_b : a < b;
    });
  }
  // So many objects that both sides end together, as nearly as objects allow.
  std::size_t cut_of(std::span<const std::uint32_t> objects, std::span<const std::int32_t> first_pes,
                     std::span<const std::int32_t> pes) const {
    double work = 0.0, fixed = 0.0, speed = 0.0, first_fixed = 0.0, first_speed = 0.0;
    for (const std::uint32_t object : objects) work += bins_.work_of(object);
    for (std::size_t i = 0; i < pes.size(); ++i) {
      fixed += bins_.load_of(pes[i]);
      speed += bins_.speed_of(pes[i]);
      if (i + 1 != first_pes.size()) continue;
      first_fixed = fixed;
      first_speed = speed;
    }
    const double wanted = std::clamp((work + fixed) / speed * first_speed - first_fixed, 0.0, work);
    double sum = 0.0;
    for (std::size_t i = 0; i < objects.size(); ++i) {
      const double next = sum + bins_.work_of(objects[i]);
      if (next > wanted) return next - wanted < wanted - sum ? i + 1 : i;
      sum = next;
    }
    return objects.size();
  }

  const snapshot& of_;
  load_bins& bins_;
};

}  // namespace

decided_moves decide_by_curve(const snapshot& of, const strategy_options&) {
  placement placed(of);
  std::vector<std::uint32_t> objects = take_out(placed, "curve");
  const box bounds = bounds_of(of, objects);
  double side = 0.0;  // the box becomes a cube, so that near along one axis is near along the others
  for (std::size_t d = 0; d < of.dimensions; ++d) side = std::max(side, bounds[d].second - bounds[d].first);
  std::vector<std::uint64_t> places(of.objects.size());
  for (const std::uint32_t object : objects) {
    std::array<double, most_dimensions> in_cube{};
    for (std::size_t d = 0; d < of.dimensions; ++d)
      in_cube[d] = side > 0.0 ? (of.coordinates_of(object)[d] - bounds[d].first) / side : 0.0;
    places[object] = place_on_hilbert_curve(std::span(in_cube).first(of.dimensions));
  }
  std::sort(objects.begin(), objects.end(),
            [&](std::uint32_t a, std::uint32_t b) { return places[a] != places[b] ? places[a] < places[b] : a < b; });
  run_cutter(placed, objects, pes_by_place(of)).cut();
  return placed.moves();
}

decided_moves decide_by_bisection(const snapshot& of, const strategy_options&) {
  placement placed(of);
  std::vector<std::uint32_t> objects = take_out(placed, "bisection");
  bisector(placed).divide(objects, pes_by_place(of));
  return placed.moves();
}

}  // namespace tri::balancing
