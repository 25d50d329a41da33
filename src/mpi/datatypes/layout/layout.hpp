// A layout: a datatype flattened once into a program that moves bytes starting at any offset of the packed stream. It
// is one segment of plain bytes with internal offsets and no pointers, so it may be copied anywhere (8-byte aligned),
// also into memory that other processes map, and be read by all of them at once; it is never written again.
//
//   [ layout | layout_node and tables of 64-bit words ... | signature_node and tables ... ]
//
// `layout_encoder.hpp` writes layouts, `transfer.hpp` moves data by them, `element_count.hpp` counts their elements.
// Numbers are for one instance of the type; every function also takes a count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "mpi/datatypes/layout/element_kind.hpp"

namespace tri::mpi {

/// How a node makes its bytes. The first three are leaves, which have loops of their own; the others contain nodes.
enum class node_kind : std::uint32_t {
  grid,      // rows x columns blocks of `length` bytes
  list,      // one block at each entry of the table
  comb,      // such a list, count times, `stride` apart
  loop,      // body, count times, `stride` apart
  places,    // body at each entry of the table
  runs,      // body at each entry of the table, several times each, `stride` apart; `prefix` counts the instances
  sequence,  // the nodes of the table, one after the other
};

struct layout_node {
  node_kind kind = node_kind::grid;
  std::uint32_t interleaved = 0;  // comb: bytes of one instance may be among those of another
  std::uint64_t bytes = 0;        // packed, of the whole node; never 0
  std::int64_t displacement = 0;  // from the origin of what contains it
  std::uint64_t count = 1;        // grid: rows
  std::int64_t stride = 0;
  std::uint64_t columns = 1;
  std::int64_t column_stride = 0;
  std::uint64_t length = 0;   // grid, list, comb: of each block; 0: lengths differ, `prefix` has them
  std::uint64_t entries = 0;  // of the table
  // Offsets from the beginning of the layout; 0 where there is none.
  std::uint64_t table = 0;   // std::int64_t[entries], displacements; sequence: std::uint64_t[entries], nodes
  std::uint64_t prefix = 0;  // std::uint64_t[entries + 1]: packed bytes or instances before entry i
  std::uint64_t body = 0;    // node
};

/// Signatures have the same form: runs of one kind of element, loops, sequences.
enum class signature_kind : std::uint32_t { run, loop, sequence };

struct signature_node {
  signature_kind kind = signature_kind::run;
  element_kind element = element_kind::byte;  // mixed when there is more than one
  std::uint64_t count = 1;                    // run: elements; loop: times
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;
  std::uint64_t hash = 0;
  std::uint64_t hash_power = 1;
  std::uint64_t entries = 0;         // sequence
  std::uint64_t table = 0;           // sequence: std::uint64_t[entries], nodes
  std::uint64_t byte_prefix = 0;     // sequence: std::uint64_t[entries + 1]
  std::uint64_t element_prefix = 0;  // sequence: std::uint64_t[entries + 1]
  std::uint64_t body = 0;            // loop
};

struct layout {
  static constexpr std::uint64_t current_version = 0x5452'494c'4159'0001;  // changes with any of these structures

  std::uint64_t version = current_version;
  std::uint64_t total_bytes = 0;  // of the layout itself
  std::uint64_t size = 0;         // packed bytes of one instance
  std::int64_t lower_bound = 0;
  std::int64_t extent = 0;
  std::int64_t true_lower_bound = 0;
  std::int64_t true_extent = 0;
  std::uint64_t elements = 0;  // basic elements of one instance
  std::uint64_t blocks = 0;    // contiguous segments of one instance
  std::uint64_t rows = 0;      // runs of equal segments at equal distances
  std::uint32_t alignment = 1;
  element_kind kind = element_kind::mixed;  // of all elements
  std::uint32_t depth = 0;                  // nodes above a leaf, at most
  std::uint32_t reserved = 0;
  std::uint64_t root = 0;            // layout_node; 0 without bytes
  std::uint64_t signature_root = 0;  // signature_node; 0 without elements

  /// Whether `count` instances are one segment of memory, in order; it then starts at true_lower_bound from the
  /// address.
  bool contiguous(std::uint64_t count) const {
    return size == 0 || (blocks == 1 && (count <= 1 || extent == static_cast<std::int64_t>(size)));
  }

  /// The object at an offset.
  template <class T>
  const T* at(std::uint64_t offset) const {
    return reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(this) + offset);
  }
};

static_assert(std::is_trivially_copyable_v<layout> && std::is_trivially_copyable_v<layout_node> &&
              std::is_trivially_copyable_v<signature_node>);
static_assert(sizeof(layout) == 13 * 8 + 8 && sizeof(layout_node) == 96 && sizeof(signature_node) == 88);

/// The layout that begins at `memory`, or null unless it is complete and consistent: version, size, and every offset
/// and number used to locate data. Its statements about the program's memory cannot be checked.
const layout* layout_at(const void* memory, std::size_t available_bytes);

}  // namespace tri::mpi
