// What the calls need to know of a datatype, remembered by its handle until it is freed.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

namespace tri::mpi {

struct datatype {
  MPI_Datatype handle = MPI_DATATYPE_NULL;
  std::size_t bytes = 0;  // packed, of one element
  bool is_plain = false;  // elements lie one behind the other, without holes, from the address of the buffer on
  bool is_valid = false;
};

class datatypes {
 public:
  static const datatype& find(MPI_Datatype handle);
  static void forget(MPI_Datatype handle);
};

/// Packed bytes of that many elements to and from a user's buffer, by the MPI library. Of this process only.
void pack(const void* from, int count, const datatype& type, std::byte* to);
void unpack(const std::byte* from, std::size_t bytes, void* to, int count, const datatype& type);

}  // namespace tri::mpi
