// Questions about the basic elements of a packed stream: of `count` instances of a layout, without walking through
// them. O(depth + log entries), except where noted. Pure functions of the layout, any thread of any process.
#pragma once

#include <cstdint>

#include "mpi/datatypes/layout/layout.hpp"
#include "mpi/datatypes/layout/type_signature.hpp"

namespace tri::mpi {

/// Basic elements in the first `bytes` of the stream: what MPI_Get_elements counts.
struct element_position {
  std::uint64_t elements = 0;   // whole ones
  std::uint64_t remainder = 0;  // bytes behind the last whole one
};
element_position elements_in(const layout& described, std::uint64_t count, std::uint64_t bytes);

/// Packed bytes of the first `elements` elements. elements <= count * described.elements.
std::uint64_t bytes_of_elements(const layout& described, std::uint64_t count, std::uint64_t elements);

/// The range of elements of one kind that the byte at `offset` belongs to, from the element that contains it to the end
/// of the range: reductions go through a stream in such steps. offset < count * size.
struct element_run {
  element_kind kind = element_kind::byte;
  std::uint64_t in_element = 0;  // bytes of its first element before `offset`
  std::uint64_t bytes = 0;       // from `offset` to the end of the range
};
element_run run_at(const layout& described, std::uint64_t count, std::uint64_t offset);

/// The offset rounded down to the beginning of its element: there a stream may be split for reductions.
std::uint64_t element_start(const layout& described, std::uint64_t count, std::uint64_t offset);

/// For checks of matching: the first `elements` elements as a hash. Messages match whose hashes are equal, or those of
/// as many elements as the shorter one has.
sequence_hash signature_of_first(const layout& described, std::uint64_t count, std::uint64_t elements);

/// Whether a message of `count` instances may be received as `received_count` of the other type: as many elements or
/// more, of the same kinds in this order.
bool may_receive(const layout& sent, std::uint64_t count, const layout& received, std::uint64_t received_count);

}  // namespace tri::mpi
