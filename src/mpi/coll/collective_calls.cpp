// MPI's collective calls without parts for each rank: barriers, broadcasts, reductions. Nonblocking reductions whose
// type or operation is not predefined go to the MPI library: they may be freed meanwhile.
#include <mpi.h>

#include "mpi/abi/exported.hpp"
#include "mpi/coll/collective_arguments.hpp"
#include "mpi/coll/reduction_arguments.hpp"
#include "mpi/coll/reproducible_sums.hpp"

namespace tri::mpi {
namespace {

// Of all ranks together: up to there each contribution is sent to each rank, and a rank's sum does not depend on others
// that compute meanwhile.
constexpr std::size_t most_bytes_of_direct_sums = std::size_t{64} << 10;

enum class nonblocking_way : std::uint8_t { direct, plan, library };

nonblocking_way way_of_sum(const communicator& comm, MPI_Count count, MPI_Datatype type, MPI_Op operation) {
  const std::optional<reduction> known = reduction_of(operation);
  if (!known || !is_defined_on(*known, type)) return nonblocking_way::library;
  const buffer_type& of = datatypes::find(type);
  const std::size_t bytes = of.bytes * static_cast<std::size_t>(comm.size());
  if (static_cast<std::size_t>(count) <= most_bytes_of_direct_sums / bytes) return nonblocking_way::direct;
  return has_plain_elements(of) ? nonblocking_way::plan : nonblocking_way::library;
}

}  // namespace
}  // namespace tri::mpi

using namespace tri::mpi;

TRIREME_EXPORTED int MPI_Barrier(MPI_Comm comm) {
  return collective(
      comm, true, [](session& in, communicator& known) { return collectives::barrier(in, known); },
      [&] { return PMPI_Barrier(comm); });
}

TRIREME_EXPORTED int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  return collective(
      comm, false,
      [&](session& in, communicator& known) {
        if (known.spans_hosts()) return across_hosts::run(in, known, request, across_hosts::barrier(known));
        return add_request(in, known, request, collectives::begin_barrier(in, known));
      },
      [&] { return PMPI_Ibarrier(comm, request); });
}

#define TRIREME_COLLECTIVES(suffix, count_type)                                                                        \
  TRIREME_EXPORTED int MPI_Bcast##suffix(void* buffer, count_type count, MPI_Datatype type, int root, MPI_Comm comm) { \
    return collective(                                                                                                 \
        comm, true,                                                                                                    \
        [&](session& in, communicator& known) {                                                                        \
          if (!is_valid(count, type) || !is_root(known, root)) return leave_to_library(known);                         \
          if (lacks_buffer(buffer, count, type)) return leave_to_library(known);                                       \
          return collectives::broadcast(in, known, {buffer, count, type}, root);                                       \
        },                                                                                                             \
        [&] { return PMPI_Bcast##suffix(buffer, count, type, root, comm); }, count, type);                             \
  }                                                                                                                    \
  TRIREME_EXPORTED int MPI_Ibcast##suffix(void* buffer, count_type count, MPI_Datatype type, int root, MPI_Comm comm,  \
                                          MPI_Request* request) {                                                      \
    return collective(                                                                                                 \
        comm, false,                                                                                                   \
        [&](session& in, communicator& known) {                                                                        \
          if (!is_valid(count, type) || !is_root(known, root)) return leave_to_library(known);                         \
          if (lacks_buffer(buffer, count, type)) return leave_to_library(known);                                       \
          if (known.spans_hosts())                                                                                     \
            return across_hosts::run(in, known, request, across_hosts::broadcast(known, {buffer, count, type}, root)); \
          return run(in, known, request, [&](collectives::operation& all) {                                            \
            collectives::begin_broadcast(all, {buffer, count, type}, root);                                            \
          });                                                                                                          \
        },                                                                                                             \
        [&] { return PMPI_Ibcast##suffix(buffer, count, type, root, comm, request); }, count, type);                   \
  }                                                                                                                    \
  TRIREME_EXPORTED int MPI_Reduce##suffix(const void* from, void* to, count_type count, MPI_Datatype type,             \
                                          MPI_Op operation, int root, MPI_Comm comm) {                                 \
    return collective(                                                                                                 \
        comm, true,                                                                                                    \
        [&](session& in, communicator& known) {                                                                        \
          if (!is_valid(count, type) || !is_root(known, root)) return leave_to_library(known);                         \
          const reduction_order order = order_of(type, operation);                                                     \
          if (order == reduction_order::unknown) return pass_through;                                                  \
          if (lacks_part(from, known.rank == root, to, count, type)) return leave_to_library(known);                   \
          if (order == reduction_order::of_ranks && !known.spans_hosts())                                              \
            return collectives::reduce_in_parts(in, known, from, {to, count, type}, operation, root);                  \
          if (collectives::is_reproducible_sum(type, operation))                                                       \
            return collectives::reproducible_reduce(in, known, from, {to, count, type}, root);                         \
          return collectives::reduce(in, known, from, {to, count, type}, operation, root);                             \
        },                                                                                                             \
        [&] { return PMPI_Reduce##suffix(from, to, count, type, operation, root, comm); }, count, type);               \
  }                                                                                                                    \
  TRIREME_EXPORTED int MPI_Ireduce##suffix(const void* from, void* to, count_type count, MPI_Datatype type,            \
                                           MPI_Op operation, int root, MPI_Comm comm, MPI_Request* request) {          \
    return collective(                                                                                                 \
        comm, false,                                                                                                   \
        [&](session& in, communicator& known) {                                                                        \
          if (!is_valid(count, type) || !is_root(known, root)) return leave_to_library(known);                         \
          const nonblocking_way way = way_of_sum(known, count, type, operation);                                       \
          if (way == nonblocking_way::library) return pass_through;                                                    \
          if (lacks_part(from, known.rank == root, to, count, type)) return leave_to_library(known);                   \
          if (known.spans_hosts())                                                                                     \
            return across_hosts::run(in, known, request,                                                               \
                                     across_hosts::reduce(known, from, {to, count, type}, operation, root));           \
          if (way == nonblocking_way::plan)                                                                            \
            return add_request(                                                                                        \
                in, known, request,                                                                                    \
                collectives::begin_reduce_in_parts(in, known, from, {to, count, type}, operation, root));              \
          return run(in, known, request, [&](collectives::operation& all) {                                            \
            collectives::begin_reduce(all, from, {to, count, type}, operation, root);                                  \
          });                                                                                                          \
        },                                                                                                             \
        [&] { return PMPI_Ireduce##suffix(from, to, count, type, operation, root, comm, request); }, count, type);     \
  }                                                                                                                    \
  TRIREME_EXPORTED int MPI_Allreduce##suffix(const void* from, void* to, count_type count, MPI_Datatype type,          \
                                             MPI_Op operation, MPI_Comm comm) {                                        \
    return collective(                                                                                                 \
        comm, true,                                                                                                    \
        [&](session& in, communicator& known) {                                                                        \
          if (!is_valid(count, type)) return leave_to_library(known);                                                  \
          const reduction_order order = order_of(type, operation);                                                     \
          if (order == reduction_order::unknown) return pass_through;                                                  \
          if (lacks_part(from, true, to, count, type)) return leave_to_library(known);                                 \
          if (order == reduction_order::of_ranks && !known.spans_hosts())                                              \
            return collectives::ordered_allreduce(in, known, from, {to, count, type}, operation);                      \
          if (collectives::is_reproducible_sum(type, operation))                                                       \
            return collectives::reproducible_allreduce(in, known, from, {to, count, type});                            \
          return collectives::allreduce(in, known, from, {to, count, type}, operation);                                \
        },                                                                                                             \
        [&] { return PMPI_Allreduce##suffix(from, to, count, type, operation, comm); }, count, type);                  \
  }                                                                                                                    \
  TRIREME_EXPORTED int MPI_Iallreduce##suffix(const void* from, void* to, count_type count, MPI_Datatype type,         \
                                              MPI_Op operation, MPI_Comm comm, MPI_Request* request) {                 \
    return collective(                                                                                                 \
        comm, false,                                                                                                   \
        [&](session& in, communicator& known) {                                                                        \
          if (!is_valid(count, type)) return leave_to_library(known);                                                  \
          const nonblocking_way way = way_of_sum(known, count, type, operation);                                       \
          if (way == nonblocking_way::library) return pass_through;                                                    \
          if (lacks_part(from, true, to, count, type)) return leave_to_library(known);                                 \
          if (known.spans_hosts())                                                                                     \
            return across_hosts::run(in, known, request,                                                               \
                                     across_hosts::allreduce(known, from, {to, count, type}, operation));              \
          if (way == nonblocking_way::plan)                                                                            \
            return add_request(in, known, request,                                                                     \
                               collectives::begin_allreduce_in_parts(in, known, from, {to, count, type}, operation));  \
          return run(in, known, request, [&](collectives::operation& all) {                                            \
            collectives::begin_allreduce(all, from, {to, count, type}, operation);                                     \
          });                                                                                                          \
        },                                                                                                             \
        [&] { return PMPI_Iallreduce##suffix(from, to, count, type, operation, comm, request); }, count, type);        \
  }
TRIREME_COLLECTIVES(, int)
#if MPI_VERSION >= 4
TRIREME_COLLECTIVES(_c, MPI_Count)
#endif
#undef TRIREME_COLLECTIVES
