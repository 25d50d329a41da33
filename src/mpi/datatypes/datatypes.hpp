// Properties of datatypes that the calls need, cached by handle until the datatype is freed.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "mpi/abi/abi.hpp"
#include "mpi/datatypes/layout/layout.hpp"

namespace tri::mpi {

struct buffer_type {
  MPI_Datatype handle = MPI_DATATYPE_NULL;
  std::size_t bytes = 0;  // packed, of one element
  bool is_plain = false;  // contiguous elements without holes, starting at the buffer's address
  bool is_valid = false;
  // In the arena: any process that copies a message reads it. Outlives the handle for as long as messages need it. Null
  // for plain types, and when only the MPI library can pack the type.
  std::shared_ptr<const layout> shape;
  // What the MPI library packs: a duplicate, because the program may free its type while messages need it.
  std::shared_ptr<const MPI_Datatype> packing = {};
};

class datatypes {
 public:
  /// The most recently used ones are cached, at most one for each place.
  static const buffer_type& find(MPI_Datatype handle) {
    const buffer_type* const recent = recent_[place_of(handle)];
    return recent != nullptr && recent->handle == handle ? *recent : find_among_all(handle);
  }
  static void forget(MPI_Datatype handle);

 private:
  static constexpr int place_bits = 4;
  static std::size_t place_of(MPI_Datatype handle) {  // the upper bits of a product depend on all bits of the handle
    return static_cast<std::size_t>(abi::word(handle) * 0x9e3779b97f4a7c15U >> (64 - place_bits));
  }
  static const buffer_type& find_among_all(MPI_Datatype handle);
  static inline std::array<const buffer_type*, std::size_t{1} << place_bits> recent_ = {};
};

/// Packed bytes of that many elements to and from a user's buffer. A message may end anywhere, also inside an element.
void pack(const void* from, MPI_Count count, const buffer_type& type, std::byte* to);
void unpack(const std::byte* from, std::size_t bytes, void* to, MPI_Count count, const buffer_type& type);

}  // namespace tri::mpi
