#include "mpi/datatypes/datatypes.hpp"

#include <cstring>
#include <unordered_map>

#include "mpi/abi/abi.hpp"
#include "mpi/datatypes/layout/layout_encoder.hpp"
#include "mpi/datatypes/layout/transfer.hpp"
#include "mpi/datatypes/library_packing.hpp"
#include "mpi/datatypes/read_datatype.hpp"
#include "mpi/startup/session.hpp"

namespace tri::mpi {
namespace {

// Never destroyed, as the requests (requests.cpp).
std::unordered_map<std::uint64_t, buffer_type>& known = *new std::unordered_map<std::uint64_t, buffer_type>;

// A message to MPI_PROC_NULL, with errors returned: the library checks the type (it must be committed) and reads no
// data.
bool may_be_sent(MPI_Datatype type) {
  static const MPI_Comm silent = [] {
    MPI_Comm made = MPI_COMM_NULL;
    PMPI_Comm_dup(MPI_COMM_SELF, &made);
    PMPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    return made;
  }();
  const char nothing = 0;
  return PMPI_Send(&nothing, 1, type, MPI_PROC_NULL, 0, silent) == MPI_SUCCESS;
}

std::shared_ptr<const layout> in_arena(const owned_layout& made) {
  arena::block_cache& blocks = session::active()->ranks().blocks();
  void* const place = blocks.allocate(made.bytes());
  std::memcpy(place, made.get(), made.bytes());
  return {static_cast<const layout*>(place),
          [&blocks](const layout* done) { blocks.release(const_cast<layout*>(done)); }};
}

void describe(buffer_type& type) {
  try {
    const owned_layout shape = encode(read_datatype(type.handle));
    // Several elements are one segment, too, when the extent is the size.
    type.is_plain = shape->contiguous(2) && (type.bytes == 0 || shape->true_lower_bound == 0);
    if (!type.is_plain) type.shape = in_arena(shape);
  } catch (const unsupported_datatype&) {
    type.is_plain = false;
    MPI_Datatype copy = MPI_DATATYPE_NULL;
    const program_function running;  // functions of its attributes, here and when it is freed
    PMPI_Type_dup(type.handle, &copy);
    type.packing = {new MPI_Datatype(copy), [](const MPI_Datatype* done) {
                      const program_function freeing;
                      MPI_Datatype handle = *done;
                      PMPI_Type_free(&handle);
                      delete done;
                    }};
  }
}

}  // namespace

const buffer_type& datatypes::find_among_all(MPI_Datatype handle) {
  const auto found = known.find(abi::word(handle));
  if (found != known.end()) return *(recent_[place_of(handle)] = &found->second);
  static const buffer_type invalid;
  if (handle == MPI_DATATYPE_NULL || !may_be_sent(handle)) return invalid;  // it may be committed later
  buffer_type made;
  made.handle = handle;
  MPI_Count bytes = 0;
  if (PMPI_Type_size_x(handle, &bytes) == MPI_SUCCESS && bytes != MPI_UNDEFINED) {
    made.bytes = static_cast<std::size_t>(bytes);
    made.is_valid = true;
    describe(made);
  }
  return *(recent_[place_of(handle)] = &known.emplace(abi::word(handle), made).first->second);
}

void datatypes::forget(MPI_Datatype handle) {
  known.erase(abi::word(handle));
  recent_ = {};
}

void pack(const void* from, MPI_Count count, const buffer_type& type, std::byte* to) {
  const std::size_t bytes = static_cast<std::size_t>(count) * type.bytes;
  if (bytes == 0) return;
  if (type.is_plain) {
    std::memcpy(to, from, bytes);
    return;
  }
  if (type.shape != nullptr) {
    pack({type.shape.get(), static_cast<std::uint64_t>(count), const_cast<void*>(from)}, 0, bytes, to);
    return;
  }
  pack_by_library(from, count, *type.packing, to);
}

void unpack(const std::byte* from, std::size_t bytes, void* to, MPI_Count count, const buffer_type& type) {
  if (type.bytes == 0 || bytes == 0) return;
  if (type.is_plain) {
    std::memcpy(to, from, bytes);
    return;
  }
  if (type.shape != nullptr) {
    unpack({type.shape.get(), static_cast<std::uint64_t>(count), to}, 0, bytes, from);
    return;
  }
  unpack_by_library(from, bytes, to, count, *type.packing);
}

}  // namespace tri::mpi
