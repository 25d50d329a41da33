// What the calls need to know of a datatype, remembered by its handle until it is freed.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "mpi/layout/layout.hpp"

namespace tri::mpi {

struct buffer_type {
  MPI_Datatype handle = MPI_DATATYPE_NULL;
  std::size_t bytes = 0;  // packed, of one element
  bool is_plain = false;  // elements lie one behind the other, without holes, from the address of the buffer on
  bool is_valid = false;
  // In the arena: whoever moves a message reads it. Outlives the handle for as long as messages need it. Null for
  // plain types, and where the MPI library alone knows how to pack.
  std::shared_ptr<const layout> shape;
};

class datatypes {
 public:
  /// The last one asked for is found at once.
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
