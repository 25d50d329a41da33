// See placements.hpp.
#include "searches/placements.hpp"

namespace searches {
namespace {

// `rows`: that are left.
std::int64_t count_below(std::uint32_t all, std::uint32_t columns, std::uint32_t left, std::uint32_t right, int rows) {
  std::uint32_t free = all & ~(columns | left | right);
  if (rows == 1) return free != 0 ? 1 : 0;
  std::int64_t sum = 0;
  for (; free != 0; free &= free - 1) {
    const std::uint32_t queen = free & (~free + 1);
    sum += count_below(all, columns | queen, (left | queen) << 1, (right | queen) >> 1, rows - 1);
  }
  return sum;
}

}  // namespace

std::int64_t count_solutions(int n, const queens& at) {
  return count_below((std::uint32_t{1} << n) - 1, at.columns, at.left, at.right, n - at.rows);
}

}  // namespace searches
