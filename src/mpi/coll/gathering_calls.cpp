// MPI's collective calls with a part for each rank: gathers, scatters, all-to-all exchanges. All have one round of
// messages, but an all-to-all in place that waits.
#include <mpi.h>

#include <type_traits>

#include "mpi/coll/collective_forms.hpp"
#include "mpi/coll/part_arguments.hpp"

namespace tri::mpi {
namespace {

using collectives::operation;

elements whole_of(const equal_parts& of, int ranks) { return of.whole(ranks); }
template <class Parts>
elements whole_of(const Parts&, int) {
  return {};
}

// Each rank's own arguments, which the others cannot know.
template <class... Parts>
bool are_valid(const communicator& known, const elements& own, const Parts&... parts) {
  const bool is_own_valid =
      own.address == MPI_IN_PLACE || (is_valid(own.count, own.type) && !lacks_buffer(own.address, own.count, own.type));
  return is_own_valid && (parts.are_valid(known.size()) && ...);
}

// Of an operation with a root, on an inter-communicator: the own part matters only in the group that has no root.
template <class Parts>
bool are_valid_between_groups(const communicator& known, int root, const elements& own, const Parts& theirs) {
  if (!is_root(known, root)) return false;
  return root < 0 ? theirs.are_valid(known.size()) : own.address != MPI_IN_PLACE && are_valid(known, own);
}

// On a communicator that spans hosts equal parts may run a plan. Nothing: messages from rank to rank.
template <class Choose>
across_hosts::plan plan_across(const communicator& known, const equal_parts& some, Choose&& choose) {
  return known.spans_hosts() ? choose(some.whole(known.size())) : std::nullopt;
}
template <class Parts, class Choose>
across_hosts::plan plan_across(const communicator&, const Parts&, Choose&&) {
  return {};
}

// Each rank knows the sizes of all.
across_hosts::plan plan_of_allgather(const communicator& known, const elements& from, const equal_parts& to) {
  return known.spans_hosts() ? across_hosts::allgather(known, from, to.whole(known.size())) : std::nullopt;
}
template <class Parts>
across_hosts::plan plan_of_allgather(const communicator& known, const elements& from, const Parts& to) {
  return known.spans_hosts() ? across_hosts::allgather(known, from, to.all()) : std::nullopt;
}

template <class Parts>
int gather(session& in, communicator& known, const completion& how, const elements& from, const Parts& to, int root) {
  if (known.is_inter()) {
    if (!are_valid_between_groups(known, root, from, to)) return leave_to_library(known);
    return run(in, known, how, [&](operation& all) { between_groups::begin_gather(all, from, to.all(), root); });
  }
  if (!is_root(known, root) || !are_valid(known, from, to)) return leave_to_library(known);
  const across_hosts::plan plan =
      plan_across(known, to, [&](const elements& whole) { return across_hosts::gather(known, from, whole, root); });
  if (plan) return collectives::run_planned(in, known, how, *plan);
  if (known.spans_hosts() && how.is_blocking() && std::is_same_v<Parts, equal_parts>)
    return across_hosts::gather_by_messages(in, known, from, to.all(), root);
  return run(in, known, how, [&](operation& all) { begin_gather(all, from, to.all(), root); });
}
template <class Parts>
int scatter(session& in, communicator& known, const completion& how, const Parts& from, const elements& to, int root) {
  if (known.is_inter()) {
    if (!are_valid_between_groups(known, root, to, from)) return leave_to_library(known);
    return run(in, known, how, [&](operation& all) { between_groups::begin_scatter(all, from.all(), to, root); });
  }
  if (!is_root(known, root) || !are_valid(known, to, from)) return leave_to_library(known);
  const across_hosts::plan plan =
      plan_across(known, from, [&](const elements& whole) { return across_hosts::scatter(known, whole, to, root); });
  if (plan) return collectives::run_planned(in, known, how, *plan);
  if (known.spans_hosts() && how.is_blocking() && std::is_same_v<Parts, equal_parts>)
    return across_hosts::scatter_by_messages(in, known, from.all(), to, root);
  return run(in, known, how, [&](operation& all) { begin_scatter(all, from.all(), to, root); });
}
template <class Parts>
int allgather(session& in, communicator& known, const completion& how, const elements& from, const Parts& to) {
  if (!are_valid(known, from, to)) return leave_to_library(known);
  if (known.is_inter()) {
    if (from.address == MPI_IN_PLACE) return leave_to_library(known);
    return run(in, known, how, [&](operation& all) { between_groups::begin_allgather(all, from, to.all()); });
  }
  const across_hosts::plan plan = plan_of_allgather(known, from, to);
  if (plan) return collectives::run_planned(in, known, how, *plan);
  return run(in, known, how, [&](operation& all) { begin_allgather(all, from, to.all()); });
}
// MPI has none of inter-communicators.
template <class Parts>
int alltoall_in_place(session& in, communicator& known, const completion& how, const Parts& everybodys) {
  if (known.is_inter()) return pass_through;
  if (!everybodys.are_valid(known.size())) return leave_to_library(known);
  if (how.is_blocking()) return collectives::alltoall_in_place(in, known, everybodys.all());
  return run(in, known, how, [&](operation& all) { begin_alltoall_in_place(all, everybodys.all()); });
}
template <class Parts>
int alltoall(session& in, communicator& known, const completion& how, const Parts& from, const Parts& to) {
  if (from.address == MPI_IN_PLACE) return alltoall_in_place(in, known, how, to);
  if (!are_valid(known, elements{}, from, to)) return leave_to_library(known);
  if (known.is_inter())
    return run(in, known, how, [&](operation& all) { between_groups::begin_alltoall(all, from.all(), to.all()); });
  const across_hosts::plan plan = plan_across(known, from, [&](const elements& sent) {
    return across_hosts::alltoall(known, sent, whole_of(to, known.size()));
  });
  if (plan) return collectives::run_planned(in, known, how, *plan);
  return run(in, known, how, [&](operation& all) { begin_alltoall(all, from.all(), to.all()); });
}

}  // namespace
}  // namespace tri::mpi

using namespace tri::mpi;

#define TRIREME_COLLECTIVES(suffix, count_type, displacement_type)                                                    \
  TRIREME_COLLECTIVE(Gather, Igather, suffix,                                                                         \
                     (const void* from, count_type from_count, MPI_Datatype from_type, void* to, count_type to_count, \
                      MPI_Datatype to_type, int root, MPI_Comm comm),                                                 \
                     (from, from_count, from_type, to, to_count, to_type, root, comm), (-1, MPI_DATATYPE_NULL),       \
                     (, from_type = kept(from_type, from != MPI_IN_PLACE && has_own_part(of, root)),                  \
                      to_type = kept(to_type, is_own_rank(of, root))),                                                \
                     gather(in, known, how, whole(from, from_count, from_type),                                       \
                            equal_parts_if(is_own_rank(known, root), to, to_count, to_type), root))                   \
  TRIREME_COLLECTIVE(                                                                                                 \
      Gatherv, Igatherv, suffix,                                                                                      \
      (const void* from, count_type from_count, MPI_Datatype from_type, void* to, const count_type counts[],          \
       const displacement_type displacements[], MPI_Datatype to_type, int root, MPI_Comm comm),                       \
      (from, from_count, from_type, to, counts, displacements, to_type, root, comm), (-1, MPI_DATATYPE_NULL),         \
      (, from_type = kept(from_type, from != MPI_IN_PLACE && has_own_part(of, root)),                                 \
       to_type = kept(to_type, is_own_rank(of, root))),                                                               \
      gather(in, known, how, whole(from, from_count, from_type),                                                      \
             unequal_parts_if(is_own_rank(known, root), to, counts, displacements, to_type), root))                   \
  TRIREME_COLLECTIVE(Scatter, Iscatter, suffix,                                                                       \
                     (const void* from, count_type from_count, MPI_Datatype from_type, void* to, count_type to_count, \
                      MPI_Datatype to_type, int root, MPI_Comm comm),                                                 \
                     (from, from_count, from_type, to, to_count, to_type, root, comm), (-1, MPI_DATATYPE_NULL),       \
                     (, from_type = kept(from_type, is_own_rank(of, root)),                                           \
                      to_type = kept(to_type, to != MPI_IN_PLACE && has_own_part(of, root))),                         \
                     scatter(in, known, how, equal_parts_if(is_own_rank(known, root), from, from_count, from_type),   \
                             whole(to, to_count, to_type), root))                                                     \
  TRIREME_COLLECTIVE(                                                                                                 \
      Scatterv, Iscatterv, suffix,                                                                                    \
      (const void* from, const count_type counts[], const displacement_type displacements[], MPI_Datatype from_type,  \
       void* to, count_type to_count, MPI_Datatype to_type, int root, MPI_Comm comm),                                 \
      (from, counts, displacements, from_type, to, to_count, to_type, root, comm), (-1, MPI_DATATYPE_NULL),           \
      (, from_type = kept(from_type, is_own_rank(of, root)),                                                          \
       to_type = kept(to_type, to != MPI_IN_PLACE && has_own_part(of, root))),                                        \
      scatter(in, known, how, unequal_parts_if(is_own_rank(known, root), from, counts, displacements, from_type),     \
              whole(to, to_count, to_type), root))                                                                    \
  TRIREME_COLLECTIVE(                                                                                                 \
      Allgather, Iallgather, suffix,                                                                                  \
      (const void* from, count_type from_count, MPI_Datatype from_type, void* to, count_type to_count,                \
       MPI_Datatype to_type, MPI_Comm comm),                                                                          \
      (from, from_count, from_type, to, to_count, to_type, comm), (-1, MPI_DATATYPE_NULL),                            \
      (, from_type = kept(from_type, from != MPI_IN_PLACE), to_type = kept(to_type)),                                 \
      allgather(in, known, how, whole(from, from_count, from_type), equal_parts(to, to_count, to_type)))              \
  TRIREME_COLLECTIVE(                                                                                                 \
      Allgatherv, Iallgatherv, suffix,                                                                                \
      (const void* from, count_type from_count, MPI_Datatype from_type, void* to, const count_type counts[],          \
       const displacement_type displacements[], MPI_Datatype to_type, MPI_Comm comm),                                 \
      (from, from_count, from_type, to, counts, displacements, to_type, comm), (-1, MPI_DATATYPE_NULL),               \
      (, from_type = kept(from_type, from != MPI_IN_PLACE), to_type = kept(to_type)),                                 \
      allgather(in, known, how, whole(from, from_count, from_type),                                                   \
                unequal_parts(to, counts, displacements, to_type)))                                                   \
  TRIREME_COLLECTIVE(Alltoall, Ialltoall, suffix,                                                                     \
                     (const void* from, count_type from_count, MPI_Datatype from_type, void* to, count_type to_count, \
                      MPI_Datatype to_type, MPI_Comm comm),                                                           \
                     (from, from_count, from_type, to, to_count, to_type, comm), (-1, MPI_DATATYPE_NULL),             \
                     (, from_type = kept(from_type, from != MPI_IN_PLACE), to_type = kept(to_type)),                  \
                     alltoall(in, known, how, equal_parts_if(from != MPI_IN_PLACE, from, from_count, from_type),      \
                              equal_parts(to, to_count, to_type)))                                                    \
  TRIREME_COLLECTIVE(                                                                                                 \
      Alltoallv, Ialltoallv, suffix,                                                                                  \
      (const void* from, const count_type from_counts[], const displacement_type from_displacements[],                \
       MPI_Datatype from_type, void* to, const count_type to_counts[], const displacement_type to_displacements[],    \
       MPI_Datatype to_type, MPI_Comm comm),                                                                          \
      (from, from_counts, from_displacements, from_type, to, to_counts, to_displacements, to_type, comm),             \
      (-1, MPI_DATATYPE_NULL), (, from_type = kept(from_type, from != MPI_IN_PLACE), to_type = kept(to_type)),        \
      alltoall(in, known, how,                                                                                        \
               unequal_parts_if(from != MPI_IN_PLACE, from, from_counts, from_displacements, from_type),              \
               unequal_parts(to, to_counts, to_displacements, to_type)))                                              \
  TRIREME_COLLECTIVE(                                                                                                 \
      Alltoallw, Ialltoallw, suffix,                                                                                  \
      (const void* from, const count_type from_counts[], const displacement_type from_displacements[],                \
       const MPI_Datatype from_types[], void* to, const count_type to_counts[],                                       \
       const displacement_type to_displacements[], const MPI_Datatype to_types[], MPI_Comm comm),                     \
      (from, from_counts, from_displacements, from_types, to, to_counts, to_displacements, to_types, comm),           \
      (-1, MPI_DATATYPE_NULL),                                                                                        \
      (, from_types = kept(from_types, of.size(), from != MPI_IN_PLACE), to_types = kept(to_types, of.size())),       \
      alltoall(in, known, how,                                                                                        \
               typed_parts(from, from == MPI_IN_PLACE ? nullptr : from_counts, from_displacements, from_types),       \
               typed_parts(to, to_counts, to_displacements, to_types)))

TRIREME_COLLECTIVES(, int, int)
#if MPI_VERSION >= 4
TRIREME_COLLECTIVES(_c, MPI_Count, MPI_Aint)
#endif
#undef TRIREME_COLLECTIVES
