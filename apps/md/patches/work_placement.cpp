// See work_placement.hpp.
#include "md/patches/work_placement.hpp"

#include <algorithm>
#include <numeric>

namespace md {
namespace {

// Handling a pair of patches costs something even if its list is short; in list entries.
constexpr double fixed_cost = 100.0;

// Cuts the sequence where the running sum of costs passes the borders of even shares.
std::vector<std::int32_t> even_runs(const std::vector<double>& costs, int pes) {
  const double total = std::accumulate(costs.begin(), costs.end(), 0.0);
  std::vector<std::int32_t> place;
  place.reserve(costs.size());
  double before = 0.0;
  for (const double cost : costs) {
    const int pe = static_cast<int>((before + 0.5 * cost) / total * pes);
    place.push_back(std::clamp(pe, 0, pes - 1));
    before += cost;
  }
  return place;
}

}  // namespace

std::array<double, pair_kinds> near_fractions(const vec3& width, double reach) {
  // The integral over all difference vectors s shorter than the reach of the volume in which both ends fit into their
  // patches, by the midpoint rule.
  constexpr int points = 24;
  const double step = 2.0 * reach / points;
  const double volume = width[0] * width[1] * width[2];
  std::array<double, pair_kinds> fractions{};
  for (std::size_t kind = 0; kind < pair_kinds; ++kind) {
    const int3& direction = half_shell[kind];
    const auto fit = [&](std::size_t d, double s) {
      return std::max(0.0, width[d] - std::abs(s - direction[d] * width[d]));
    };
    double sum = 0.0;
    for (int i = 0; i < points; ++i) {
      const double x = -reach + (i + 0.5) * step;
      for (int j = 0; j < points; ++j) {
        const double y = -reach + (j + 0.5) * step;
        for (int k = 0; k < points; ++k) {
          const double z = -reach + (k + 0.5) * step;
          if (x * x + y * y + z * z < reach * reach) sum += fit(0, x) * fit(1, y) * fit(2, z);
        }
      }
    }
    fractions[kind] = sum * step * step * step / (volume * volume);
  }
  fractions[0] *= 0.5;
  return fractions;
}

work_placement place_work(const patch_grid& grid, const std::vector<std::size_t>& atoms, double reach, int pes) {
  const std::array<double, pair_kinds> fractions = near_fractions(grid.width(), reach);
  std::vector<double> patch_costs;
  std::vector<double> pair_costs;
  for (int p = 0; p < grid.size(); ++p) {
    const auto own = static_cast<double>(atoms[static_cast<std::size_t>(p)]);
    patch_costs.push_back(own + 1.0);
    for (int kind = 0; kind < pair_kinds; ++kind) {
      const auto other = static_cast<double>(atoms[static_cast<std::size_t>(grid.pair(p, kind).other)]);
      pair_costs.push_back(own * other * fractions[static_cast<std::size_t>(kind)] + fixed_cost);
    }
  }
  return {even_runs(patch_costs, pes), even_runs(pair_costs, pes)};
}

}  // namespace md
