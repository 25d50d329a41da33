// Element updates of the accumulate family. Aligned integers of 4 and 8 bytes are changed by atomic instructions, or in
// long runs by plain loops while no other rank changes any; all other elements by the holder of the target's lock.
// accumulate_order.hpp implements the exclusion.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi/datatypes/layout/element_kind.hpp"

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

/// `count` elements, each atomically: target = target op operand. The old values go to `before`, which may be null.
/// Neither `operands` (null for `nothing`) nor `before` need be aligned. Only for single instructions.
void reduce_atomically(reduction operation, element_kind kind, void* target, const std::byte* operands,
                       std::byte* before, std::size_t count);

/// Whether there is a plain loop for it: all that can be done by instructions, and the usual ones for floats and
/// doubles.
bool has_plain_loop(reduction operation, element_kind kind);
/// The same by such a loop, on memory that no other rank changes meanwhile, aligned or not.
void reduce_plainly(reduction operation, element_kind kind, std::byte* target, const std::byte* operands,
                    std::byte* before, std::size_t count);

/// target = first op second, for what has a plain loop but `nothing`. The target may be one of them, or overlap
/// neither.
void combine_plainly(reduction operation, element_kind kind, std::byte* target, const std::byte* first,
                     const std::byte* second, std::size_t count);

/// Atomically: the element becomes `desired` if it is `expected`; `before` gets the old value.
void compare_and_swap_atomically(element_kind kind, void* target, const void* expected, const void* desired,
                                 void* before);

}  // namespace tri::mpi
