// Neighbourhood collectives, which always go to the library: intercepted only for the statistics. Without those a call
// tests one pointer.
#include <mpi.h>

#include "mpi/abi/counted_calls.hpp"
#include "mpi/abi/exported.hpp"
#include "mpi/coll/collectives_across_hosts.hpp"
#include "mpi/engine/call_statistics.hpp"
#include "mpi/startup/session.hpp"

namespace tri::mpi {
namespace {

void count_left(const counted_call& call) {
  session* const in = session::active();
  if (counted_calls::counts == nullptr || in == nullptr) [[likely]]
    return;
  const call_guard guard(*in);
  counted_calls::add(call, left_because::call);
}

}  // namespace
}  // namespace tri::mpi

using tri::mpi::count_left;
using tri::mpi::collectives::across_hosts::arrive;

TRIREME_EXPORTED int MPI_Neighbor_allgather(const void* in, int count, MPI_Datatype type, void* out, int each,
                                            MPI_Datatype of_out, MPI_Comm comm) {
  count_left({__func__, comm, count, type});
  if (const int error = arrive(comm); error != MPI_SUCCESS) return error;
  return PMPI_Neighbor_allgather(in, count, type, out, each, of_out, comm);
}
TRIREME_EXPORTED int MPI_Neighbor_alltoall(const void* in, int count, MPI_Datatype type, void* out, int each,
                                           MPI_Datatype of_out, MPI_Comm comm) {
  count_left({__func__, comm, count, type});
  if (const int error = arrive(comm); error != MPI_SUCCESS) return error;
  return PMPI_Neighbor_alltoall(in, count, type, out, each, of_out, comm);
}
TRIREME_EXPORTED int MPI_Neighbor_allgatherv(const void* in, int count, MPI_Datatype type, void* out,
                                             const int counts[], const int places[], MPI_Datatype of_out,
                                             MPI_Comm comm) {
  count_left({__func__, comm, count, type});
  if (const int error = arrive(comm); error != MPI_SUCCESS) return error;
  return PMPI_Neighbor_allgatherv(in, count, type, out, counts, places, of_out, comm);
}
TRIREME_EXPORTED int MPI_Neighbor_alltoallv(const void* in, const int counts[], const int places[], MPI_Datatype type,
                                            void* out, const int of_out[], const int places_out[],
                                            MPI_Datatype type_out, MPI_Comm comm) {
  count_left({__func__, comm, -1, type});
  if (const int error = arrive(comm); error != MPI_SUCCESS) return error;
  return PMPI_Neighbor_alltoallv(in, counts, places, type, out, of_out, places_out, type_out, comm);
}
TRIREME_EXPORTED int MPI_Neighbor_alltoallw(const void* in, const int counts[], const MPI_Aint places[],
                                            const MPI_Datatype types[], void* out, const int of_out[],
                                            const MPI_Aint places_out[], const MPI_Datatype types_out[],
                                            MPI_Comm comm) {
  count_left({__func__, comm, -1, MPI_DATATYPE_NULL});
  if (const int error = arrive(comm); error != MPI_SUCCESS) return error;
  return PMPI_Neighbor_alltoallw(in, counts, places, types, out, of_out, places_out, types_out, comm);
}
TRIREME_EXPORTED int MPI_Ineighbor_allgather(const void* in, int count, MPI_Datatype type, void* out, int each,
                                             MPI_Datatype of_out, MPI_Comm comm, MPI_Request* request) {
  count_left({__func__, comm, count, type});
  return PMPI_Ineighbor_allgather(in, count, type, out, each, of_out, comm, request);
}
TRIREME_EXPORTED int MPI_Ineighbor_alltoall(const void* in, int count, MPI_Datatype type, void* out, int each,
                                            MPI_Datatype of_out, MPI_Comm comm, MPI_Request* request) {
  count_left({__func__, comm, count, type});
  return PMPI_Ineighbor_alltoall(in, count, type, out, each, of_out, comm, request);
}
TRIREME_EXPORTED int MPI_Ineighbor_allgatherv(const void* in, int count, MPI_Datatype type, void* out,
                                              const int counts[], const int places[], MPI_Datatype of_out,
                                              MPI_Comm comm, MPI_Request* request) {
  count_left({__func__, comm, count, type});
  return PMPI_Ineighbor_allgatherv(in, count, type, out, counts, places, of_out, comm, request);
}
TRIREME_EXPORTED int MPI_Ineighbor_alltoallv(const void* in, const int counts[], const int places[], MPI_Datatype type,
                                             void* out, const int of_out[], const int places_out[],
                                             MPI_Datatype type_out, MPI_Comm comm, MPI_Request* request) {
  count_left({__func__, comm, -1, type});
  return PMPI_Ineighbor_alltoallv(in, counts, places, type, out, of_out, places_out, type_out, comm, request);
}
TRIREME_EXPORTED int MPI_Ineighbor_alltoallw(const void* in, const int counts[], const MPI_Aint places[],
                                             const MPI_Datatype types[], void* out, const int of_out[],
                                             const MPI_Aint places_out[], const MPI_Datatype types_out[], MPI_Comm comm,
                                             MPI_Request* request) {
  count_left({__func__, comm, -1, MPI_DATATYPE_NULL});
  return PMPI_Ineighbor_alltoallw(in, counts, places, types, out, of_out, places_out, types_out, comm, request);
}
