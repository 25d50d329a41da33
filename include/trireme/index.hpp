// Indices of array elements and their numbers. Inside the runtime every element has a 64-bit number:
//   dense arrays   the row-major position;
//   sparse arrays  the coordinates side by side (64 bits divided by the dimensions), or a hash of a user key.
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#pragma GCC visibility push(default)

namespace tri {

/// Coordinates of an element in an array of 1 to 6 dimensions.
template <int Dimensions>
struct index {
  static_assert(1 <= Dimensions && Dimensions <= 6,
                "arrays have 1 to 6 dimensions; use a key type of your own for more");
  std::array<int, Dimensions> at{};

  constexpr index() = default;
  template <class... I>
    requires(sizeof...(I) == Dimensions && (std::is_convertible_v<I, int> && ...))
  constexpr index(I... i)
      : at{static_cast<int>(i)...} {}  // NOLINT(google-explicit-constructor): {i, j, k} should just work
  constexpr int operator[](int d) const { return at[static_cast<std::size_t>(d)]; }
  constexpr int& operator[](int d) { return at[static_cast<std::size_t>(d)]; }
  friend constexpr auto operator<=>(const index&, const index&) = default;
};

namespace objects {

template <class Index>
inline constexpr int dimensions_of = 0;  // a user key
template <int N>
inline constexpr int dimensions_of<index<N>> = N;

/// The shape of an array, in every handle: plain data.
struct array_shape {
  std::array<std::uint32_t, 6> extent{};
  std::uint8_t dimensions = 0;  // 0: user keys
  bool dense = false;
  std::uint64_t elements() const {
    std::uint64_t product = 1;
    for (int d = 0; d < dimensions; ++d) product *= extent[static_cast<std::size_t>(d)];
    return product;
  }
};

/// The error in a shape received in a message, or empty. The tables of its elements must fit into the memory of this
/// machine.
std::string fault_of_shape(const array_shape& shape);
std::string describe_number(const array_shape& shape, std::uint64_t number);
[[noreturn]] void report_out_of_range(const array_shape& shape, const int* at);
[[noreturn]] void report_sparse_range(int value, int dimension, int dimensions);

inline std::uint64_t finalize_hash(std::uint64_t x) {  // splitmix64's mixer (Steele, Lea, Flood 2014)
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

template <class Index>
std::uint64_t number_of(const array_shape& shape, const Index& where) {
  constexpr int n = dimensions_of<Index>;
  if constexpr (n == 0) {
    return finalize_hash(std::hash<Index>{}(where));
  } else if (shape.dense) {
    std::uint64_t number = 0;
    for (int d = 0; d < n; ++d) {
      const auto extent = shape.extent[static_cast<std::size_t>(d)];
      if (static_cast<std::uint32_t>(where[d]) >= extent) [[unlikely]]
        report_out_of_range(shape, where.at.data());
      number = number * extent + static_cast<std::uint32_t>(where[d]);
    }
    return number;
  } else {
    constexpr int bits = 64 / n;
    std::uint64_t number = 0;
    for (int d = 0; d < n; ++d) {
      const int value = where[d];
      if constexpr (bits < 32)
        if (value < 0 || value >= (1 << bits)) [[unlikely]]
          report_sparse_range(value, d, n);
      number = (bits == 64 ? 0 : number << (bits % 64)) | static_cast<std::uint32_t>(value);
    }
    return number;
  }
}

template <class Index>
Index index_of(const array_shape& shape, std::uint64_t number) {
  constexpr int n = dimensions_of<Index>;
  Index where;
  if constexpr (n != 0) {
    for (int d = n; d-- > 0;) {
      if (shape.dense) {
        const auto extent = shape.extent[static_cast<std::size_t>(d)];
        where[d] = static_cast<int>(number % extent);
        number /= extent;
      } else {
        constexpr int bits = 64 / n;
        constexpr std::uint64_t mask = bits >= 32 ? 0xffffffffu : (std::uint64_t{1} << bits) - 1;
        where[d] = static_cast<int>(static_cast<std::uint32_t>(number & mask));
        number = bits == 64 ? 0 : number >> (bits % 64);
      }
    }
  }
  return where;
}

}  // namespace objects
}  // namespace tri

#pragma GCC visibility pop
