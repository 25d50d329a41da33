// Arithmetic on sizes and displacements of datatypes. MPI's constructors multiply the user's values; a result that
// exceeds 64 bits is an error of the type, never a wrapped value. Pure functions.
#pragma once

#include <cstdint>
#include <limits>
#include <stdexcept>

namespace tri::mpi::checked {

[[noreturn]] inline void too_large() {
  throw std::overflow_error("a datatype of more than 2^63 bytes (size, extent or displacement) cannot be described");
}

inline std::int64_t add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) too_large();
  return sum;
}

inline std::int64_t subtract(std::int64_t a, std::int64_t b) {
  std::int64_t difference = 0;
  if (__builtin_sub_overflow(a, b, &difference)) too_large();
  return difference;
}

inline std::int64_t multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) too_large();
  return product;
}

/// A count as a factor of displacements.
inline std::int64_t factor(std::uint64_t count) {
  if (count > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) too_large();
  return static_cast<std::int64_t>(count);
}

/// Packed sizes stay below 2^63, so that they can be displacements too.
inline std::uint64_t add_sizes(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>(add(factor(a), factor(b)));
}
inline std::uint64_t multiply_sizes(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>(multiply(factor(a), factor(b)));
}

}  // namespace tri::mpi::checked
