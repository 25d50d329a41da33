// See matrix.hpp.
#include "dense/matrix.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dense {
namespace {

// The finalizer of splitmix64 (Steele, Lea, Flood 2014).
std::uint64_t mixed(std::uint64_t number) {
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9U;
  number = (number ^ (number >> 27)) * 0x94d049bb133111ebU;
  return number ^ (number >> 31);
}

}  // namespace

grid_place place_in_grid(const matrix& a) {
  const tri::position<2>& grid = a.where().how().grid;
  const int pe = tri::this_pe();
  grid_place place{.rows = static_cast<int>(grid[0]),
                   .columns = static_cast<int>(grid[1]),
                   .row = pe / static_cast<int>(grid[1]),
                   .column = pe % static_cast<int>(grid[1]),
                   .is_inside = pe < grid.volume(),
                   .is_on_one_host = tri::team::host().size() == tri::pe_count()};
  place.along_row = a.row_team().get();
  place.along_column = a.column_team().get();
  return place;
}

void free_teams(const grid_place& place) {
  if (place.along_row) place.along_row.free().get();
  if (place.along_column) place.along_column.free().get();
}

const_block read_tile(const matrix& a, extent i, extent j, std::vector<double>& copy) {
  if (const block here = tile_at(a, i, j); here.data != nullptr) return here;
  const tri::region<2> box = a.where().elements_of({i, j});
  copy.resize(static_cast<std::size_t>(box.volume()));
  a.get(box, copy.data()).get();
  return {copy.data(), box.extents()[1]};
}

double random_element(std::uint64_t seed, extent i, extent j) {
  constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;
  const std::uint64_t row = mixed(seed + golden * (static_cast<std::uint64_t>(i) + 1));
  return std::ldexp(static_cast<double>(mixed(row + golden * (static_cast<std::uint64_t>(j) + 1)) >> 11), -53) - 0.5;
}

double positive_definite_element(std::uint64_t seed, extent n, extent i, extent j) {
  return random_element(seed, std::max(i, j), std::min(i, j)) + (i == j ? static_cast<double>(n) : 0.0);
}

std::vector<double> times(const matrix& a, std::span<const double> x, part which) {
  const auto rows = static_cast<std::size_t>(which == part::lower_transposed ? a.extent(1) : a.extent(0));
  std::vector<double> sums(rows);
  tri::for_each_own(a, [&](const tri::position<2>& at, double value) {
    const auto [i, j] = at.at;
    if (j >= static_cast<extent>(x.size()) || (which != part::all && j > i)) return;
    const auto [to, from] = which == part::lower_transposed ? std::pair(j, i) : std::pair(i, j);
    sums[static_cast<std::size_t>(to)] += value * x[static_cast<std::size_t>(from)];
  });
  return tri::team::world().allreduce(std::move(sums), tri::elementwise(tri::sum)).get();
}

double largest(std::span<const double> values) {
  double most = 0;
  for (const double value : values) {
    if (std::isnan(value)) return value;
    most = std::max(most, std::abs(value));
  }
  return most;
}

std::vector<double> random_vector(std::uint64_t seed, extent n) {
  std::vector<double> made(static_cast<std::size_t>(n));
  for (extent i = 0; i < n; ++i) made[static_cast<std::size_t>(i)] = random_element(seed, i, -1);
  return made;
}

double relative_difference(std::span<const double> a, std::span<const double> b) {
  std::vector<double> apart(b.size());
  std::ranges::transform(a, b, apart.begin(), std::minus<>());
  return largest(apart) / std::max(largest(b), std::numeric_limits<double>::min());
}

}  // namespace dense
