// Collective calls on files of Fortran programs under Open MPI; see fortran_calls_openmpi.cpp.
#include <string>

#include "mpi/fortran/fortran_arguments_openmpi.hpp"

using namespace tri::mpi::fortran;

namespace {

MPI_File file_of(const fint* number) { return PMPI_File_f2c(*number); }

// Filled with blanks.
std::string text_of(const char* characters, std::size_t length) {
  while (length > 0 && characters[length - 1] == ' ') --length;
  return {characters, length};
}

}  // namespace

TRIREME_FORTRAN(file_open, (fint * comm, char* name, fint* mode, fint* info, fint* file, fint* error, int length),
                (comm, name, mode, info, file, error, length)) {
  MPI_File made = nullptr;  // a program without MPI lacks MPI_FILE_NULL
  const std::string path = text_of(name, static_cast<std::size_t>(length));
  const int result = MPI_File_open(comm_of(comm), path.c_str(), *mode, PMPI_Info_f2c(*info), &made);
  if (result == MPI_SUCCESS) *file = PMPI_File_c2f(made);
  set(error, result);
}
TRIREME_FORTRAN(file_close, (fint * file, fint* error), (file, error)) {
  MPI_File closed = file_of(file);
  const int result = MPI_File_close(&closed);
  if (result == MPI_SUCCESS) *file = PMPI_File_c2f(closed);
  set(error, result);
}
TRIREME_FORTRAN(file_sync, (fint * file, fint* error), (file, error)) { set(error, MPI_File_sync(file_of(file))); }
TRIREME_FORTRAN(file_set_size, (fint * file, MPI_Offset* size, fint* error), (file, size, error)) {
  set(error, MPI_File_set_size(file_of(file), *size));
}
TRIREME_FORTRAN(file_preallocate, (fint * file, MPI_Offset* size, fint* error), (file, size, error)) {
  set(error, MPI_File_preallocate(file_of(file), *size));
}
TRIREME_FORTRAN(file_set_info, (fint * file, fint* info, fint* error), (file, info, error)) {
  set(error, MPI_File_set_info(file_of(file), PMPI_Info_f2c(*info)));
}
TRIREME_FORTRAN(file_set_atomicity, (fint * file, fint* is_atomic, fint* error), (file, is_atomic, error)) {
  set(error, MPI_File_set_atomicity(file_of(file), *is_atomic != 0 ? 1 : 0));
}
TRIREME_FORTRAN(file_seek_shared, (fint * file, MPI_Offset* offset, fint* whence, fint* error),
                (file, offset, whence, error)) {
  set(error, MPI_File_seek_shared(file_of(file), *offset, *whence));
}
TRIREME_FORTRAN(file_set_view,
                (fint * file, MPI_Offset* displacement, fint* element, fint* type, char* representation, fint* info,
                 fint* error, int length),
                (file, displacement, element, type, representation, info, error, length)) {
  set(error,
      MPI_File_set_view(file_of(file), *displacement, type_of(element), type_of(type),
                        text_of(representation, static_cast<std::size_t>(length)).c_str(), PMPI_Info_f2c(*info)));
}

#define TRIREME_FORTRAN_TRANSFER(name, function)                                                       \
  TRIREME_FORTRAN(name, (fint * file, void* data, fint* count, fint* type, fint* status, fint* error), \
                  (file, data, count, type, status, error)) {                                          \
    statuses_of c(status);                                                                             \
    set(error, function(file_of(file), buffer_of(data), *count, type_of(type), c.get()));              \
    c.copy_out();                                                                                      \
  }
#define TRIREME_FORTRAN_TRANSFER_AT(name, function)                                                                   \
  TRIREME_FORTRAN(name,                                                                                               \
                  (fint * file, MPI_Offset * offset, void* data, fint* count, fint* type, fint* status, fint* error), \
                  (file, offset, data, count, type, status, error)) {                                                 \
    statuses_of c(status);                                                                                            \
    set(error, function(file_of(file), *offset, buffer_of(data), *count, type_of(type), c.get()));                    \
    c.copy_out();                                                                                                     \
  }
#define TRIREME_FORTRAN_TRANSFER_BEGIN(name, function)                                   \
  TRIREME_FORTRAN(name, (fint * file, void* data, fint* count, fint* type, fint* error), \
                  (file, data, count, type, error)) {                                    \
    set(error, function(file_of(file), buffer_of(data), *count, type_of(type)));         \
  }
#define TRIREME_FORTRAN_TRANSFER_AT_BEGIN(name, function)                                                     \
  TRIREME_FORTRAN(name, (fint * file, MPI_Offset * offset, void* data, fint* count, fint* type, fint* error), \
                  (file, offset, data, count, type, error)) {                                                 \
    set(error, function(file_of(file), *offset, buffer_of(data), *count, type_of(type)));                     \
  }
#define TRIREME_FORTRAN_TRANSFER_END(name, function)                                                         \
  TRIREME_FORTRAN(name, (fint * file, void* data, fint* status, fint* error), (file, data, status, error)) { \
    statuses_of c(status);                                                                                   \
    set(error, function(file_of(file), buffer_of(data), c.get()));                                           \
    c.copy_out();                                                                                            \
  }
TRIREME_FORTRAN_TRANSFER(file_read_all, MPI_File_read_all)
TRIREME_FORTRAN_TRANSFER(file_write_all, MPI_File_write_all)
TRIREME_FORTRAN_TRANSFER(file_read_ordered, MPI_File_read_ordered)
TRIREME_FORTRAN_TRANSFER(file_write_ordered, MPI_File_write_ordered)
TRIREME_FORTRAN_TRANSFER_AT(file_read_at_all, MPI_File_read_at_all)
TRIREME_FORTRAN_TRANSFER_AT(file_write_at_all, MPI_File_write_at_all)
TRIREME_FORTRAN_TRANSFER_BEGIN(file_read_all_begin, MPI_File_read_all_begin)
TRIREME_FORTRAN_TRANSFER_BEGIN(file_write_all_begin, MPI_File_write_all_begin)
TRIREME_FORTRAN_TRANSFER_BEGIN(file_read_ordered_begin, MPI_File_read_ordered_begin)
TRIREME_FORTRAN_TRANSFER_BEGIN(file_write_ordered_begin, MPI_File_write_ordered_begin)
TRIREME_FORTRAN_TRANSFER_AT_BEGIN(file_read_at_all_begin, MPI_File_read_at_all_begin)
TRIREME_FORTRAN_TRANSFER_AT_BEGIN(file_write_at_all_begin, MPI_File_write_at_all_begin)
TRIREME_FORTRAN_TRANSFER_END(file_read_all_end, MPI_File_read_all_end)
TRIREME_FORTRAN_TRANSFER_END(file_write_all_end, MPI_File_write_all_end)
TRIREME_FORTRAN_TRANSFER_END(file_read_ordered_end, MPI_File_read_ordered_end)
TRIREME_FORTRAN_TRANSFER_END(file_write_ordered_end, MPI_File_write_ordered_end)
TRIREME_FORTRAN_TRANSFER_END(file_read_at_all_end, MPI_File_read_at_all_end)
TRIREME_FORTRAN_TRANSFER_END(file_write_at_all_end, MPI_File_write_at_all_end)
