// MPI's collective calls with a part for each rank: gathers, scatters, exchanges of all with all; waited for, or begun.
// All have one round of messages. In place, an exchange of all with all is the library's: it keeps what it needs.
#include <mpi.h>

#include "mpi/calls/collective_arguments.hpp"
#include "mpi/calls/exported.hpp"

namespace tri::mpi {
namespace {

using collectives::operation;

MPI_Aint extent_of(MPI_Datatype type) {
  MPI_Aint lower = 0, extent = 0;
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
  parts all() const {
    return {[](const void* description, int rank) {
              const auto& self = *static_cast<const equal_parts*>(description);
              return elements{static_cast<std::byte*>(self.address) + rank * self.count * self.extent, self.count,
                              self.type};
            },
            this};
  }
};

template <class Count, class Place>
struct unequal_parts {
  void* address;
  const Count* counts;
  const Place* places;
  MPI_Datatype type;
  MPI_Aint extent;

  unequal_parts(const void* start, const Count* of_rank, const Place* at, MPI_Datatype of_type)
      : address(const_cast<void*>(start)), counts(of_rank), places(at), type(of_type), extent(extent_of(of_type)) {}
  parts all() const {
    return {[](const void* description, int rank) {
              const auto& self = *static_cast<const unequal_parts*>(description);
              return elements{static_cast<std::byte*>(self.address) + self.places[rank] * self.extent,
                              self.counts[rank], self.type};
            },
            this};
  }
};

}  // namespace
}  // namespace tri::mpi

using namespace tri::mpi;

#define TRIREME_COLLECTIVES(suffix, count_type, place_type)                                                            \
  TRIREME_EXPORTED int MPI_Gather##suffix(const void* from, count_type from_count, MPI_Datatype from_type, void* to,   \
                                          count_type to_count, MPI_Datatype to_type, int root, MPI_Comm comm) {        \
    return collective(                                                                                                 \
        comm,                                                                                                          \
        [&](session& in, communicator& known) {                                                                        \
          if (!is_root(known, root)) return not_ours;                                                                  \
          const bool at_root = known.rank == root;                                                                     \
          const equal_parts parts(to, at_root ? to_count : 0, at_root ? to_type : MPI_BYTE);                           \
          return run(in, known, nullptr, [&](operation& all) {                                                         \
            begin_gather(all, whole(from, from_count, from_type), parts.all(), root);                                  \
          });                                                                                                          \
        },                                                                                                             \
        [&] { return PMPI_Gather##suffix(from, from_count, from_type, to, to_count, to_type, root, comm); });          \
  }                                                                                                                    \
  TRIREME_EXPORTED int MPI_Igather##suffix(const void* from, count_type from_count, MPI_Datatype from_type, void* to,  \
                                           count_type to_count, MPI_Datatype to_type, int root, MPI_Comm comm,         \
                                           MPI_Request* request) {                                                     \
    return collective(                                                                                                 \
        comm,                                                                                                          \
        [&](session& in, communicator& known) {                                                                        \
          if (!is_root(known, root)) return not_ours;                                                                  \
          const bool at_root = known.rank == root;                                                                     \
          const equal_parts parts(to, at_root ? to_count : 0, at_root ? to_type : MPI_BYTE);                           \
          return run(in, known, request, [&](operation& all) {                                                         \
            begin_gather(all, whole(from, from_count, from_type), parts.all(), root);                                  \
          });                                                                                                          \
        },                                                                                                             \
        [&] {                                                                                                          \
          return PMPI_Igather##suffix(from, from_count, from_type, to, to_count, to_type, root, comm, request);        \
        });                                                                                                            \
  }                                                                                                                    \
  TRIREME_EXPORTED int MPI_Gatherv##suffix(const void* from, count_type from_count, MPI_Datatype from_type, void* to,  \
                                           const count_type counts[], const place_type places[], MPI_Datatype to_type, \
                                           int root, MPI_Comm comm) {                                                  \
    return collective(                                                                                                 \
        comm,                                                                                                          \
        [&](session& in, communicator& known) {                                                                        \
          if (!is_root(known, root)) return not_ours;                                                                  \
          const unequal_parts parts(to, counts, places, known.rank == root ? to_type : MPI_BYTE);                      \
          return run(in, known, nullptr, [&](operation& all) {                                                         \
            begin_gather(all, whole(from, from_count, from_type), parts.all(), root);                                  \
          });                                                                                                          \
        },                                                                                                             \
        [&] { return PMPI_Gatherv##suffix(from, from_count, from_type, to, counts, places, to_type, root, comm); });   \
  }                                                                                                                    \
  TRIREME_EXPORTED int MPI_Igatherv##suffix(const void* from, count_type from_count, MPI_Datatype from_type, void* to, \
                                            const count_type counts[], const place_type places[],                      \
                                            MPI_Datatype to_type, int root, MPI_Comm comm, MPI_Request* request) {     \
    return collective(                                                                                                 \
        comm,                                                                                                          \
        [&](session& in, communicator& known) {                                                                        \
          if (!is_root(known, root)) return not_ours;                                                                  \
          const unequal_parts parts(to, counts, places, known.rank == root ? to_type : MPI_BYTE);                      \
          return run(in, known, request, [&](operation& all) {                                                         \
            begin_gather(all, whole(from, from_count, from_type), parts.all(), root);                                  \
          });                                                                                                          \
        },                                                                                                             \
        [&] {                                                                                                          \
          return PMPI_Igatherv##suffix(from, from_count, from_type, to, counts, places, to_type, root, comm, request); \
        });                                                                                                            \
  }                                                                                                                    \
  TRIREME_EXPORTED int MPI_Scatter##suffix(const void* from, count_type from_count, MPI_Datatype from_type, void* to,  \
                                           count_type to_count, MPI_Datatype to_type, int root, MPI_Comm comm) {       \
    return collective(                                                                                                 \
        comm,                                                                                                          \
        [&](session& in, communicator& known) {                                                                        \
          if (!is_root(known, root)) return not_ours;                                                                  \
          const bool at_root = known.rank == root;                                                                     \
          const equal_parts parts(from, at_root ? from_count : 0, at_root ? from_type : MPI_BYTE);                     \
          return run(in, known, nullptr,                                                                               \
                     [&](operation& all) { begin_scatter(all, parts.all(), whole(to, to_count, to_type), root); });    \
        },                                                                                                             \
        [&] { return PMPI_Scatter##suffix(from, from_count, from_type, to, to_count, to_type, root, comm); });         \
  }                                                                                                                    \
  TRIREME_EXPORTED int MPI_Iscatter##suffix(const void* from, count_type from_count, MPI_Datatype from_type, void* to, \
                                            count_type to_count, MPI_Datatype to_type, int root, MPI_Comm comm,        \
                                            MPI_Request* request) {                                                    \
    return collective(                                                                                                 \
        comm,                                                                                                          \
        [&](session& in, communicator& known) {                                                                        \
          if (!is_root(known, root)) return not_ours;                                                                  \
          const bool at_root = known.rank == root;                                                                     \
          const equal_parts parts(from, at_root ? from_count : 0, at_root ? from_type : MPI_BYTE);                     \
          return run(in, known, request,                                                                               \
                     [&](operation& all) { begin_scatter(all, parts.all(), whole(to, to_count, to_type), root); });    \
        },                                                                                                             \
        [&] {                                                                                                          \
          return PMPI_Iscatter##suffix(from, from_count, from_type, to, to_count, to_type, root, comm, request);       \
        });                                                                                                            \
  }                                                                                                                    \
  TRIREME_EXPORTED int MPI_Scatterv##suffix(const void* from, const count_type counts[], const place_type places[],    \
                                            MPI_Datatype from_type, void* to, count_type to_count,                     \
                                            MPI_Datatype to_type, int root, MPI_Comm comm) {                           \
    return collective(                                                                                                 \
        comm,                                                                                                          \
        [&](session& in, communicator& known) {                                                                        \
          if (!is_root(known, root)) return not_ours;                                                                  \
          const unequal_parts parts(from, counts, places, known.rank == root ? from_type : MPI_BYTE);                  \
          return run(in, known, nullptr,                                                                               \
                     [&](operation& all) { begin_scatter(all, parts.all(), whole(to, to_count, to_type), root); });    \
        },                                                                                                             \
        [&] { return PMPI_Scatterv##suffix(from, counts, places, from_type, to, to_count, to_type, root, comm); });    \
  }                                                                                                                    \
  TRIREME_EXPORTED int MPI_Iscatterv##suffix(const void* from, const count_type counts[], const place_type places[],   \
                                             MPI_Datatype from_type, void* to, count_type to_count,                    \
                                             MPI_Datatype to_type, int root, MPI_Comm comm, MPI_Request* request) {    \
    return collective(                                                                                                 \
        comm,                                                                                                          \
        [&](session& in, communicator& known) {                                                                        \
          if (!is_root(known, root)) return not_ours;                                                                  \
          const unequal_parts parts(from, counts, places, known.rank == root ? from_type : MPI_BYTE);                  \
          return run(in, known, request,                                                                               \
                     [&](operation& all) { begin_scatter(all, parts.all(), whole(to, to_count, to_type), root); });    \
        },                                                                                                             \
        [&] {                                                                                                          \
          return PMPI_Iscatterv##suffix(from, counts, places, from_type, to, to_count, to_type, root, comm, request);  \
        });                                                                                                            \
  }                                                                                                                    \
  TRIREME_EXPORTED int MPI_Allgather##suffix(const void* from, count_type from_count, MPI_Datatype from_type,          \
                                             void* to, count_type to_count, MPI_Datatype to_type, MPI_Comm comm) {     \
    return collective(                                                                                                 \
        comm,                                                                                                          \
        [&](session& in, communicator& known) {                                                                        \
          if (!is_valid(to_count, to_type)) return not_ours;                                                           \
          const equal_parts parts(to, to_count, to_type);                                                              \
          return run(in, known, nullptr,                                                                               \
                     [&](operation& all) { begin_allgather(all, whole(from, from_count, from_type), parts.all()); });  \
        },                                                                                                             \
        [&] { return PMPI_Allgather##suffix(from, from_count, from_type, to, to_count, to_type, comm); });             \
  }                                                                                                                    \
  TRIREME_EXPORTED int MPI_Iallgather##suffix(const void* from, count_type from_count, MPI_Datatype from_type,         \
                                              void* to, count_type to_count, MPI_Datatype to_type, MPI_Comm comm,      \
                                              MPI_Request* request) {                                                  \
    return collective(                                                                                                 \
        comm,                                                                                                          \
        [&](session& in, communicator& known) {                                                                        \
          if (!is_valid(to_count, to_type)) return not_ours;                                                           \
          const equal_parts parts(to, to_count, to_type);                                                              \
          return run(in, known, request,                                                                               \
                     [&](operation& all) { begin_allgather(all, whole(from, from_count, from_type), parts.all()); });  \
        },                                                                                                             \
        [&] { return PMPI_Iallgather##suffix(from, from_count, from_type, to, to_count, to_type, comm, request); });   \
  }                                                                                                                    \
  TRIREME_EXPORTED int MPI_Allgatherv##suffix(const void* from, count_type from_count, MPI_Datatype from_type,         \
                                              void* to, const count_type counts[], const place_type places[],          \
                                              MPI_Datatype to_type, MPI_Comm comm) {                                   \
    return collective(                                                                                                 \
        comm,                                                                                                          \
        [&](session& in, communicator& known) {                                                                        \
          if (!is_valid(0, to_type)) return not_ours;                                                                  \
          const unequal_parts parts(to, counts, places, to_type);                                                      \
          return run(in, known, nullptr,                                                                               \
                     [&](operation& all) { begin_allgather(all, whole(from, from_count, from_type), parts.all()); });  \
        },                                                                                                             \
        [&] { return PMPI_Allgatherv##suffix(from, from_count, from_type, to, counts, places, to_type, comm); });      \
  }                                                                                                                    \
  TRIREME_EXPORTED int MPI_Iallgatherv##suffix(const void* from, count_type from_count, MPI_Datatype from_type,        \
                                               void* to, const count_type counts[], const place_type places[],         \
                                               MPI_Datatype to_type, MPI_Comm comm, MPI_Request* request) {            \
    return collective(                                                                                                 \
        comm,                                                                                                          \
        [&](session& in, communicator& known) {                                                                        \
          if (!is_valid(0, to_type)) return not_ours;                                                                  \
          const unequal_parts parts(to, counts, places, to_type);                                                      \
          return run(in, known, request,                                                                               \
                     [&](operation& all) { begin_allgather(all, whole(from, from_count, from_type), parts.all()); });  \
        },                                                                                                             \
        [&] {                                                                                                          \
          return PMPI_Iallgatherv##suffix(from, from_count, from_type, to, counts, places, to_type, comm, request);    \
        });                                                                                                            \
  }                                                                                                                    \
  TRIREME_EXPORTED int MPI_Alltoall##suffix(const void* from, count_type from_count, MPI_Datatype from_type, void* to, \
                                            count_type to_count, MPI_Datatype to_type, MPI_Comm comm) {                \
    return collective(                                                                                                 \
        comm,                                                                                                          \
        [&](session& in, communicator& known) {                                                                        \
          if (from == MPI_IN_PLACE || !is_valid(to_count, to_type) || !is_valid(from_count, from_type))                \
            return not_ours;                                                                                           \
          const equal_parts sent(from, from_count, from_type);                                                         \
          const equal_parts received(to, to_count, to_type);                                                           \
          return run(in, known, nullptr, [&](operation& all) { begin_alltoall(all, sent.all(), received.all()); });    \
        },                                                                                                             \
        [&] { return PMPI_Alltoall##suffix(from, from_count, from_type, to, to_count, to_type, comm); });              \
  }                                                                                                                    \
  TRIREME_EXPORTED int MPI_Ialltoall##suffix(const void* from, count_type from_count, MPI_Datatype from_type,          \
                                             void* to, count_type to_count, MPI_Datatype to_type, MPI_Comm comm,       \
                                             MPI_Request* request) {                                                   \
    return collective(                                                                                                 \
        comm,                                                                                                          \
        [&](session& in, communicator& known) {                                                                        \
          if (from == MPI_IN_PLACE || !is_valid(to_count, to_type) || !is_valid(from_count, from_type))                \
            return not_ours;                                                                                           \
          const equal_parts sent(from, from_count, from_type);                                                         \
          const equal_parts received(to, to_count, to_type);                                                           \
          return run(in, known, request, [&](operation& all) { begin_alltoall(all, sent.all(), received.all()); });    \
        },                                                                                                             \
        [&] { return PMPI_Ialltoall##suffix(from, from_count, from_type, to, to_count, to_type, comm, request); });    \
  }                                                                                                                    \
  TRIREME_EXPORTED int MPI_Alltoallv##suffix(                                                                          \
      const void* from, const count_type from_counts[], const place_type from_places[], MPI_Datatype from_type,        \
      void* to, const count_type to_counts[], const place_type to_places[], MPI_Datatype to_type, MPI_Comm comm) {     \
    return collective(                                                                                                 \
        comm,                                                                                                          \
        [&](session& in, communicator& known) {                                                                        \
          if (from == MPI_IN_PLACE || !is_valid(0, to_type) || !is_valid(0, from_type)) return not_ours;               \
          const unequal_parts sent(from, from_counts, from_places, from_type);                                         \
          const unequal_parts received(to, to_counts, to_places, to_type);                                             \
          return run(in, known, nullptr, [&](operation& all) { begin_alltoall(all, sent.all(), received.all()); });    \
        },                                                                                                             \
        [&] {                                                                                                          \
          return PMPI_Alltoallv##suffix(from, from_counts, from_places, from_type, to, to_counts, to_places, to_type,  \
                                        comm);                                                                         \
        });                                                                                                            \
  }                                                                                                                    \
  TRIREME_EXPORTED int MPI_Ialltoallv##suffix(const void* from, const count_type from_counts[],                        \
                                              const place_type from_places[], MPI_Datatype from_type, void* to,        \
                                              const count_type to_counts[], const place_type to_places[],              \
                                              MPI_Datatype to_type, MPI_Comm comm, MPI_Request* request) {             \
    return collective(                                                                                                 \
        comm,                                                                                                          \
        [&](session& in, communicator& known) {                                                                        \
          if (from == MPI_IN_PLACE || !is_valid(0, to_type) || !is_valid(0, from_type)) return not_ours;               \
          const unequal_parts sent(from, from_counts, from_places, from_type);                                         \
          const unequal_parts received(to, to_counts, to_places, to_type);                                             \
          return run(in, known, request, [&](operation& all) { begin_alltoall(all, sent.all(), received.all()); });    \
        },                                                                                                             \
        [&] {                                                                                                          \
          return PMPI_Ialltoallv##suffix(from, from_counts, from_places, from_type, to, to_counts, to_places, to_type, \
                                         comm, request);                                                               \
        });                                                                                                            \
  }
TRIREME_COLLECTIVES(, int, int)
#if MPI_VERSION >= 4
TRIREME_COLLECTIVES(_c, MPI_Count, MPI_Aint)
#endif
#undef TRIREME_COLLECTIVES
