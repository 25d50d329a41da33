// MPI's collective calls without parts for each rank: barriers, broadcasts, reductions.
#include <mpi.h>

#include "mpi/coll/collective_forms.hpp"
#include "mpi/coll/reduction_arguments.hpp"
#include "mpi/coll/reproducible_sums.hpp"

namespace tri::mpi {
namespace {

// Of all ranks together: up to there each contribution is sent to each rank, and a rank's sum does not depend on others
// that compute meanwhile.
constexpr std::size_t most_bytes_of_direct_sums = std::size_t{64} << 10;

enum class nonblocking_way : std::uint8_t { direct, plan, library };

nonblocking_way way_of_sum(const communicator& comm, const elements& of, MPI_Op operation) {
  if (order_of(of.type, operation) == reduction_order::unknown) return nonblocking_way::library;
  MPI_Aint lower = 0, extent = 0;
  PMPI_Type_get_extent(of.type, &lower, &extent);
  const auto span = std::max<std::size_t>(
      {static_cast<std::size_t>(std::max(extent, -extent)), datatypes::find(of.type).bytes, std::size_t{1}});
  if (static_cast<std::size_t>(of.count) <= most_bytes_of_direct_sums / span / static_cast<std::size_t>(comm.size()))
    return nonblocking_way::direct;
  return collectives::element_form::of(of.type) ? nonblocking_way::plan : nonblocking_way::library;
}

// Nonblocking ones count in shared memory who has entered; persistent ones, which may be started in any order, run a
// plan.
int barrier(session& in, communicator& known, const completion& how) {
  if (how.is_blocking()) return collectives::barrier(in, known);
  if (known.is_inter()) return run(in, known, how, between_groups::begin_barrier);
  if (known.spans_hosts()) return across_hosts::run(in, known, how, across_hosts::barrier());
  if (how.is_persistent()) return collectives::run_planned(in, known, how, {});
  return how.begin(in, known, [&](const auto&) { return collectives::begin_barrier(in, known); });
}

int broadcast(session& in, communicator& known, const completion& how, const elements& data, int root) {
  const bool is_missing_data = takes_part(known, root) &&
                               (!is_valid(data.count, data.type) || lacks_buffer(data.address, data.count, data.type));
  if (is_missing_data || !is_root(known, root)) return leave_to_library(known);
  if (known.is_inter())
    return run(in, known, how, [&](collectives::operation& all) { between_groups::begin_broadcast(all, data, root); });
  if (how.is_blocking()) return collectives::broadcast(in, known, data, root);
  if (known.spans_hosts()) return across_hosts::run(in, known, how, across_hosts::broadcast(known, data, root));
  return run(in, known, how, [&](collectives::operation& all) { collectives::begin_broadcast(all, data, root); });
}

int begin_reduce(session& in, communicator& known, const completion& how, const void* from, const elements& to,
                 MPI_Op operation, int root) {
  const nonblocking_way way = way_of_sum(known, to, operation);
  if (way == nonblocking_way::library) return pass_through;
  if (lacks_part(from, known.rank == root, to.address, to.count, to.type)) return leave_to_library(known);
  if (collectives::is_reproducible_sum(to.type, operation))
    return collectives::reproducible_sum(in, known, how, coll::collective::reduce, from, to, root);
  if (known.spans_hosts())
    return across_hosts::run(in, known, how, across_hosts::reduce(known, from, to, operation, root));
  if (way == nonblocking_way::plan)
    return collectives::run_planned(in, known, how,
                                    collectives::sum_in_parts(coll::collective::reduce, from, to, operation, root));
  return run(in, known, how,
             [&](collectives::operation& all) { collectives::begin_reduce(all, from, to, operation, root); });
}

// Ranks that take no part know neither type nor operation.
int reduce_between_groups(session& in, communicator& known, const completion& how, const void* from, const elements& to,
                          MPI_Op operation, int root) {
  if (!is_root(known, root)) return leave_to_library(known);
  if (!takes_part(known, root)) return between_groups::reduce(in, known, how, nullptr, {}, MPI_OP_NULL, root);
  if (!is_reduction_between_groups(from, to, operation) ||
      lacks_buffer(root == MPI_ROOT ? to.address : from, to.count, to.type))
    return leave_to_library(known);
  return between_groups::reduce(in, known, how.keeping(to.type, operation), from, to, operation, root);
}

int allreduce_between_groups(session& in, communicator& known, const completion& how, const void* from,
                             const elements& to, MPI_Op operation) {
  if (!is_reduction_between_groups(from, to, operation) || lacks_part(from, true, to.address, to.count, to.type))
    return leave_to_library(known);
  return between_groups::allreduce(in, known, how.keeping(to.type, operation), from, to, operation);
}

int reduce(session& in, communicator& known, const completion& how, const void* from, const elements& to,
           MPI_Op operation, int root) {
  if (known.is_inter()) return reduce_between_groups(in, known, how, from, to, operation, root);
  if (!is_valid(to.count, to.type) || !is_root(known, root)) return leave_to_library(known);
  if (!how.is_blocking()) return begin_reduce(in, known, how.keeping(to.type, operation), from, to, operation, root);
  const reduction_order order = order_of(to.type, operation);
  if (order == reduction_order::unknown) return pass_through;
  if (lacks_part(from, known.rank == root, to.address, to.count, to.type)) return leave_to_library(known);
  if (order == reduction_order::of_ranks && !known.spans_hosts())
    return collectives::reduce_in_parts(in, known, from, to, operation, root);
  if (collectives::is_reproducible_sum(to.type, operation))
    return collectives::reproducible_reduce(in, known, from, to, root);
  return collectives::reduce(in, known, from, to, operation, root);
}

int begin_allreduce(session& in, communicator& known, const completion& how, const void* from, const elements& to,
                    MPI_Op operation) {
  const nonblocking_way way = way_of_sum(known, to, operation);
  if (way == nonblocking_way::library) return pass_through;
  if (lacks_part(from, true, to.address, to.count, to.type)) return leave_to_library(known);
  if (collectives::is_reproducible_sum(to.type, operation))
    return collectives::reproducible_sum(in, known, how, coll::collective::allreduce, from, to);
  if (known.spans_hosts())
    return across_hosts::run(in, known, how, across_hosts::allreduce(known, from, to, operation));
  if (way == nonblocking_way::plan)
    return collectives::run_planned(in, known, how,
                                    collectives::sum_in_parts(coll::collective::allreduce, from, to, operation, 0));
  return run(in, known, how,
             [&](collectives::operation& all) { collectives::begin_allreduce(all, from, to, operation); });
}

int allreduce(session& in, communicator& known, const completion& how, const void* from, const elements& to,
              MPI_Op operation) {
  if (known.is_inter()) return allreduce_between_groups(in, known, how, from, to, operation);
  if (!is_valid(to.count, to.type)) return leave_to_library(known);
  if (!how.is_blocking()) return begin_allreduce(in, known, how.keeping(to.type, operation), from, to, operation);
  const reduction_order order = order_of(to.type, operation);
  if (order == reduction_order::unknown) return pass_through;
  if (lacks_part(from, true, to.address, to.count, to.type)) return leave_to_library(known);
  if (order == reduction_order::of_ranks && !known.spans_hosts())
    return collectives::ordered_allreduce(in, known, from, to, operation);
  if (collectives::is_reproducible_sum(to.type, operation))
    return collectives::reproducible_allreduce(in, known, from, to);
  return collectives::allreduce(in, known, from, to, operation);
}

}  // namespace
}  // namespace tri::mpi

using namespace tri::mpi;

TRIREME_COLLECTIVE(Barrier, Ibarrier, , (MPI_Comm comm), (comm), (-1, MPI_DATATYPE_NULL), (), barrier(in, known, how))

#define TRIREME_COLLECTIVES(suffix, count_type)                                                                     \
  TRIREME_COLLECTIVE(Bcast, Ibcast, suffix,                                                                         \
                     (void* buffer, count_type count, MPI_Datatype type, int root, MPI_Comm comm),                  \
                     (buffer, count, type, root, comm), (count, type), (, type = kept(type, takes_part(of, root))), \
                     broadcast(in, known, how, {buffer, count, type}, root))                                        \
  TRIREME_COLLECTIVE(                                                                                               \
      Reduce, Ireduce, suffix,                                                                                      \
      (const void* from, void* to, count_type count, MPI_Datatype type, MPI_Op operation, int root, MPI_Comm comm), \
      (from, to, count, type, operation, root, comm), (count, type),                                                \
      (, type = kept(type, takes_part(of, root)), operation = kept.operation(operation, takes_part(of, root))),     \
      reduce(in, known, how, from, {to, count, type}, operation, root))                                             \
  TRIREME_COLLECTIVE(                                                                                               \
      Allreduce, Iallreduce, suffix,                                                                                \
      (const void* from, void* to, count_type count, MPI_Datatype type, MPI_Op operation, MPI_Comm comm),           \
      (from, to, count, type, operation, comm), (count, type),                                                      \
      (, type = kept(type), operation = kept.operation(operation)),                                                 \
      allreduce(in, known, how, from, {to, count, type}, operation))
TRIREME_COLLECTIVES(, int)
#if MPI_VERSION >= 4
TRIREME_COLLECTIVES(_c, MPI_Count)
#endif
#undef TRIREME_COLLECTIVES
