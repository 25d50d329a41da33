// MPI's scans and scattered reductions, of elements into which plans can split vectors. Others go to the MPI library.
#include <mpi.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "mpi/coll/collective_forms.hpp"
#include "mpi/coll/reduction_arguments.hpp"
#include "mpi/coll/reproducible_sums.hpp"

namespace tri::mpi {
namespace {

// Whether all ranks find that it is ours.
bool is_ours(MPI_Datatype type, MPI_Op operation) {
  return collectives::element_form::of(type) && order_of(type, operation) != reduction_order::unknown;
}

int scan(session& in, communicator& known, const completion& how, const void* from, const elements& to,
         MPI_Op operation, bool is_exclusive) {
  if (known.is_inter()) return pass_through;  // MPI has none
  if (!is_valid(to.count, to.type)) return leave_to_library(known);
  if (!is_ours(to.type, operation)) return pass_through;
  if (lacks_part(from, !is_exclusive || known.rank > 0, to.address, to.count, to.type)) return leave_to_library(known);
  if (collectives::is_reproducible_sum(to.type, operation))
    return collectives::reproducible_sum(in, known, how,
                                         is_exclusive ? coll::collective::exscan : coll::collective::scan, from, to);
  if (known.spans_hosts())
    return across_hosts::run(in, known, how.keeping(to.type, operation),
                             across_hosts::scan(known, from, to, operation, is_exclusive));
  if (how.is_blocking()) return collectives::scan(in, known, from, to, operation, is_exclusive);
  return collectives::run_planned(in, known, how.keeping(to.type, operation),
                                  collectives::scan_in_parts(from, to, operation, is_exclusive));
}

int reduce_scatter(session& in, communicator& known, const completion& how, const void* from, void* to,
                   const std::vector<std::uint64_t>& counts, MPI_Datatype type, MPI_Op operation) {
  if (counts.empty()) return leave_to_library(known);
  const auto mine = static_cast<MPI_Count>(counts[static_cast<std::size_t>(known.rank)]);
  if (!is_valid(mine, type)) return leave_to_library(known);
  if (!known.is_inter() && !is_ours(type, operation)) return pass_through;
  const auto all = static_cast<MPI_Count>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
  if (lacks_buffer(from == MPI_IN_PLACE ? to : from, all, type) || lacks_buffer(to, mine, type))
    return leave_to_library(known);
  if (known.is_inter()) {
    if (!is_reduction_between_groups(from, whole(from, all, type), operation)) return leave_to_library(known);
    const auto first = std::accumulate(counts.begin(), counts.begin() + known.rank, std::uint64_t{0});
    return between_groups::reduce_scatter(in, known, how.keeping(type, operation), whole(from, all, type),
                                          whole(to, mine, type), static_cast<MPI_Count>(first), operation);
  }
  if (known.spans_hosts())
    return across_hosts::run(in, known, how.keeping(type, operation),
                             across_hosts::reduce_scatter(known, from, to, counts, type, operation));
  if (how.is_blocking()) return collectives::reduce_scatter(in, known, from, to, counts, type, operation);
  return collectives::run_planned(in, known, how.keeping(type, operation),
                                  collectives::scattered_sum_in_parts(from, to, counts, type, operation));
}

// Empty: one is less than 0, which the library reports.
template <class Count>
std::vector<std::uint64_t> counts_of(const communicator& known, const Count* counts) {
  if (counts == nullptr ||
      std::any_of(counts, counts + known.size_of_own_group(), [](Count count) { return count < 0; }))
    return {};
  return {counts, counts + known.size_of_own_group()};
}
std::vector<std::uint64_t> equal_counts(const communicator& known, MPI_Count count) {
  if (count < 0) return {};
  return std::vector<std::uint64_t>(static_cast<std::size_t>(known.size_of_own_group()),
                                    static_cast<std::uint64_t>(count));
}

}  // namespace
}  // namespace tri::mpi

using namespace tri::mpi;

#define TRIREME_COLLECTIVES(suffix, count_type)                                                                        \
  TRIREME_COLLECTIVE(Scan, Iscan, suffix,                                                                              \
                     (const void* from, void* to, count_type count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),      \
                     (from, to, count, type, op, comm), (count, type), (, type = kept(type), op = kept.operation(op)), \
                     scan(in, known, how, from, {to, count, type}, op, false))                                         \
  TRIREME_COLLECTIVE(Exscan, Iexscan, suffix,                                                                          \
                     (const void* from, void* to, count_type count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),      \
                     (from, to, count, type, op, comm), (count, type), (, type = kept(type), op = kept.operation(op)), \
                     scan(in, known, how, from, {to, count, type}, op, true))                                          \
  TRIREME_COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, suffix,                                              \
                     (const void* from, void* to, count_type count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),      \
                     (from, to, count, type, op, comm), (count, type), (, type = kept(type), op = kept.operation(op)), \
                     reduce_scatter(in, known, how, from, to, equal_counts(known, count), type, op))                   \
  TRIREME_COLLECTIVE(                                                                                                  \
      Reduce_scatter, Ireduce_scatter, suffix,                                                                         \
      (const void* from, void* to, const count_type counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm),            \
      (from, to, counts, type, op, comm), (-1, type), (, type = kept(type), op = kept.operation(op)),                  \
      reduce_scatter(in, known, how, from, to, counts_of(known, counts), type, op))
TRIREME_COLLECTIVES(, int)
#if MPI_VERSION >= 4
TRIREME_COLLECTIVES(_c, MPI_Count)
#endif
#undef TRIREME_COLLECTIVES
