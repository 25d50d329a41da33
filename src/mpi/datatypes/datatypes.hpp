// Properties of datatypes that the calls need, cached by handle until the datatype is freed.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>

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
};

class datatypes {
 public:
  /// The most recently used one is cached.
  static const buffer_type& find(MPI_Datatype handle) {
    return last_ != nullptr && last_->handle == handle ? *last_ : find_among_all(handle);
  }
  static void forget(MPI_Datatype handle);

 private:
  static const buffer_type& find_among_all(MPI_Datatype handle);
  static inline const buffer_type* last_ = nullptr;
};

/// Packed bytes of that many elements to and from a user's buffer. A message may end anywhere, also inside an element.
void pack(const void* from, MPI_Count count, const buffer_type& type, std::byte* to);
void unpack(const std::byte* from, std::size_t bytes, void* to, MPI_Count count, const buffer_type& type);

}  // namespace tri::mpi
