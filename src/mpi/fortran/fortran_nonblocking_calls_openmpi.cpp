// Nonblocking collective operations, as Fortran programs with Open MPI call them
// (fortran_calls_openmpi.cpp).
#include <mpi.h>

#include "mpi/fortran/fortran_arguments_openmpi.hpp"

using namespace tri::mpi::fortran;

namespace {
void give(int result, MPI_Request pending, fint* number, fint* error) {
  if (result == MPI_SUCCESS) *number = number_of(pending);
  set(error, result);
}
}  // namespace

TRIREME_FORTRAN(comm_idup, (fint * comm, fint* made, fint* request, fint* error), (comm, made, request, error)) {
  MPI_Comm c = MPI_COMM_NULL;  // known at once
  MPI_Request pending = MPI_REQUEST_NULL;
  const int result = MPI_Comm_idup(comm_of(comm), &c, &pending);
  if (result == MPI_SUCCESS) *made = PMPI_Comm_c2f(c);
  give(result, pending, request, error);
}
TRIREME_FORTRAN(ibarrier, (fint * comm, fint* request, fint* error), (comm, request, error)) {
  MPI_Request pending = MPI_REQUEST_NULL;
  const int result = MPI_Ibarrier(comm_of(comm), &pending);
  give(result, pending, request, error);
}
TRIREME_FORTRAN(ibcast, (void* buffer, fint* count, fint* type, fint* root, fint* comm, fint* request, fint* error),
                (buffer, count, type, root, comm, request, error)) {
  MPI_Request pending = MPI_REQUEST_NULL;
  const int result = MPI_Ibcast(buffer_of(buffer), *count, type_of(type), *root, comm_of(comm), &pending);
  give(result, pending, request, error);
}
TRIREME_FORTRAN(ireduce,
                (void* from, void* to, fint* count, fint* type, fint* operation, fint* root, fint* comm, fint* request,
                 fint* error),
                (from, to, count, type, operation, root, comm, request, error)) {
  MPI_Request pending = MPI_REQUEST_NULL;
  const int result = MPI_Ireduce(buffer_of(from), buffer_of(to), *count, type_of(type), PMPI_Op_f2c(*operation), *root,
                                 comm_of(comm), &pending);
  give(result, pending, request, error);
}
#define TRIREME_FORTRAN_REDUCTION_BEGIN(name, function, counts)                                                       \
  TRIREME_FORTRAN(                                                                                                    \
      name, (void* from, void* to, fint* count, fint* type, fint* operation, fint* comm, fint* request, fint* error), \
      (from, to, count, type, operation, comm, request, error)) {                                                     \
    MPI_Request pending = MPI_REQUEST_NULL;                                                                           \
    const int result = function(buffer_of(from), buffer_of(to), counts, type_of(type), PMPI_Op_f2c(*operation),       \
                                comm_of(comm), &pending);                                                             \
    give(result, pending, request, error);                                                                            \
  }
TRIREME_FORTRAN_REDUCTION_BEGIN(iallreduce, MPI_Iallreduce, *count)
TRIREME_FORTRAN_REDUCTION_BEGIN(iscan, MPI_Iscan, *count)
TRIREME_FORTRAN_REDUCTION_BEGIN(iexscan, MPI_Iexscan, *count)
TRIREME_FORTRAN_REDUCTION_BEGIN(ireduce_scatter_block, MPI_Ireduce_scatter_block, *count)
TRIREME_FORTRAN_REDUCTION_BEGIN(ireduce_scatter, MPI_Ireduce_scatter, count)
#undef TRIREME_FORTRAN_REDUCTION_BEGIN

#define TRIREME_FORTRAN_ROOTED_BEGIN(name, function)                                                                   \
  TRIREME_FORTRAN(name,                                                                                                \
                  (void* from, fint* from_count, fint* from_type, void* to, fint* to_count, fint* to_type, fint* root, \
                   fint* comm, fint* request, fint* error),                                                            \
                  (from, from_count, from_type, to, to_count, to_type, root, comm, request, error)) {                  \
    MPI_Request pending = MPI_REQUEST_NULL;                                                                            \
    const int result = function(buffer_of(from), *from_count, type_of(from_type), buffer_of(to), *to_count,            \
                                type_of(to_type), *root, comm_of(comm), &pending);                                     \
    give(result, pending, request, error);                                                                             \
  }
TRIREME_FORTRAN_ROOTED_BEGIN(igather, MPI_Igather)
TRIREME_FORTRAN_ROOTED_BEGIN(iscatter, MPI_Iscatter)

TRIREME_FORTRAN(igatherv,
                (void* from, fint* from_count, fint* from_type, void* to, fint* counts, fint* displacements,
                 fint* to_type, fint* root, fint* comm, fint* request, fint* error),
                (from, from_count, from_type, to, counts, displacements, to_type, root, comm, request, error)) {
  MPI_Request pending = MPI_REQUEST_NULL;
  const int result = MPI_Igatherv(buffer_of(from), *from_count, type_of(from_type), buffer_of(to), counts,
                                  displacements, type_of(to_type), *root, comm_of(comm), &pending);
  give(result, pending, request, error);
}
TRIREME_FORTRAN(iscatterv,
                (void* from, fint* counts, fint* displacements, fint* from_type, void* to, fint* to_count,
                 fint* to_type, fint* root, fint* comm, fint* request, fint* error),
                (from, counts, displacements, from_type, to, to_count, to_type, root, comm, request, error)) {
  MPI_Request pending = MPI_REQUEST_NULL;
  const int result = MPI_Iscatterv(buffer_of(from), counts, displacements, type_of(from_type), buffer_of(to), *to_count,
                                   type_of(to_type), *root, comm_of(comm), &pending);
  give(result, pending, request, error);
}

#define TRIREME_FORTRAN_ALL_BEGIN(name, function)                                                                      \
  TRIREME_FORTRAN(name,                                                                                                \
                  (void* from, fint* from_count, fint* from_type, void* to, fint* to_count, fint* to_type, fint* comm, \
                   fint* request, fint* error),                                                                        \
                  (from, from_count, from_type, to, to_count, to_type, comm, request, error)) {                        \
    MPI_Request pending = MPI_REQUEST_NULL;                                                                            \
    const int result = function(buffer_of(from), *from_count, type_of(from_type), buffer_of(to), *to_count,            \
                                type_of(to_type), comm_of(comm), &pending);                                            \
    give(result, pending, request, error);                                                                             \
  }
TRIREME_FORTRAN_ALL_BEGIN(iallgather, MPI_Iallgather)
TRIREME_FORTRAN_ALL_BEGIN(ialltoall, MPI_Ialltoall)

TRIREME_FORTRAN(iallgatherv,
                (void* from, fint* from_count, fint* from_type, void* to, fint* counts, fint* displacements,
                 fint* to_type, fint* comm, fint* request, fint* error),
                (from, from_count, from_type, to, counts, displacements, to_type, comm, request, error)) {
  MPI_Request pending = MPI_REQUEST_NULL;
  const int result = MPI_Iallgatherv(buffer_of(from), *from_count, type_of(from_type), buffer_of(to), counts,
                                     displacements, type_of(to_type), comm_of(comm), &pending);
  give(result, pending, request, error);
}
TRIREME_FORTRAN(ialltoallv,
                (void* from, fint* from_counts, fint* from_displacements, fint* from_type, void* to, fint* to_counts,
                 fint* to_displacements, fint* to_type, fint* comm, fint* request, fint* error),
                (from, from_counts, from_displacements, from_type, to, to_counts, to_displacements, to_type, comm,
                 request, error)) {
  MPI_Request pending = MPI_REQUEST_NULL;
  const int result = MPI_Ialltoallv(buffer_of(from), from_counts, from_displacements, type_of(from_type), buffer_of(to),
                                    to_counts, to_displacements, type_of(to_type), comm_of(comm), &pending);
  give(result, pending, request, error);
}
