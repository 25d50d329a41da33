// Point-to-point calls that came with MPI 4: large counts, and exchanges that are begun. Libraries of MPI 3 have none.
#include <mpi.h>

#if MPI_VERSION >= 4

#include "mpi/calls/exported.hpp"
#include "mpi/calls/point_to_point.hpp"
#include "mpi/calls/session.hpp"

using namespace tri::mpi;

#define TRIREME_SEND(name, in_lower_case, mode)                                                                     \
  TRIREME_EXPORTED int MPI_##name##_c(const void* buffer, MPI_Count count, MPI_Datatype type, int target, int tag,  \
                                      MPI_Comm comm) {                                                              \
    return ours_or_library(                                                                                         \
        [&](session& in) {                                                                                          \
          return complete(in, send_of(buffer, count, type, target, tag, comm, mode), MPI_STATUS_IGNORE);            \
        },                                                                                                          \
        [&] { return PMPI_##name##_c(buffer, count, type, target, tag, comm); });                                   \
  }                                                                                                                 \
  TRIREME_EXPORTED int MPI_I##in_lower_case##_c(const void* buffer, MPI_Count count, MPI_Datatype type, int target, \
                                                int tag, MPI_Comm comm, MPI_Request* request) {                     \
    return ours_or_library(                                                                                         \
        [&](session& in) { return begin(in, send_of(buffer, count, type, target, tag, comm, mode), request); },     \
        [&] { return PMPI_I##in_lower_case##_c(buffer, count, type, target, tag, comm, request); });                \
  }                                                                                                                 \
  TRIREME_EXPORTED int MPI_##name##_init_c(const void* buffer, MPI_Count count, MPI_Datatype type, int target,      \
                                           int tag, MPI_Comm comm, MPI_Request* request) {                          \
    return ours_or_library(                                                                                         \
        [&](session&) { return make_persistent(send_of(buffer, count, type, target, tag, comm, mode), request); },  \
        [&] { return PMPI_##name##_init_c(buffer, count, type, target, tag, comm, request); });                     \
  }
TRIREME_SEND(Send, send, send_mode::standard)
TRIREME_SEND(Bsend, bsend, send_mode::buffered)
TRIREME_SEND(Ssend, ssend, send_mode::synchronous)
TRIREME_SEND(Rsend, rsend, send_mode::standard)
#undef TRIREME_SEND

TRIREME_EXPORTED int MPI_Recv_c(void* buffer, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                                MPI_Status* status) {
  return ours_or_library(
      [&](session& in) { return complete(in, receive_of(buffer, count, type, source, tag, comm), status); },
      [&] { return PMPI_Recv_c(buffer, count, type, source, tag, comm, status); });
}

TRIREME_EXPORTED int MPI_Irecv_c(void* buffer, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                                 MPI_Request* request) {
  return ours_or_library(
      [&](session& in) { return begin(in, receive_of(buffer, count, type, source, tag, comm), request); },
      [&] { return PMPI_Irecv_c(buffer, count, type, source, tag, comm, request); });
}

TRIREME_EXPORTED int MPI_Recv_init_c(void* buffer, MPI_Count count, MPI_Datatype type, int source, int tag,
                                     MPI_Comm comm, MPI_Request* request) {
  return ours_or_library(
      [&](session&) { return make_persistent(receive_of(buffer, count, type, source, tag, comm), request); },
      [&] { return PMPI_Recv_init_c(buffer, count, type, source, tag, comm, request); });
}

TRIREME_EXPORTED int MPI_Mrecv_c(void* buffer, MPI_Count count, MPI_Datatype type, MPI_Message* message,
                                 MPI_Status* status) {
  return ours_or_library([&](session& in) { return complete_taken(in, buffer, count, type, message, status); },
                         [&] { return PMPI_Mrecv_c(buffer, count, type, message, status); });
}

TRIREME_EXPORTED int MPI_Imrecv_c(void* buffer, MPI_Count count, MPI_Datatype type, MPI_Message* message,
                                  MPI_Request* request) {
  return ours_or_library([&](session& in) { return begin_taken(in, buffer, count, type, message, request); },
                         [&] { return PMPI_Imrecv_c(buffer, count, type, message, request); });
}

TRIREME_EXPORTED int MPI_Isendrecv(const void* send_buffer, int send_count, MPI_Datatype send_type, int target,
                                   int send_tag, void* receive_buffer, int receive_count, MPI_Datatype receive_type,
                                   int source, int receive_tag, MPI_Comm comm, MPI_Request* request) {
  return ours_or_library(
      [&](session& in) {
        return begin_exchange(
            in, send_of(send_buffer, send_count, send_type, target, send_tag, comm, send_mode::standard),
            receive_of(receive_buffer, receive_count, receive_type, source, receive_tag, comm), request);
      },
      [&] {
        return PMPI_Isendrecv(send_buffer, send_count, send_type, target, send_tag, receive_buffer, receive_count,
                              receive_type, source, receive_tag, comm, request);
      });
}

TRIREME_EXPORTED int MPI_Isendrecv_replace(void* buffer, int count, MPI_Datatype type, int target, int send_tag,
                                           int source, int receive_tag, MPI_Comm comm, MPI_Request* request) {
  return ours_or_library(
      [&](session& in) {
        return begin_exchange(in, send_of(buffer, count, type, target, send_tag, comm, send_mode::standard),
                              receive_of(buffer, count, type, source, receive_tag, comm), request);
      },
      [&] {
        return PMPI_Isendrecv_replace(buffer, count, type, target, send_tag, source, receive_tag, comm, request);
      });
}

TRIREME_EXPORTED int MPI_Sendrecv_c(const void* send_buffer, MPI_Count send_count, MPI_Datatype send_type, int target,
                                    int send_tag, void* receive_buffer, MPI_Count receive_count,
                                    MPI_Datatype receive_type, int source, int receive_tag, MPI_Comm comm,
                                    MPI_Status* status) {
  return ours_or_library(
      [&](session& in) {
        return exchange(in, send_of(send_buffer, send_count, send_type, target, send_tag, comm, send_mode::standard),
                        receive_of(receive_buffer, receive_count, receive_type, source, receive_tag, comm), status);
      },
      [&] {
        return PMPI_Sendrecv_c(send_buffer, send_count, send_type, target, send_tag, receive_buffer, receive_count,
                               receive_type, source, receive_tag, comm, status);
      });
}

TRIREME_EXPORTED int MPI_Sendrecv_replace_c(void* buffer, MPI_Count count, MPI_Datatype type, int target, int send_tag,
                                            int source, int receive_tag, MPI_Comm comm, MPI_Status* status) {
  return ours_or_library(
      [&](session& in) {
        return exchange_in_place(in, send_of(buffer, count, type, target, send_tag, comm, send_mode::standard),
                                 receive_of(buffer, count, type, source, receive_tag, comm), status);
      },
      [&] {
        return PMPI_Sendrecv_replace_c(buffer, count, type, target, send_tag, source, receive_tag, comm, status);
      });
}

TRIREME_EXPORTED int MPI_Isendrecv_c(const void* send_buffer, MPI_Count send_count, MPI_Datatype send_type, int target,
                                     int send_tag, void* receive_buffer, MPI_Count receive_count,
                                     MPI_Datatype receive_type, int source, int receive_tag, MPI_Comm comm,
                                     MPI_Request* request) {
  return ours_or_library(
      [&](session& in) {
        return begin_exchange(
            in, send_of(send_buffer, send_count, send_type, target, send_tag, comm, send_mode::standard),
            receive_of(receive_buffer, receive_count, receive_type, source, receive_tag, comm), request);
      },
      [&] {
        return PMPI_Isendrecv_c(send_buffer, send_count, send_type, target, send_tag, receive_buffer, receive_count,
                                receive_type, source, receive_tag, comm, request);
      });
}

TRIREME_EXPORTED int MPI_Isendrecv_replace_c(void* buffer, MPI_Count count, MPI_Datatype type, int target, int send_tag,
                                             int source, int receive_tag, MPI_Comm comm, MPI_Request* request) {
  return ours_or_library(
      [&](session& in) {
        return begin_exchange(in, send_of(buffer, count, type, target, send_tag, comm, send_mode::standard),
                              receive_of(buffer, count, type, source, receive_tag, comm), request);
      },
      [&] {
        return PMPI_Isendrecv_replace_c(buffer, count, type, target, send_tag, source, receive_tag, comm, request);
      });
}

#endif
