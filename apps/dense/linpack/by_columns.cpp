// See by_columns.hpp.
#include "dense/linpack/by_columns.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace dense {
namespace {

// A value and its row; the larger value counts, of equal ones the first.
using candidate = std::pair<double, extent>;
constexpr auto better = [](candidate a, candidate b) {
  return b.first > a.first || (b.first == a.first && b.second < a.second) ? b : a;
};
extent pivot_of(extent column, const candidate& own) {
  const candidate found = tri::team::world().allreduce(own, tri::by(better)).get();
  if (found.first == 0.0)
    throw std::domain_error("linpack: the matrix is singular: column " + std::to_string(column) +
                            " has only zeros from the diagonal on");
  return found.second;
}
candidate none_of(extent rows) { return {-1.0, rows}; }

/// The part of a region that a tile has, below and right of (first row, first column).
template <class F>
void for_each_row_behind(const tile& part, extent first_row, extent first_column, F&& f) {
  const auto [first, last] = std::pair(part.elements().first, part.elements().last);
  const extent begin = std::max(first[1], first_column);
  if (begin >= last[1]) return;
  for (extent i = std::max(first[0], first_row); i < last[0]; ++i)
    f(i, begin, part.data() + (i - first[0]) * part.leading_dimension() + begin - first[1], last[1] - begin);
}

}  // namespace

void eliminate_by_elements(const matrix& a) {
  const extent n = a.extent(0);
  const int own = tri::this_pe();
  for (extent k = 0; k < n; ++k) {
    candidate best = none_of(n);
    for (extent i = k; i < n; ++i)
      if (a.owner({i, k}) == own) best = better(best, {std::abs(a(i, k).read()), i});
    const extent pivot = pivot_of(k, best);
    for (extent j = k; j <= n && pivot != k; ++j) {
      if (a.owner({k, j}) != own) continue;
      const double above = a(k, j), below = a(pivot, j);
      a(k, j) = below;
      a(pivot, j) = above;
    }
    tri::barrier().get();
    for (extent i = k + 1; i < n; ++i)
      if (a.owner({i, k}) == own) a(i, k) = a(i, k) / a(k, k);
    tri::barrier().get();
    for (extent i = k + 1; i < n; ++i)
      for (extent j = k + 1; j <= n; ++j)
        if (a.owner({i, j}) == own) a(i, j) = a(i, j) - a(i, k) * a(k, j);
    tri::barrier().get();
  }
}

void eliminate_by_columns(const matrix& a) {
  const extent n = a.extent(0);
  std::vector<double> row(static_cast<std::size_t>(n + 1)), column(static_cast<std::size_t>(n)), other(row.size());
  for (extent k = 0; k < n; ++k) {
    candidate best = none_of(n);
    for (const tile part : a.own_tiles()) {
      if (part.elements().first[1] > k || part.elements().last[1] <= k) continue;
      for_each_row_behind(part, k, k, [&](extent i, extent, const double* values, extent) {
        best = better(best, {std::abs(*values), i});
      });
    }
    const extent pivot = pivot_of(k, best);
    // One PE exchanges the rows, which are two sections.
    if (pivot != k && tri::this_pe() == a.owner({k, k})) {
      auto first = a.get({{k, k}, {k + 1, n + 1}}, row.data()),
           second = a.get({{pivot, k}, {pivot + 1, n + 1}}, other.data());
      first.get(), second.get();
      auto below = a.put({{pivot, k}, {pivot + 1, n + 1}}, row.data()),
           above = a.put({{k, k}, {k + 1, n + 1}}, other.data());
      below.get(), above.get();
    }
    tri::barrier().get();
    auto coming = a.get({{k, k}, {k + 1, n + 1}}, row.data());
    auto multipliers = a.get({{k, k}, {n, k + 1}}, column.data());
    coming.get(), multipliers.get();
    tri::barrier().get();  // all have them as they are now
    for (const tile part : a.own_tiles())
      for_each_row_behind(part, k + 1, k + 1, [&](extent i, extent j, double* values, extent count) {
        const double multiplier = column[static_cast<std::size_t>(i - k)] / row[0];
        const double* const of_pivot = row.data() + (j - k);
        for (extent c = 0; c < count; ++c) values[c] -= multiplier * of_pivot[c];
      });
    tri::barrier().get();
  }
}

}  // namespace dense
