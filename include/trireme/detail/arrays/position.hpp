// Positions in global arrays, regions between two of them, and extents: plain data of 1 to 6 dimensions.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#pragma GCC visibility push(default)

namespace tri {

inline constexpr int most_array_dimensions = 6;

/// Coordinates of an element, or extents; the last dimension is the one whose elements are neighbours in memory.
template <int N>
struct position {
  static_assert(1 <= N && N <= most_array_dimensions, "global arrays have 1 to 6 dimensions");
  std::array<std::int64_t, N> at{};

  constexpr position() = default;
  template <std::integral... I>
    requires(sizeof...(I) == N)
  constexpr position(I... i)
      : at{static_cast<std::int64_t>(i)...} {}  // NOLINT(google-explicit-constructor): {i, j, k} should just work
  static constexpr position all(std::int64_t value) {
    position made;
    made.at.fill(value);
    return made;
  }
  constexpr std::int64_t operator[](int d) const { return at[static_cast<std::size_t>(d)]; }
  constexpr std::int64_t& operator[](int d) { return at[static_cast<std::size_t>(d)]; }
  friend constexpr auto operator<=>(const position&, const position&) = default;

  /// Elements of a box with these extents; 0 if one of them is not positive.
  constexpr std::int64_t volume() const {
    std::int64_t elements = 1;
    for (const std::int64_t extent : at) elements *= std::max<std::int64_t>(extent, 0);
    return elements;
  }
};

/// The elements from `first` (included) to `last` (not included), in each dimension: region{{0, 0}, {rows, columns}}.
template <int N>
struct region {
  position<N> first;
  position<N> last;

  constexpr region() = default;
  constexpr region(const position<N>& from, const position<N>& to) : first(from), last(to) {}
  friend constexpr bool operator==(const region&, const region&) = default;

  constexpr position<N> extents() const {
    position<N> result;
    for (int d = 0; d < N; ++d) result[d] = std::max<std::int64_t>(last[d] - first[d], 0);
    return result;
  }
  constexpr std::int64_t volume() const { return extents().volume(); }
  constexpr bool contains(const position<N>& where) const {
    for (int d = 0; d < N; ++d)
      if (where[d] < first[d] || where[d] >= last[d]) return false;
    return true;
  }
  /// What both have in common; empty (volume 0) if nothing.
  constexpr region intersection(const region& other) const {
    region result;
    for (int d = 0; d < N; ++d) {
      result.first[d] = std::max(first[d], other.first[d]);
      result.last[d] = std::max(result.first[d], std::min(last[d], other.last[d]));
    }
    return result;
  }
};
template <class A, class B, std::size_t N>
region(const A (&)[N], const B (&)[N]) -> region<static_cast<int>(N)>;
template <int N>
region(const position<N>&, const position<N>&) -> region<N>;

namespace arrays {

/// Steps from one element to the next along each dimension of a box whose rows lie one behind the other.
template <int N>
constexpr position<N> row_major_strides(const position<N>& extents) {
  position<N> strides;
  std::int64_t stride = 1;
  for (int d = N; d-- > 0;) {
    strides[d] = stride;
    stride *= extents[d];
  }
  return strides;
}
template <int N>
constexpr std::int64_t dot(const position<N>& where, const position<N>& strides) {
  std::int64_t sum = 0;
  for (int d = 0; d < N; ++d) sum += where[d] * strides[d];
  return sum;
}
/// Goes to the next position of a box in row-major order, in its first `dimensions` dimensions; false: that was the
/// last.
template <int N>
constexpr bool next_position(position<N>& at, const position<N>& extents, int dimensions) {
  for (int d = dimensions; d-- > 0; at[d] = 0)
    if (++at[d] != extents[d]) return true;
  return false;
}
template <int N>
constexpr position<N> position_of(std::int64_t number, const position<N>& extents) {
  position<N> where;
  for (int d = N; d-- > 0;) {
    where[d] = number % extents[d];
    number /= extents[d];
  }
  return where;
}

}  // namespace arrays
}  // namespace tri

#pragma GCC visibility pop
