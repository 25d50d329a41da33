// Placements of n queens on the first rows of an n x n board, and how many ways there are to go on.
#pragma once

#include <cstdint>

namespace searches {

/// The columns, by bit, that the next row must not use; plain data.
struct queens {
  std::uint32_t columns = 0, left = 0, right = 0;  // of other queens, and of their diagonals
  std::int32_t rows = 0;                           // that have a queen

  queens with(std::uint32_t queen) const {
    return {columns | queen, (left | queen) << 1, (right | queen) >> 1, rows + 1};
  }
  std::uint32_t free(int n) const { return ((std::uint32_t{1} << n) - 1) & ~(columns | left | right); }
};

/// Calls `use` for every placement with one more queen.
template <class Use>
void for_next_rows(int n, const queens& at, Use use) {
  for (std::uint32_t free = at.free(n); free != 0; free &= free - 1) use(at.with(free & (~free + 1)));
}

/// The number of solutions with these queens, of which there are fewer than n.
std::int64_t count_solutions(int n, const queens& at);

/// Calls `use` for placements of one or two queens, of which all others are mirror images: each solution below them
/// counts twice. For n = 1 there are none.
template <class Use>
void for_first_rows(int n, Use use) {
  for (int column = 0; column < n / 2; ++column) use(queens{}.with(std::uint32_t{1} << column));
  if (n % 2 == 0) return;
  const queens middle = queens{}.with(std::uint32_t{1} << n / 2);
  for (int column = 0; column < n / 2; ++column) {
    const std::uint32_t queen = std::uint32_t{1} << column;
    if ((middle.free(n) & queen) != 0) use(middle.with(queen));
  }
}

/// The number of solutions for n = 0, 1, ...
constexpr std::int64_t solutions_of_queens[] = {1,   1,   0,    0,     2,     10,     4,       40,      92,
                                                352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512};

}  // namespace searches
