// Open MPI's Fortran bindings call the library's inner names (PMPI_...), so our C functions do not see the calls of
// Fortran programs; these interpose the bindings themselves. Compiled for Open MPI only: MPICH's bindings call the C
// functions.
#include <mpi.h>

#include <vector>

#include "mpi/fortran/fortran_arguments_openmpi.hpp"

using namespace tri::mpi::fortran;

#define TRIREME_FORTRAN_SEND(name, function)                                                                       \
  TRIREME_FORTRAN(name, (void* buffer, fint* count, fint* type, fint* target, fint* tag, fint* comm, fint* error), \
                  (buffer, count, type, target, tag, comm, error)) {                                               \
    set(error, function(buffer_of(buffer), *count, type_of(type), *target, *tag, comm_of(comm)));                  \
  }
TRIREME_FORTRAN_SEND(send, MPI_Send)
TRIREME_FORTRAN_SEND(bsend, MPI_Bsend)
TRIREME_FORTRAN_SEND(ssend, MPI_Ssend)
TRIREME_FORTRAN_SEND(rsend, MPI_Rsend)

#define TRIREME_FORTRAN_BEGIN(name, function)                                                                       \
  TRIREME_FORTRAN(                                                                                                  \
      name, (void* buffer, fint* count, fint* type, fint* peer, fint* tag, fint* comm, fint* request, fint* error), \
      (buffer, count, type, peer, tag, comm, request, error)) {                                                     \
    MPI_Request pending = MPI_REQUEST_NULL;                                                                         \
    const int result = function(buffer_of(buffer), *count, type_of(type), *peer, *tag, comm_of(comm), &pending);    \
    if (result == MPI_SUCCESS) *request = number_of(pending);                                                       \
    set(error, result);                                                                                             \
  }
TRIREME_FORTRAN_BEGIN(isend, MPI_Isend)
TRIREME_FORTRAN_BEGIN(ibsend, MPI_Ibsend)
TRIREME_FORTRAN_BEGIN(issend, MPI_Issend)
TRIREME_FORTRAN_BEGIN(irsend, MPI_Irsend)
TRIREME_FORTRAN_BEGIN(irecv, MPI_Irecv)
TRIREME_FORTRAN_BEGIN(send_init, MPI_Send_init)
TRIREME_FORTRAN_BEGIN(bsend_init, MPI_Bsend_init)
TRIREME_FORTRAN_BEGIN(ssend_init, MPI_Ssend_init)
TRIREME_FORTRAN_BEGIN(rsend_init, MPI_Rsend_init)
TRIREME_FORTRAN_BEGIN(recv_init, MPI_Recv_init)

TRIREME_FORTRAN(recv,
                (void* buffer, fint* count, fint* type, fint* source, fint* tag, fint* comm, fint* status, fint* error),
                (buffer, count, type, source, tag, comm, status, error)) {
  statuses_of c(status);
  set(error, MPI_Recv(buffer_of(buffer), *count, type_of(type), *source, *tag, comm_of(comm), c.get()));
  c.copy_out();
}

TRIREME_FORTRAN(sendrecv,
                (void* send_buffer, fint* send_count, fint* send_type, fint* target, fint* send_tag, void* buffer,
                 fint* count, fint* type, fint* source, fint* tag, fint* comm, fint* status, fint* error),
                (send_buffer, send_count, send_type, target, send_tag, buffer, count, type, source, tag, comm, status,
                 error)) {
  statuses_of c(status);
  set(error, MPI_Sendrecv(buffer_of(send_buffer), *send_count, type_of(send_type), *target, *send_tag,
                          buffer_of(buffer), *count, type_of(type), *source, *tag, comm_of(comm), c.get()));
  c.copy_out();
}

TRIREME_FORTRAN(sendrecv_replace,
                (void* buffer, fint* count, fint* type, fint* target, fint* send_tag, fint* source, fint* tag,
                 fint* comm, fint* status, fint* error),
                (buffer, count, type, target, send_tag, source, tag, comm, status, error)) {
  statuses_of c(status);
  set(error, MPI_Sendrecv_replace(buffer_of(buffer), *count, type_of(type), *target, *send_tag, *source, *tag,
                                  comm_of(comm), c.get()));
  c.copy_out();
}

TRIREME_FORTRAN(buffer_attach, (void* buffer, fint* bytes, fint* error), (buffer, bytes, error)) {
  set(error, MPI_Buffer_attach(buffer, *bytes));
}

TRIREME_FORTRAN(probe, (fint * source, fint* tag, fint* comm, fint* status, fint* error),
                (source, tag, comm, status, error)) {
  statuses_of c(status);
  set(error, MPI_Probe(*source, *tag, comm_of(comm), c.get()));
  c.copy_out();
}

TRIREME_FORTRAN(iprobe, (fint * source, fint* tag, fint* comm, fint* flag, fint* status, fint* error),
                (source, tag, comm, flag, status, error)) {
  statuses_of c(status);
  int found = 0;
  set(error, MPI_Iprobe(*source, *tag, comm_of(comm), &found, c.get()));
  *flag = truth(found);
  if (found != 0) c.copy_out();
}

TRIREME_FORTRAN(mprobe, (fint * source, fint* tag, fint* comm, fint* message, fint* status, fint* error),
                (source, tag, comm, message, status, error)) {
  statuses_of c(status);
  MPI_Message taken = MPI_MESSAGE_NULL;
  set(error, MPI_Mprobe(*source, *tag, comm_of(comm), &taken, c.get()));
  *message = number_of(taken);
  c.copy_out();
}

TRIREME_FORTRAN(improbe, (fint * source, fint* tag, fint* comm, fint* flag, fint* message, fint* status, fint* error),
                (source, tag, comm, flag, message, status, error)) {
  statuses_of c(status);
  MPI_Message taken = MPI_MESSAGE_NULL;
  int found = 0;
  set(error, MPI_Improbe(*source, *tag, comm_of(comm), &found, &taken, c.get()));
  *flag = truth(found);
  *message = number_of(taken);
  if (found != 0) c.copy_out();
}

TRIREME_FORTRAN(mrecv, (void* buffer, fint* count, fint* type, fint* message, fint* status, fint* error),
                (buffer, count, type, message, status, error)) {
  statuses_of c(status);
  MPI_Message taken = message_of(*message);
  set(error, MPI_Mrecv(buffer_of(buffer), *count, type_of(type), &taken, c.get()));
  *message = number_of(taken);
  c.copy_out();
}

TRIREME_FORTRAN(imrecv, (void* buffer, fint* count, fint* type, fint* message, fint* request, fint* error),
                (buffer, count, type, message, request, error)) {
  MPI_Message taken = message_of(*message);
  MPI_Request pending = MPI_REQUEST_NULL;
  set(error, MPI_Imrecv(buffer_of(buffer), *count, type_of(type), &taken, &pending));
  *message = number_of(taken);
  *request = number_of(pending);
}

TRIREME_FORTRAN(wait, (fint * request, fint* status, fint* error), (request, status, error)) {
  statuses_of c(status);
  request_list list(request, 1);
  set(error, MPI_Wait(list.get(), c.get()));
  list.copy_out();
  c.copy_out();
}

TRIREME_FORTRAN(test, (fint * request, fint* flag, fint* status, fint* error), (request, flag, status, error)) {
  statuses_of c(status);
  request_list list(request, 1);
  int done = 0;
  set(error, MPI_Test(list.get(), &done, c.get()));
  *flag = truth(done);
  list.copy_out();
  if (done != 0) c.copy_out();
}

TRIREME_FORTRAN(request_get_status, (fint * request, fint* flag, fint* status, fint* error),
                (request, flag, status, error)) {
  statuses_of c(status);
  int done = 0;
  set(error, MPI_Request_get_status(request_of(*request), &done, c.get()));
  *flag = truth(done);
  if (done != 0) c.copy_out();
}

TRIREME_FORTRAN(waitall, (fint * count, fint* requests, fint* statuses, fint* error),
                (count, requests, statuses, error)) {
  statuses_of c(statuses, *count);
  request_list list(requests, *count);
  set(error, MPI_Waitall(*count, list.get(), c.all()));
  list.copy_out();
  c.copy_out();
}

TRIREME_FORTRAN(testall, (fint * count, fint* requests, fint* flag, fint* statuses, fint* error),
                (count, requests, flag, statuses, error)) {
  statuses_of c(statuses, *count);
  request_list list(requests, *count);
  int done = 0;
  set(error, MPI_Testall(*count, list.get(), &done, c.all()));
  *flag = truth(done);
  list.copy_out();
  if (done != 0) c.copy_out();
}

TRIREME_FORTRAN(waitany, (fint * count, fint* requests, fint* index, fint* status, fint* error),
                (count, requests, index, status, error)) {
  statuses_of c(status);
  request_list list(requests, *count);
  int which = MPI_UNDEFINED;
  set(error, MPI_Waitany(*count, list.get(), &which, c.get()));
  *index = which == MPI_UNDEFINED ? MPI_UNDEFINED : which + 1;
  list.copy_out();
  c.copy_out();
}

TRIREME_FORTRAN(testany, (fint * count, fint* requests, fint* index, fint* flag, fint* status, fint* error),
                (count, requests, index, flag, status, error)) {
  statuses_of c(status);
  request_list list(requests, *count);
  int which = MPI_UNDEFINED;
  int done = 0;
  set(error, MPI_Testany(*count, list.get(), &which, &done, c.get()));
  *flag = truth(done);
  *index = which == MPI_UNDEFINED ? MPI_UNDEFINED : which + 1;
  list.copy_out();
  if (done != 0) c.copy_out();
}

#define TRIREME_FORTRAN_SOME(name, function)                                                                         \
  TRIREME_FORTRAN(name, (fint * count, fint * requests, fint * done, fint * indices, fint * statuses, fint * error), \
                  (count, requests, done, indices, statuses, error)) {                                               \
    statuses_of c(statuses, *count);                                                                                 \
    request_list list(requests, *count);                                                                             \
    set(error, function(*count, list.get(), done, indices, c.all()));                                                \
    if (*done != MPI_UNDEFINED)                                                                                      \
      for (fint i = 0; i < *done; ++i) ++indices[i];                                                                 \
    list.copy_out();                                                                                                 \
    c.copy_out();                                                                                                    \
  }
TRIREME_FORTRAN_SOME(waitsome, MPI_Waitsome)
TRIREME_FORTRAN_SOME(testsome, MPI_Testsome)

#define TRIREME_FORTRAN_REQUEST(name, function)                             \
  TRIREME_FORTRAN(name, (fint * request, fint * error), (request, error)) { \
    request_list list(request, 1);                                          \
    set(error, function(list.get()));                                       \
    list.copy_out();                                                        \
  }
TRIREME_FORTRAN_REQUEST(request_free, MPI_Request_free)
TRIREME_FORTRAN_REQUEST(cancel, MPI_Cancel)
TRIREME_FORTRAN_REQUEST(start, MPI_Start)

TRIREME_FORTRAN(startall, (fint * count, fint* requests, fint* error), (count, requests, error)) {
  request_list list(requests, *count);
  set(error, MPI_Startall(*count, list.get()));
  list.copy_out();
}

// ---- the library's Fortran functions make communicators by its inner names; ours have to see them

namespace {
void give(int result, MPI_Comm made, fint* number, fint* error) {
  if (result == MPI_SUCCESS) *number = PMPI_Comm_c2f(made);
  set(error, result);
}
}  // namespace

TRIREME_FORTRAN(comm_dup, (fint * comm, fint* made, fint* error), (comm, made, error)) {
  MPI_Comm c = MPI_COMM_NULL;
  const int result = MPI_Comm_dup(comm_of(comm), &c);
  give(result, c, made, error);
}
TRIREME_FORTRAN(comm_dup_with_info, (fint * comm, fint* info, fint* made, fint* error), (comm, info, made, error)) {
  MPI_Comm c = MPI_COMM_NULL;
  const int result = MPI_Comm_dup_with_info(comm_of(comm), PMPI_Info_f2c(*info), &c);
  give(result, c, made, error);
}
TRIREME_FORTRAN(comm_set_info, (fint * comm, fint* info, fint* error), (comm, info, error)) {
  set(error, MPI_Comm_set_info(comm_of(comm), PMPI_Info_f2c(*info)));
}
TRIREME_FORTRAN(comm_get_info, (fint * comm, fint* used, fint* error), (comm, used, error)) {
  MPI_Info c = MPI_INFO_NULL;
  const int result = MPI_Comm_get_info(comm_of(comm), &c);
  if (result == MPI_SUCCESS) *used = PMPI_Info_c2f(c);
  set(error, result);
}
TRIREME_FORTRAN(comm_split, (fint * comm, fint* colour, fint* key, fint* made, fint* error),
                (comm, colour, key, made, error)) {
  MPI_Comm c = MPI_COMM_NULL;
  const int result = MPI_Comm_split(comm_of(comm), *colour, *key, &c);
  give(result, c, made, error);
}
TRIREME_FORTRAN(comm_split_type, (fint * comm, fint* type, fint* key, fint* info, fint* made, fint* error),
                (comm, type, key, info, made, error)) {
  MPI_Comm c = MPI_COMM_NULL;
  const int result = MPI_Comm_split_type(comm_of(comm), *type, *key, PMPI_Info_f2c(*info), &c);
  give(result, c, made, error);
}
TRIREME_FORTRAN(comm_create, (fint * comm, fint* group, fint* made, fint* error), (comm, group, made, error)) {
  MPI_Comm c = MPI_COMM_NULL;
  const int result = MPI_Comm_create(comm_of(comm), PMPI_Group_f2c(*group), &c);
  give(result, c, made, error);
}
TRIREME_FORTRAN(comm_create_group, (fint * comm, fint* group, fint* tag, fint* made, fint* error),
                (comm, group, tag, made, error)) {
  MPI_Comm c = MPI_COMM_NULL;
  const int result = MPI_Comm_create_group(comm_of(comm), PMPI_Group_f2c(*group), *tag, &c);
  give(result, c, made, error);
}
TRIREME_FORTRAN(intercomm_create,
                (fint * local, fint* leader, fint* peers, fint* remote_leader, fint* tag, fint* made, fint* error),
                (local, leader, peers, remote_leader, tag, made, error)) {
  MPI_Comm c = MPI_COMM_NULL;
  const int result = MPI_Intercomm_create(comm_of(local), *leader, comm_of(peers), *remote_leader, *tag, &c);
  give(result, c, made, error);
}
TRIREME_FORTRAN(intercomm_merge, (fint * comm, fint* high, fint* made, fint* error), (comm, high, made, error)) {
  MPI_Comm c = MPI_COMM_NULL;
  const int result = MPI_Intercomm_merge(comm_of(comm), *high != 0 ? 1 : 0, &c);
  give(result, c, made, error);
}
TRIREME_FORTRAN(cart_create,
                (fint * comm, fint* dimensions, fint* sizes, fint* periodic, fint* reorder, fint* made, fint* error),
                (comm, dimensions, sizes, periodic, reorder, made, error)) {
  std::vector<int> wraps;
  for (fint i = 0; i < *dimensions; ++i) wraps.push_back(periodic[i] != 0 ? 1 : 0);
  MPI_Comm c = MPI_COMM_NULL;
  const int result = MPI_Cart_create(comm_of(comm), *dimensions, sizes, wraps.data(), *reorder != 0 ? 1 : 0, &c);
  give(result, c, made, error);
}
TRIREME_FORTRAN(cart_sub, (fint * comm, fint* remain, fint* made, fint* error), (comm, remain, made, error)) {
  int dimensions = 0;
  PMPI_Cartdim_get(comm_of(comm), &dimensions);
  std::vector<int> stay;
  for (int i = 0; i < dimensions; ++i) stay.push_back(remain[i] != 0 ? 1 : 0);
  MPI_Comm c = MPI_COMM_NULL;
  const int result = MPI_Cart_sub(comm_of(comm), stay.data(), &c);
  give(result, c, made, error);
}
TRIREME_FORTRAN(comm_free, (fint * comm, fint* error), (comm, error)) {
  MPI_Comm c = comm_of(comm);
  set(error, MPI_Comm_free(&c));
  *comm = PMPI_Comm_c2f(c);
}
TRIREME_FORTRAN(comm_disconnect, (fint * comm, fint* error), (comm, error)) {
  MPI_Comm c = comm_of(comm);
  set(error, MPI_Comm_disconnect(&c));
  *comm = PMPI_Comm_c2f(c);
}
TRIREME_FORTRAN(type_free, (fint * type, fint* error), (type, error)) {
  MPI_Datatype c = type_of(type);
  set(error, MPI_Type_free(&c));
  *type = PMPI_Type_c2f(c);
}
TRIREME_FORTRAN(op_free, (fint * operation, fint* error), (operation, error)) {
  MPI_Op c = PMPI_Op_f2c(*operation);
  set(error, MPI_Op_free(&c));
  *operation = PMPI_Op_c2f(c);
}

// ---- environment

TRIREME_FORTRAN(init, (fint * error), (error)) {
  int count = 0;
  char** arguments = nullptr;
  set(error, MPI_Init(&count, &arguments));
}
TRIREME_FORTRAN(init_thread, (fint * required, fint* provided, fint* error), (required, provided, error)) {
  int count = 0;
  char** arguments = nullptr;
  set(error, MPI_Init_thread(&count, &arguments, *required, provided));
}

// ---- collective operations

TRIREME_FORTRAN(barrier, (fint * comm, fint* error), (comm, error)) { set(error, MPI_Barrier(comm_of(comm))); }
TRIREME_FORTRAN(bcast, (void* buffer, fint* count, fint* type, fint* root, fint* comm, fint* error),
                (buffer, count, type, root, comm, error)) {
  set(error, MPI_Bcast(buffer_of(buffer), *count, type_of(type), *root, comm_of(comm)));
}
TRIREME_FORTRAN(reduce,
                (void* from, void* to, fint* count, fint* type, fint* operation, fint* root, fint* comm, fint* error),
                (from, to, count, type, operation, root, comm, error)) {
  set(error,
      MPI_Reduce(buffer_of(from), buffer_of(to), *count, type_of(type), PMPI_Op_f2c(*operation), *root, comm_of(comm)));
}
#define TRIREME_FORTRAN_REDUCTION(name, function, counts)                                                          \
  TRIREME_FORTRAN(name, (void* from, void* to, fint* count, fint* type, fint* operation, fint* comm, fint* error), \
                  (from, to, count, type, operation, comm, error)) {                                               \
    set(error,                                                                                                     \
        function(buffer_of(from), buffer_of(to), counts, type_of(type), PMPI_Op_f2c(*operation), comm_of(comm)));  \
  }
TRIREME_FORTRAN_REDUCTION(allreduce, MPI_Allreduce, *count)
TRIREME_FORTRAN_REDUCTION(scan, MPI_Scan, *count)
TRIREME_FORTRAN_REDUCTION(exscan, MPI_Exscan, *count)
TRIREME_FORTRAN_REDUCTION(reduce_scatter_block, MPI_Reduce_scatter_block, *count)
TRIREME_FORTRAN_REDUCTION(reduce_scatter, MPI_Reduce_scatter, count)
#undef TRIREME_FORTRAN_REDUCTION

#define TRIREME_FORTRAN_ROOTED(name, function)                                                                         \
  TRIREME_FORTRAN(name,                                                                                                \
                  (void* from, fint* from_count, fint* from_type, void* to, fint* to_count, fint* to_type, fint* root, \
                   fint* comm, fint* error),                                                                           \
                  (from, from_count, from_type, to, to_count, to_type, root, comm, error)) {                           \
    set(error, function(buffer_of(from), *from_count, type_of(from_type), buffer_of(to), *to_count, type_of(to_type),  \
                        *root, comm_of(comm)));                                                                        \
  }
TRIREME_FORTRAN_ROOTED(gather, MPI_Gather)
TRIREME_FORTRAN_ROOTED(scatter, MPI_Scatter)

TRIREME_FORTRAN(gatherv,
                (void* from, fint* from_count, fint* from_type, void* to, fint* counts, fint* displacements,
                 fint* to_type, fint* root, fint* comm, fint* error),
                (from, from_count, from_type, to, counts, displacements, to_type, root, comm, error)) {
  set(error, MPI_Gatherv(buffer_of(from), *from_count, type_of(from_type), buffer_of(to), counts, displacements,
                         type_of(to_type), *root, comm_of(comm)));
}
TRIREME_FORTRAN(scatterv,
                (void* from, fint* counts, fint* displacements, fint* from_type, void* to, fint* to_count,
                 fint* to_type, fint* root, fint* comm, fint* error),
                (from, counts, displacements, from_type, to, to_count, to_type, root, comm, error)) {
  set(error, MPI_Scatterv(buffer_of(from), counts, displacements, type_of(from_type), buffer_of(to), *to_count,
                          type_of(to_type), *root, comm_of(comm)));
}

#define TRIREME_FORTRAN_ALL(name, function)                                                                            \
  TRIREME_FORTRAN(name,                                                                                                \
                  (void* from, fint* from_count, fint* from_type, void* to, fint* to_count, fint* to_type, fint* comm, \
                   fint* error),                                                                                       \
                  (from, from_count, from_type, to, to_count, to_type, comm, error)) {                                 \
    set(error, function(buffer_of(from), *from_count, type_of(from_type), buffer_of(to), *to_count, type_of(to_type),  \
                        comm_of(comm)));                                                                               \
  }
TRIREME_FORTRAN_ALL(allgather, MPI_Allgather)
TRIREME_FORTRAN_ALL(alltoall, MPI_Alltoall)

TRIREME_FORTRAN(allgatherv,
                (void* from, fint* from_count, fint* from_type, void* to, fint* counts, fint* displacements,
                 fint* to_type, fint* comm, fint* error),
                (from, from_count, from_type, to, counts, displacements, to_type, comm, error)) {
  set(error, MPI_Allgatherv(buffer_of(from), *from_count, type_of(from_type), buffer_of(to), counts, displacements,
                            type_of(to_type), comm_of(comm)));
}
TRIREME_FORTRAN(alltoallv,
                (void* from, fint* from_counts, fint* from_displacements, fint* from_type, void* to, fint* to_counts,
                 fint* to_displacements, fint* to_type, fint* comm, fint* error),
                (from, from_counts, from_displacements, from_type, to, to_counts, to_displacements, to_type, comm,
                 error)) {
  set(error, MPI_Alltoallv(buffer_of(from), from_counts, from_displacements, type_of(from_type), buffer_of(to),
                           to_counts, to_displacements, type_of(to_type), comm_of(comm)));
}

// ---- C programs that hand requests to Fortran

TRIREME_EXPORTED fint MPI_Request_c2f(MPI_Request request) { return number_of(request); }
TRIREME_EXPORTED MPI_Request MPI_Request_f2c(fint number) { return request_of(number); }
TRIREME_EXPORTED fint MPI_Message_c2f(MPI_Message message) { return number_of(message); }
TRIREME_EXPORTED MPI_Message MPI_Message_f2c(fint number) { return message_of(number); }
