// MPI's collective calls with a part for each rank: gathers, scatters, all-to-all exchanges; blocking and nonblocking.
// All have one round of messages. An all-to-all in place goes to the library, which buffers what it needs.
#include <mpi.h>

#include <algorithm>

#include "mpi/abi/exported.hpp"
#include "mpi/coll/collective_arguments.hpp"

namespace tri::mpi {
namespace {

using collectives::operation;

MPI_Aint extent_of(MPI_Datatype type) {
  MPI_Aint lower = 0, extent = 0;
  if (!is_valid(0, type)) return 0;  // the library reports it through the communicator's error handler, unknown here
  PMPI_Type_get_extent(type, &lower, &extent);
  return extent;
}

// As many elements for each rank, one part behind the other.
struct equal_parts {
  void* address;
  MPI_Count count;
  MPI_Datatype type;
  MPI_Aint extent;

  equal_parts(const void* start, MPI_Count each, MPI_Datatype of_type)
      : address(const_cast<void*>(start)), count(each), type(of_type), extent(extent_of(of_type)) {}
  bool are_valid(int) const { return is_valid(count, type) && !lacks_buffer(address, count, type); }
  elements whole(int ranks) const { return {address, count * ranks, type}; }
  parts all() const {
    return {[](const void* description, int rank) {
              const auto& self = *static_cast<const equal_parts*>(description);
              return elements{static_cast<std::byte*>(self.address) + rank * self.count * self.extent, self.count,
                              self.type};
            },
            this};
  }
};

template <class Count, class Displacement>
struct unequal_parts {
  void* address;
  const Count* counts;  // null on ranks that receive no part
  const Displacement* displacements;
  MPI_Datatype type;
  MPI_Aint extent;

  unequal_parts(const void* start, const Count* of_rank, const Displacement* at, MPI_Datatype of_type)
      : address(const_cast<void*>(start)),
        counts(of_rank),
        displacements(at),
        type(of_type),
        extent(extent_of(of_type)) {}
  bool are_valid(int ranks) const {
    return is_valid(0, type) && (counts == nullptr || std::all_of(counts, counts + ranks, [&](Count c) {
                                   return c >= 0 && !lacks_buffer(address, c, type);
                                 }));
  }
  parts all() const {
    return {[](const void* description, int rank) {
              const auto& self = *static_cast<const unequal_parts*>(description);
              return elements{static_cast<std::byte*>(self.address) + self.displacements[rank] * self.extent,
                              self.counts[rank], self.type};
            },
            this};
  }
};

// Each with a type of its own; displacements are in bytes.
template <class Count, class Displacement>
struct typed_parts {
  void* address;
  const Count* counts;  // null: there are no parts
  const Displacement* displacements;
  const MPI_Datatype* types;

  typed_parts(const void* start, const Count* of_rank, const Displacement* at, const MPI_Datatype* of_types)
      : address(const_cast<void*>(start)), counts(of_rank), displacements(at), types(of_types) {}
  bool are_valid(int ranks) const {
    for (int rank = 0; rank < ranks && counts != nullptr; ++rank)
      if (!is_valid(counts[rank], types[rank]) || lacks_buffer(address, counts[rank], types[rank])) return false;
    return true;
  }
  parts all() const {
    return {[](const void* description, int rank) {
              const auto& self = *static_cast<const typed_parts*>(description);
              return elements{static_cast<std::byte*>(self.address) + self.displacements[rank], self.counts[rank],
                              self.types[rank]};
            },
            this};
  }
};

// Parts that matter at the root only, or not in place: elsewhere the arguments may be anything.
equal_parts equal_parts_if(bool is_here, const void* start, MPI_Count each, MPI_Datatype type) {
  return {start, is_here ? each : 0, is_here ? type : MPI_BYTE};
}
template <class Count, class Displacement>
unequal_parts<Count, Displacement> unequal_parts_if(bool is_here, const void* start, const Count* counts,
                                                    const Displacement* displacements, MPI_Datatype type) {
  return {start, is_here ? counts : nullptr, displacements, is_here ? type : MPI_BYTE};
}

// Each rank's own arguments, which the others cannot know.
template <class... Parts>
bool are_valid(const communicator& known, const elements& own, const Parts&... parts) {
  const bool is_own_valid =
      own.address == MPI_IN_PLACE || (is_valid(own.count, own.type) && !lacks_buffer(own.address, own.count, own.type));
  return is_own_valid && (parts.are_valid(known.size()) && ...);
}

// On a communicator that spans hosts equal parts run a plan; others need the counts of all on every rank.
template <class Choose>
int across(session& in, communicator& known, MPI_Request* request, const equal_parts& some, Choose&& choose) {
  return across_hosts::run(in, known, request, choose(some.whole(known.size())));
}
template <class Parts, class Choose>
int across(session&, communicator&, MPI_Request*, const Parts&, Choose&&) {
  return pass_through;
}

elements whole_of(const equal_parts& of, int ranks) { return of.whole(ranks); }
template <class Parts>
elements whole_of(const Parts&, int) {
  return {};
}

// Nonblocking where there is a request.
template <class Parts>
int gather(session& in, communicator& known, MPI_Request* request, const elements& from, const Parts& to, int root) {
  if (!is_root(known, root)) return leave_to_library(known);
  if (!are_valid(known, from, to)) return leave_to_library(known);
  if (known.spans_hosts())
    return across(in, known, request, to,
                  [&](const elements& whole) { return across_hosts::gather(known, from, whole, root); });
  return run(in, known, request, [&](operation& all) { begin_gather(all, from, to.all(), root); });
}
template <class Parts>
int scatter(session& in, communicator& known, MPI_Request* request, const Parts& from, const elements& to, int root) {
  if (!is_root(known, root)) return leave_to_library(known);
  if (!are_valid(known, to, from)) return leave_to_library(known);
  if (known.spans_hosts())
    return across(in, known, request, from,
                  [&](const elements& whole) { return across_hosts::scatter(known, whole, to, root); });
  return run(in, known, request, [&](operation& all) { begin_scatter(all, from.all(), to, root); });
}
template <class Parts>
int allgather(session& in, communicator& known, MPI_Request* request, const elements& from, const Parts& to) {
  if (!are_valid(known, from, to)) return leave_to_library(known);
  if (known.spans_hosts())
    return across(in, known, request, to,
                  [&](const elements& whole) { return across_hosts::allgather(known, from, whole); });
  return run(in, known, request, [&](operation& all) { begin_allgather(all, from, to.all()); });
}
// In place it is the library's, on all ranks.
template <class Parts>
int alltoall(session& in, communicator& known, MPI_Request* request, const Parts& from, const Parts& to) {
  if (from.address == MPI_IN_PLACE) return pass_through;
  if (!are_valid(known, elements{}, from, to)) return leave_to_library(known);
  if (known.spans_hosts())
    return across(in, known, request, from, [&](const elements& sent) {
      return across_hosts::alltoall(known, sent, whole_of(to, known.size()));
    });
  return run(in, known, request, [&](operation& all) { begin_alltoall(all, from.all(), to.all()); });
}

}  // namespace
}  // namespace tri::mpi

using namespace tri::mpi;

// A blocking call and its nonblocking form: the same with a request at the end. `body` is the operation.
#define TRIREME_LIST(...) __VA_ARGS__
#define TRIREME_COLLECTIVE(name, nonblocking_name, parameters, arguments, body)                                     \
  TRIREME_EXPORTED int MPI_##name(TRIREME_LIST parameters) {                                                        \
    MPI_Request* const request = nullptr;                                                                           \
    return collective(                                                                                              \
        comm, true, [&](session& in, communicator& known) { return body; }, [&] { return PMPI_##name arguments; }); \
  }                                                                                                                 \
  TRIREME_EXPORTED int MPI_##nonblocking_name(TRIREME_LIST parameters, MPI_Request* request) {                      \
    return collective(                                                                                              \
        comm, false, [&](session& in, communicator& known) { return body; },                                        \
        [&] { return PMPI_##nonblocking_name(TRIREME_LIST arguments, request); });                                  \
  }

#define TRIREME_COLLECTIVES(suffix, count_type, displacement_type)                                                    \
  TRIREME_COLLECTIVE(Gather##suffix, Igather##suffix,                                                                 \
                     (const void* from, count_type from_count, MPI_Datatype from_type, void* to, count_type to_count, \
                      MPI_Datatype to_type, int root, MPI_Comm comm),                                                 \
                     (from, from_count, from_type, to, to_count, to_type, root, comm),                                \
                     gather(in, known, request, whole(from, from_count, from_type),                                   \
                            equal_parts_if(known.rank == root, to, to_count, to_type), root))                         \
  TRIREME_COLLECTIVE(                                                                                                 \
      Gatherv##suffix, Igatherv##suffix,                                                                              \
      (const void* from, count_type from_count, MPI_Datatype from_type, void* to, const count_type counts[],          \
       const displacement_type displacements[], MPI_Datatype to_type, int root, MPI_Comm comm),                       \
      (from, from_count, from_type, to, counts, displacements, to_type, root, comm),                                  \
      gather(in, known, request, whole(from, from_count, from_type),                                                  \
             unequal_parts_if(known.rank == root, to, counts, displacements, to_type), root))                         \
  TRIREME_COLLECTIVE(Scatter##suffix, Iscatter##suffix,                                                               \
                     (const void* from, count_type from_count, MPI_Datatype from_type, void* to, count_type to_count, \
                      MPI_Datatype to_type, int root, MPI_Comm comm),                                                 \
                     (from, from_count, from_type, to, to_count, to_type, root, comm),                                \
                     scatter(in, known, request, equal_parts_if(known.rank == root, from, from_count, from_type),     \
                             whole(to, to_count, to_type), root))                                                     \
  TRIREME_COLLECTIVE(                                                                                                 \
      Scatterv##suffix, Iscatterv##suffix,                                                                            \
      (const void* from, const count_type counts[], const displacement_type displacements[], MPI_Datatype from_type,  \
       void* to, count_type to_count, MPI_Datatype to_type, int root, MPI_Comm comm),                                 \
      (from, counts, displacements, from_type, to, to_count, to_type, root, comm),                                    \
      scatter(in, known, request, unequal_parts_if(known.rank == root, from, counts, displacements, from_type),       \
              whole(to, to_count, to_type), root))                                                                    \
  TRIREME_COLLECTIVE(                                                                                                 \
      Allgather##suffix, Iallgather##suffix,                                                                          \
      (const void* from, count_type from_count, MPI_Datatype from_type, void* to, count_type to_count,                \
       MPI_Datatype to_type, MPI_Comm comm),                                                                          \
      (from, from_count, from_type, to, to_count, to_type, comm),                                                     \
      allgather(in, known, request, whole(from, from_count, from_type), equal_parts(to, to_count, to_type)))          \
  TRIREME_COLLECTIVE(                                                                                                 \
      Allgatherv##suffix, Iallgatherv##suffix,                                                                        \
      (const void* from, count_type from_count, MPI_Datatype from_type, void* to, const count_type counts[],          \
       const displacement_type displacements[], MPI_Datatype to_type, MPI_Comm comm),                                 \
      (from, from_count, from_type, to, counts, displacements, to_type, comm),                                        \
      allgather(in, known, request, whole(from, from_count, from_type),                                               \
                unequal_parts(to, counts, displacements, to_type)))                                                   \
  TRIREME_COLLECTIVE(Alltoall##suffix, Ialltoall##suffix,                                                             \
                     (const void* from, count_type from_count, MPI_Datatype from_type, void* to, count_type to_count, \
                      MPI_Datatype to_type, MPI_Comm comm),                                                           \
                     (from, from_count, from_type, to, to_count, to_type, comm),                                      \
                     alltoall(in, known, request, equal_parts_if(from != MPI_IN_PLACE, from, from_count, from_type),  \
                              equal_parts(to, to_count, to_type)))                                                    \
  TRIREME_COLLECTIVE(                                                                                                 \
      Alltoallv##suffix, Ialltoallv##suffix,                                                                          \
      (const void* from, const count_type from_counts[], const displacement_type from_displacements[],                \
       MPI_Datatype from_type, void* to, const count_type to_counts[], const displacement_type to_displacements[],    \
       MPI_Datatype to_type, MPI_Comm comm),                                                                          \
      (from, from_counts, from_displacements, from_type, to, to_counts, to_displacements, to_type, comm),             \
      alltoall(in, known, request,                                                                                    \
               unequal_parts_if(from != MPI_IN_PLACE, from, from_counts, from_displacements, from_type),              \
               unequal_parts(to, to_counts, to_displacements, to_type)))                                              \
  TRIREME_COLLECTIVE(                                                                                                 \
      Alltoallw##suffix, Ialltoallw##suffix,                                                                          \
      (const void* from, const count_type from_counts[], const displacement_type from_displacements[],                \
       const MPI_Datatype from_types[], void* to, const count_type to_counts[],                                       \
       const displacement_type to_displacements[], const MPI_Datatype to_types[], MPI_Comm comm),                     \
      (from, from_counts, from_displacements, from_types, to, to_counts, to_displacements, to_types, comm),           \
      alltoall(in, known, request,                                                                                    \
               typed_parts(from, from == MPI_IN_PLACE ? nullptr : from_counts, from_displacements, from_types),       \
               typed_parts(to, to_counts, to_displacements, to_types)))

TRIREME_COLLECTIVES(, int, int)
#if MPI_VERSION >= 4
TRIREME_COLLECTIVES(_c, MPI_Count, MPI_Aint)
#endif
#undef TRIREME_COLLECTIVES
#undef TRIREME_COLLECTIVE
#undef TRIREME_LIST
