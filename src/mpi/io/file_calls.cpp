// Collective calls on files: the MPI library executes them, behind a barrier (coll/hosts/entry_barriers.hpp). Nothing
// of ours polls meanwhile: of Open MPI (4.1.4) only one thread may be in the progress of files.
#include <mpi.h>

#include "mpi/abi/exported.hpp"
#include "mpi/coll/hosts/entry_barriers.hpp"

namespace tri::mpi {
namespace {

template <class Library>
int of_all_ranks(MPI_File file, Library&& library) {
  if (const int error = entry_barriers::of_file(file); error != MPI_SUCCESS) return error;
  return library();
}

}  // namespace
}  // namespace tri::mpi

using namespace tri::mpi;

TRIREME_EXPORTED int MPI_File_open(MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* made) {
  if (const int error = entry_barriers::of_members(comm); error != MPI_SUCCESS) return error;
  const int number = entry_barriers::take_number(comm);
  const int error = PMPI_File_open(comm, name, mode, info, made);
  if (error == MPI_SUCCESS) entry_barriers::add(*made, comm, number);
  return error;
}
TRIREME_EXPORTED int MPI_File_close(MPI_File* file) {
  if (const int error = entry_barriers::of_file(*file); error != MPI_SUCCESS) return error;
  entry_barriers::remove(*file);
  return PMPI_File_close(file);
}

// The name of the function, its parameters behind the file, and its arguments.
#define TRIREME_FILE_CALL(name, parameters, ...)                                    \
  TRIREME_EXPORTED int MPI_File_##name parameters {                                 \
    return of_all_ranks(file, [&] { return PMPI_File_##name(file, __VA_ARGS__); }); \
  }

TRIREME_EXPORTED int MPI_File_sync(MPI_File file) {
  return of_all_ranks(file, [&] { return PMPI_File_sync(file); });
}
TRIREME_FILE_CALL(set_size, (MPI_File file, MPI_Offset size), size)
TRIREME_FILE_CALL(preallocate, (MPI_File file, MPI_Offset size), size)
TRIREME_FILE_CALL(set_info, (MPI_File file, MPI_Info info), info)
TRIREME_FILE_CALL(set_atomicity, (MPI_File file, int is_atomic), is_atomic)
TRIREME_FILE_CALL(seek_shared, (MPI_File file, MPI_Offset offset, int whence), offset, whence)
TRIREME_FILE_CALL(set_view,
                  (MPI_File file, MPI_Offset displacement, MPI_Datatype element, MPI_Datatype type,
                   const char* representation, MPI_Info info),
                  displacement, element, type, representation, info)

// Both forms of the number of elements.
#define TRIREME_FILE_TRANSFERS(suffix, number)                                                                         \
  TRIREME_FILE_CALL(read_all##suffix,                                                                                  \
                    (MPI_File file, void* data, number count, MPI_Datatype type, MPI_Status* status), data, count,     \
                    type, status)                                                                                      \
  TRIREME_FILE_CALL(write_all##suffix,                                                                                 \
                    (MPI_File file, const void* data, number count, MPI_Datatype type, MPI_Status* status), data,      \
                    count, type, status)                                                                               \
  TRIREME_FILE_CALL(                                                                                                   \
      read_at_all##suffix,                                                                                             \
      (MPI_File file, MPI_Offset offset, void* data, number count, MPI_Datatype type, MPI_Status* status), offset,     \
      data, count, type, status)                                                                                       \
  TRIREME_FILE_CALL(                                                                                                   \
      write_at_all##suffix,                                                                                            \
      (MPI_File file, MPI_Offset offset, const void* data, number count, MPI_Datatype type, MPI_Status* status),       \
      offset, data, count, type, status)                                                                               \
  TRIREME_FILE_CALL(read_ordered##suffix,                                                                              \
                    (MPI_File file, void* data, number count, MPI_Datatype type, MPI_Status* status), data, count,     \
                    type, status)                                                                                      \
  TRIREME_FILE_CALL(write_ordered##suffix,                                                                             \
                    (MPI_File file, const void* data, number count, MPI_Datatype type, MPI_Status* status), data,      \
                    count, type, status)                                                                               \
  TRIREME_FILE_CALL(read_all_begin##suffix, (MPI_File file, void* data, number count, MPI_Datatype type), data, count, \
                    type)                                                                                              \
  TRIREME_FILE_CALL(write_all_begin##suffix, (MPI_File file, const void* data, number count, MPI_Datatype type), data, \
                    count, type)                                                                                       \
  TRIREME_FILE_CALL(read_at_all_begin##suffix,                                                                         \
                    (MPI_File file, MPI_Offset offset, void* data, number count, MPI_Datatype type), offset, data,     \
                    count, type)                                                                                       \
  TRIREME_FILE_CALL(write_at_all_begin##suffix,                                                                        \
                    (MPI_File file, MPI_Offset offset, const void* data, number count, MPI_Datatype type), offset,     \
                    data, count, type)                                                                                 \
  TRIREME_FILE_CALL(read_ordered_begin##suffix, (MPI_File file, void* data, number count, MPI_Datatype type), data,    \
                    count, type)                                                                                       \
  TRIREME_FILE_CALL(write_ordered_begin##suffix, (MPI_File file, const void* data, number count, MPI_Datatype type),   \
                    data, count, type)
TRIREME_FILE_TRANSFERS(, int)
#if MPI_VERSION >= 4
TRIREME_FILE_TRANSFERS(_c, MPI_Count)
#endif

TRIREME_FILE_CALL(read_all_end, (MPI_File file, void* data, MPI_Status* status), data, status)
TRIREME_FILE_CALL(write_all_end, (MPI_File file, const void* data, MPI_Status* status), data, status)
TRIREME_FILE_CALL(read_at_all_end, (MPI_File file, void* data, MPI_Status* status), data, status)
TRIREME_FILE_CALL(write_at_all_end, (MPI_File file, const void* data, MPI_Status* status), data, status)
TRIREME_FILE_CALL(read_ordered_end, (MPI_File file, void* data, MPI_Status* status), data, status)
TRIREME_FILE_CALL(write_ordered_end, (MPI_File file, const void* data, MPI_Status* status), data, status)
