// MPI's collective calls without parts for each rank: barriers, broadcasts, reductions. Operations that are not
// commutative go to the MPI library; nonblocking reductions, too, unless they are short and of predefined elements and
// operations (others may be freed meanwhile).
#include <mpi.h>

#include "mpi/abi/exported.hpp"
#include "mpi/coll/collective_arguments.hpp"
#include "mpi/rma/accumulated_elements.hpp"
#include "mpi/rma/accumulation.hpp"

namespace tri::mpi {
namespace {

// Whether a predefined operation is defined on elements of a predefined type: of both nothing changes while MPI runs.
// Of other types none is.
bool is_defined_on(reduction operation, MPI_Datatype type) {
  const element_type& element = element_type_of(type);
  return element.handle == type && operation != reduction::replace && operation != reduction::nothing &&
         is_defined(operation, element.kind, element.is_pair);
}

// The result is defined and does not depend on the order of the parts: all other cases go to the library, which also
// reports errors. The type is valid.
bool can_be_reduced(MPI_Datatype type, MPI_Op operation) {
  static MPI_Datatype last_type = MPI_DATATYPE_NULL;  // calls are serialized
  static MPI_Op last_operation = MPI_OP_NULL;
  if (operation == MPI_OP_NULL) return false;
  if (type == last_type && operation == last_operation) return true;
  if (const std::optional<reduction> known = reduction_of(operation)) {
    if (!is_defined_on(*known, type)) return false;
    last_type = type;
    last_operation = operation;
    return true;
  }
  int commutative = 0;
  PMPI_Op_commutative(operation, &commutative);
  return commutative != 0;
}

// Of all ranks together, as each is sent to each.
constexpr std::size_t most_bytes_of_nonblocking_sums = std::size_t{64} << 10;

bool can_be_nonblocking(const communicator& comm, MPI_Count count, MPI_Datatype type, MPI_Op operation) {
  if (!is_valid(count, type)) return false;
  const std::optional<reduction> known = reduction_of(operation);
  if (!known || !is_defined_on(*known, type)) return false;
  const std::size_t bytes = datatypes::find(type).bytes * static_cast<std::size_t>(comm.size());
  return static_cast<std::size_t>(count) <= most_bytes_of_nonblocking_sums / bytes;
}

// The result buffer matters only on ranks that receive the result.
bool lacks_part(const void* from, bool gets_sum, const void* sum, MPI_Count count, MPI_Datatype type) {
  return lacks_buffer(from, count, type) || (gets_sum && lacks_buffer(sum, count, type));
}

}  // namespace
}  // namespace tri::mpi

using namespace tri::mpi;

TRIREME_EXPORTED int MPI_Barrier(MPI_Comm comm) {
  return collective(
      comm, [](session& in, communicator& known) { return collectives::barrier(in, known); },
      [&] { return PMPI_Barrier(comm); });
}

TRIREME_EXPORTED int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  return collective(
      comm,
      [&](session& in, communicator& known) {
        *request = requests::add(in, known, collectives::begin_barrier(in, known));
        return MPI_SUCCESS;
      },
      [&] { return PMPI_Ibarrier(comm, request); });
}

#define TRIREME_COLLECTIVES(suffix, count_type)                                                                        \
  TRIREME_EXPORTED int MPI_Bcast##suffix(void* buffer, count_type count, MPI_Datatype type, int root, MPI_Comm comm) { \
    return collective(                                                                                                 \
        comm,                                                                                                          \
        [&](session& in, communicator& known) {                                                                        \
          if (!is_valid(count, type) || !is_root(known, root)) return pass_through;                                    \
          if (lacks_buffer(buffer, count, type)) return leave_to_library(known);                                       \
          return collectives::broadcast(in, known, {buffer, count, type}, root);                                       \
        },                                                                                                             \
        [&] { return PMPI_Bcast##suffix(buffer, count, type, root, comm); }, count, type);                             \
  }                                                                                                                    \
  TRIREME_EXPORTED int MPI_Ibcast##suffix(void* buffer, count_type count, MPI_Datatype type, int root, MPI_Comm comm,  \
                                          MPI_Request* request) {                                                      \
    return collective(                                                                                                 \
        comm,                                                                                                          \
        [&](session& in, communicator& known) {                                                                        \
          if (!is_valid(count, type) || !is_root(known, root)) return pass_through;                                    \
          if (lacks_buffer(buffer, count, type)) return leave_to_library(known);                                       \
          return run(in, known, request, [&](collectives::operation& all) {                                            \
            collectives::begin_broadcast(all, {buffer, count, type}, root);                                            \
          });                                                                                                          \
        },                                                                                                             \
        [&] { return PMPI_Ibcast##suffix(buffer, count, type, root, comm, request); }, count, type);                   \
  }                                                                                                                    \
  TRIREME_EXPORTED int MPI_Reduce##suffix(const void* from, void* to, count_type count, MPI_Datatype type,             \
                                          MPI_Op operation, int root, MPI_Comm comm) {                                 \
    return collective(                                                                                                 \
        comm,                                                                                                          \
        [&](session& in, communicator& known) {                                                                        \
          if (!is_valid(count, type) || !is_root(known, root) || !can_be_reduced(type, operation))                     \
            return pass_through;                                                                                       \
          if (lacks_part(from, known.rank == root, to, count, type)) return leave_to_library(known);                   \
          return collectives::reduce(in, known, from, {to, count, type}, operation, root);                             \
        },                                                                                                             \
        [&] { return PMPI_Reduce##suffix(from, to, count, type, operation, root, comm); }, count, type);               \
  }                                                                                                                    \
  TRIREME_EXPORTED int MPI_Ireduce##suffix(const void* from, void* to, count_type count, MPI_Datatype type,            \
                                           MPI_Op operation, int root, MPI_Comm comm, MPI_Request* request) {          \
    return collective(                                                                                                 \
        comm,                                                                                                          \
        [&](session& in, communicator& known) {                                                                        \
          if (!can_be_nonblocking(known, count, type, operation) || !is_root(known, root)) return pass_through;        \
          if (lacks_part(from, known.rank == root, to, count, type)) return leave_to_library(known);                   \
          return run(in, known, request, [&](collectives::operation& all) {                                            \
            collectives::begin_reduce(all, from, {to, count, type}, operation, root);                                  \
          });                                                                                                          \
        },                                                                                                             \
        [&] { return PMPI_Ireduce##suffix(from, to, count, type, operation, root, comm, request); }, count, type);     \
  }                                                                                                                    \
  TRIREME_EXPORTED int MPI_Allreduce##suffix(const void* from, void* to, count_type count, MPI_Datatype type,          \
                                             MPI_Op operation, MPI_Comm comm) {                                        \
    return collective(                                                                                                 \
        comm,                                                                                                          \
        [&](session& in, communicator& known) {                                                                        \
          if (!is_valid(count, type) || !can_be_reduced(type, operation)) return pass_through;                         \
          if (lacks_part(from, true, to, count, type)) return leave_to_library(known);                                 \
          return collectives::allreduce(in, known, from, {to, count, type}, operation);                                \
        },                                                                                                             \
        [&] { return PMPI_Allreduce##suffix(from, to, count, type, operation, comm); }, count, type);                  \
  }                                                                                                                    \
  TRIREME_EXPORTED int MPI_Iallreduce##suffix(const void* from, void* to, count_type count, MPI_Datatype type,         \
                                              MPI_Op operation, MPI_Comm comm, MPI_Request* request) {                 \
    return collective(                                                                                                 \
        comm,                                                                                                          \
        [&](session& in, communicator& known) {                                                                        \
          if (!can_be_nonblocking(known, count, type, operation)) return pass_through;                                 \
          if (lacks_part(from, true, to, count, type)) return leave_to_library(known);                                 \
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
