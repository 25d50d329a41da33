// What the accumulate family does to elements of a window. Two ways, and every element is treated by one of them in
// all operations, so that they are atomic towards each other: integers of 4 and 8 bytes at aligned addresses by
// instructions of the processor; all others by whoever holds the lock of the target (window_part::accumulating).
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi/layout/element_kind.hpp"

namespace tri::mpi {

enum class reduction : std::uint8_t {
  replace,
  nothing,
  sum,
  product,
  minimum,
  maximum,
  logical_and,
  logical_or,
  logical_xor,
  bits_and,
  bits_or,
  bits_xor,
  minimum_and_place,  // of pairs
  maximum_and_place
};

/// Whether MPI defines the operation on elements of the kind; `are_pairs` for those of a value and its place.
bool is_defined(reduction operation, element_kind kind, bool are_pairs);

/// Elements of the kind can be treated without the lock.
constexpr bool is_single_instruction(element_kind kind) {
  return kind == element_kind::int32 || kind == element_kind::uint32 || kind == element_kind::int64 ||
         kind == element_kind::uint64;
}
/// And this one is.
inline bool is_single_instruction(element_kind kind, const void* address) {
  return is_single_instruction(kind) && reinterpret_cast<std::uintptr_t>(address) % facts_of(kind).bytes == 0;
}

/// `count` elements, each atomically: target = target op operand. What was there before goes to `before`, which may be
/// null. Neither `operands` (null for `nothing`) nor `before` need be aligned. Only for single instructions.
void reduce_atomically(reduction operation, element_kind kind, void* target, const std::byte* operands,
                       std::byte* before, std::size_t count);

/// Likewise: the element becomes `desired` if it is `expected`; `before` is what it was.
void compare_and_swap_atomically(element_kind kind, void* target, const void* expected, const void* desired,
                                 void* before);

}  // namespace tri::mpi
