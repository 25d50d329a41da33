// One-sided communication of Fortran programs under Open MPI; see fortran_calls_openmpi.cpp.
#include "mpi/fortran/fortran_arguments_openmpi.hpp"

using namespace tri::mpi::fortran;

namespace {

MPI_Win window_of(const fint* number) { return PMPI_Win_f2c(*number); }
MPI_Op operation_of(const fint* number) { return PMPI_Op_f2c(*number); }

void give(int result, MPI_Win made, fint* number, fint* error) {
  if (result == MPI_SUCCESS) *number = PMPI_Win_c2f(made);
  set(error, result);
}
void give(int result, MPI_Request pending, fint* number, fint* error) {
  if (result == MPI_SUCCESS) *number = number_of(pending);
  set(error, result);
}

}  // namespace

// ---- making and freeing

TRIREME_FORTRAN(win_create,
                (void* base, MPI_Aint* bytes, fint* unit, fint* info, fint* comm, fint* window, fint* error),
                (base, bytes, unit, info, comm, window, error)) {
  MPI_Win made = MPI_WIN_NULL;
  const int result = MPI_Win_create(base, *bytes, *unit, PMPI_Info_f2c(*info), comm_of(comm), &made);
  give(result, made, window, error);
}

// The base is an integer of the size of an address, or a C_PTR: either holds the address.
#define TRIREME_FORTRAN_ALLOCATE(name, function)                                                                    \
  TRIREME_FORTRAN(name,                                                                                             \
                  (MPI_Aint * bytes, fint * unit, fint * info, fint * comm, void* base, fint* window, fint* error), \
                  (bytes, unit, info, comm, base, window, error)) {                                                 \
    MPI_Win made = MPI_WIN_NULL;                                                                                    \
    const int result = function(*bytes, *unit, PMPI_Info_f2c(*info), comm_of(comm), base, &made);                   \
    give(result, made, window, error);                                                                              \
  }
TRIREME_FORTRAN_ALLOCATE(win_allocate, MPI_Win_allocate)
TRIREME_FORTRAN_ALLOCATE(win_allocate_cptr, MPI_Win_allocate)
TRIREME_FORTRAN_ALLOCATE(win_allocate_shared, MPI_Win_allocate_shared)
TRIREME_FORTRAN_ALLOCATE(win_allocate_shared_cptr, MPI_Win_allocate_shared)

TRIREME_FORTRAN(win_create_dynamic, (fint * info, fint* comm, fint* window, fint* error), (info, comm, window, error)) {
  MPI_Win made = MPI_WIN_NULL;
  const int result = MPI_Win_create_dynamic(PMPI_Info_f2c(*info), comm_of(comm), &made);
  give(result, made, window, error);
}
TRIREME_FORTRAN(win_attach, (fint * window, void* base, MPI_Aint* bytes, fint* error), (window, base, bytes, error)) {
  set(error, MPI_Win_attach(window_of(window), base, *bytes));
}
TRIREME_FORTRAN(win_detach, (fint * window, void* base, fint* error), (window, base, error)) {
  set(error, MPI_Win_detach(window_of(window), base));
}

TRIREME_FORTRAN(win_free, (fint * window, fint* error), (window, error)) {
  MPI_Win freed = window_of(window);
  const int result = MPI_Win_free(&freed);
  if (result == MPI_SUCCESS) *window = PMPI_Win_c2f(freed);
  set(error, result);
}

// ---- synchronization

#define TRIREME_FORTRAN_WINDOW(name, function) \
  TRIREME_FORTRAN(name, (fint * window, fint * error), (window, error)) { set(error, function(window_of(window))); }
#define TRIREME_FORTRAN_NUMBER(name, function)                                                   \
  TRIREME_FORTRAN(name, (fint * number, fint * window, fint * error), (number, window, error)) { \
    set(error, function(*number, window_of(window)));                                            \
  }
#define TRIREME_FORTRAN_GROUP(name, function)                                          \
  TRIREME_FORTRAN(name, (fint * group, fint * assertion, fint * window, fint * error), \
                  (group, assertion, window, error)) {                                 \
    set(error, function(PMPI_Group_f2c(*group), *assertion, window_of(window)));       \
  }
TRIREME_FORTRAN_NUMBER(win_fence, MPI_Win_fence)
TRIREME_FORTRAN_NUMBER(win_unlock, MPI_Win_unlock)
TRIREME_FORTRAN_NUMBER(win_lock_all, MPI_Win_lock_all)
TRIREME_FORTRAN_NUMBER(win_flush, MPI_Win_flush)
TRIREME_FORTRAN_NUMBER(win_flush_local, MPI_Win_flush_local)
TRIREME_FORTRAN_WINDOW(win_unlock_all, MPI_Win_unlock_all)
TRIREME_FORTRAN_WINDOW(win_flush_all, MPI_Win_flush_all)
TRIREME_FORTRAN_WINDOW(win_flush_local_all, MPI_Win_flush_local_all)
TRIREME_FORTRAN_WINDOW(win_sync, MPI_Win_sync)
TRIREME_FORTRAN_WINDOW(win_complete, MPI_Win_complete)
TRIREME_FORTRAN_WINDOW(win_wait, MPI_Win_wait)
TRIREME_FORTRAN_GROUP(win_post, MPI_Win_post)
TRIREME_FORTRAN_GROUP(win_start, MPI_Win_start)

TRIREME_FORTRAN(win_lock, (fint * kind, fint* rank, fint* assertion, fint* window, fint* error),
                (kind, rank, assertion, window, error)) {
  set(error, MPI_Win_lock(*kind, *rank, *assertion, window_of(window)));
}
TRIREME_FORTRAN(win_test, (fint * window, fint* flag, fint* error), (window, flag, error)) {
  int done = 0;
  set(error, MPI_Win_test(window_of(window), &done));
  *flag = truth(done);
}

// ---- accesses

#define TRIREME_FORTRAN_ACCESS(name, function)                                                                      \
  TRIREME_FORTRAN(name,                                                                                             \
                  (void* origin, fint* origin_count, fint* origin_type, fint* target, MPI_Aint* displacement,       \
                   fint* count, fint* type, fint* window, fint* error),                                             \
                  (origin, origin_count, origin_type, target, displacement, count, type, window, error)) {          \
    set(error, function(buffer_of(origin), *origin_count, type_of(origin_type), *target, *displacement, *count,     \
                        type_of(type), window_of(window)));                                                         \
  }                                                                                                                 \
  TRIREME_FORTRAN(r##name,                                                                                          \
                  (void* origin, fint* origin_count, fint* origin_type, fint* target, MPI_Aint* displacement,       \
                   fint* count, fint* type, fint* window, fint* request, fint* error),                              \
                  (origin, origin_count, origin_type, target, displacement, count, type, window, request, error)) { \
    MPI_Request pending = MPI_REQUEST_NULL;                                                                         \
    const int result = MPI_R##name(buffer_of(origin), *origin_count, type_of(origin_type), *target, *displacement,  \
                                   *count, type_of(type), window_of(window), &pending);                             \
    give(result, pending, request, error);                                                                          \
  }
TRIREME_FORTRAN_ACCESS(put, MPI_Put)
TRIREME_FORTRAN_ACCESS(get, MPI_Get)

TRIREME_FORTRAN(accumulate,
                (void* origin, fint* origin_count, fint* origin_type, fint* target, MPI_Aint* displacement, fint* count,
                 fint* type, fint* operation, fint* window, fint* error),
                (origin, origin_count, origin_type, target, displacement, count, type, operation, window, error)) {
  set(error, MPI_Accumulate(buffer_of(origin), *origin_count, type_of(origin_type), *target, *displacement, *count,
                            type_of(type), operation_of(operation), window_of(window)));
}
TRIREME_FORTRAN(raccumulate,
                (void* origin, fint* origin_count, fint* origin_type, fint* target, MPI_Aint* displacement, fint* count,
                 fint* type, fint* operation, fint* window, fint* request, fint* error),
                (origin, origin_count, origin_type, target, displacement, count, type, operation, window, request,
                 error)) {
  MPI_Request pending = MPI_REQUEST_NULL;
  const int result = MPI_Raccumulate(buffer_of(origin), *origin_count, type_of(origin_type), *target, *displacement,
                                     *count, type_of(type), operation_of(operation), window_of(window), &pending);
  give(result, pending, request, error);
}
TRIREME_FORTRAN(get_accumulate,
                (void* origin, fint* origin_count, fint* origin_type, void* found, fint* found_count, fint* found_type,
                 fint* target, MPI_Aint* displacement, fint* count, fint* type, fint* operation, fint* window,
                 fint* error),
                (origin, origin_count, origin_type, found, found_count, found_type, target, displacement, count, type,
                 operation, window, error)) {
  set(error, MPI_Get_accumulate(buffer_of(origin), *origin_count, type_of(origin_type), buffer_of(found), *found_count,
                                type_of(found_type), *target, *displacement, *count, type_of(type),
                                operation_of(operation), window_of(window)));
}
TRIREME_FORTRAN(rget_accumulate,
                (void* origin, fint* origin_count, fint* origin_type, void* found, fint* found_count, fint* found_type,
                 fint* target, MPI_Aint* displacement, fint* count, fint* type, fint* operation, fint* window,
                 fint* request, fint* error),
                (origin, origin_count, origin_type, found, found_count, found_type, target, displacement, count, type,
                 operation, window, request, error)) {
  MPI_Request pending = MPI_REQUEST_NULL;
  const int result = MPI_Rget_accumulate(buffer_of(origin), *origin_count, type_of(origin_type), buffer_of(found),
                                         *found_count, type_of(found_type), *target, *displacement, *count,
                                         type_of(type), operation_of(operation), window_of(window), &pending);
  give(result, pending, request, error);
}
TRIREME_FORTRAN(fetch_and_op,
                (void* origin, void* found, fint* type, fint* target, MPI_Aint* displacement, fint* operation,
                 fint* window, fint* error),
                (origin, found, type, target, displacement, operation, window, error)) {
  set(error, MPI_Fetch_and_op(buffer_of(origin), buffer_of(found), type_of(type), *target, *displacement,
                              operation_of(operation), window_of(window)));
}
TRIREME_FORTRAN(compare_and_swap,
                (void* desired, void* expected, void* found, fint* type, fint* target, MPI_Aint* displacement,
                 fint* window, fint* error),
                (desired, expected, found, type, target, displacement, window, error)) {
  set(error, MPI_Compare_and_swap(buffer_of(desired), buffer_of(expected), buffer_of(found), type_of(type), *target,
                                  *displacement, window_of(window)));
}
