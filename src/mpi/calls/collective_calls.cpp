// MPI's blocking collective calls. Ours are those on communicators of ours with arguments that look right; the rest,
// and operations that are not commutative, go to the MPI library. All ranks of a communicator decide alike: only by
// what MPI wants to be equal on all of them.
#include <mpi.h>

#include "mpi/calls/collectives.hpp"
#include "mpi/calls/communicators.hpp"
#include "mpi/calls/datatypes.hpp"
#include "mpi/calls/exported.hpp"
#include "mpi/calls/requests.hpp"
#include "mpi/calls/session.hpp"

namespace tri::mpi {
namespace {

using collectives::elements;
using collectives::parts;

bool is_root(const communicator& comm, int root) { return root >= 0 && root < comm.size(); }

bool is_commutative(MPI_Op operation) {
  int commutative = 0;
  if (operation == MPI_OP_NULL) return false;
  PMPI_Op_commutative(operation, &commutative);
  return commutative != 0;
}

MPI_Aint extent_of(MPI_Datatype type) {
  MPI_Aint lower = 0, extent = 0;
  PMPI_Type_get_extent(type, &lower, &extent);
  return extent;
}

// As many elements for each rank, one part behind the other.
struct equal_parts {
  void* address;
  int count;
  MPI_Datatype type;
  MPI_Aint extent;

  equal_parts(const void* start, int each, MPI_Datatype of_type)
      : address(const_cast<void*>(start)), count(each), type(of_type), extent(extent_of(of_type)) {}
  parts all() const {
    return {[](const void* description, int rank) {
              const auto& self = *static_cast<const equal_parts*>(description);
              return elements{static_cast<std::byte*>(self.address) + MPI_Aint{rank} * self.count * self.extent,
                              self.count, self.type};
            },
            this};
  }
};

struct unequal_parts {
  void* address;
  const int* counts;
  const int* places;
  MPI_Datatype type;
  MPI_Aint extent;

  unequal_parts(const void* start, const int* of_rank, const int* at, MPI_Datatype of_type)
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

elements whole(const void* address, int count, MPI_Datatype type) { return {const_cast<void*>(address), count, type}; }

// The arguments that MPI says are an error are left to the library, which says so.
bool is_valid(int count, MPI_Datatype type) {
  return count >= 0 && type != MPI_DATATYPE_NULL && datatypes::find(type).is_valid;
}

// Runs `body(session, communicator)` when the communicator is ours.
template <class Body, class Library>
int collective(MPI_Comm comm, Body&& body, Library&& library) {
  return ours_or_library(
      [&](session& in) {
        communicator* const known = communicators::find(comm);
        if (known == nullptr) return not_ours;
        const int error = body(in, *known);
        return error == not_ours ? not_ours : report(comm, error);
      },
      library);
}

}  // namespace
}  // namespace tri::mpi

using namespace tri::mpi;

TRIREME_EXPORTED int MPI_Barrier(MPI_Comm comm) {
  return collective(
      comm, [](session& in, communicator& known) { return collectives::barrier(in, known); },
      [&] { return PMPI_Barrier(comm); });
}

TRIREME_EXPORTED int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return collective(
      comm,
      [&](session& in, communicator& known) {
        if (!is_valid(count, type) || !is_root(known, root)) return not_ours;
        return collectives::broadcast(in, known, {buffer, count, type}, root);
      },
      [&] { return PMPI_Bcast(buffer, count, type, root, comm); });
}

TRIREME_EXPORTED int MPI_Reduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op operation, int root,
                                MPI_Comm comm) {
  return collective(
      comm,
      [&](session& in, communicator& known) {
        if (!is_valid(count, type) || !is_root(known, root) || !is_commutative(operation)) return not_ours;
        return collectives::reduce(in, known, from, {to, count, type}, operation, root);
      },
      [&] { return PMPI_Reduce(from, to, count, type, operation, root, comm); });
}

TRIREME_EXPORTED int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op operation,
                                   MPI_Comm comm) {
  return collective(
      comm,
      [&](session& in, communicator& known) {
        if (!is_valid(count, type) || !is_commutative(operation)) return not_ours;
        return collectives::allreduce(in, known, from, {to, count, type}, operation);
      },
      [&] { return PMPI_Allreduce(from, to, count, type, operation, comm); });
}

TRIREME_EXPORTED int MPI_Gather(const void* from, int from_count, MPI_Datatype from_type, void* to, int to_count,
                                MPI_Datatype to_type, int root, MPI_Comm comm) {
  return collective(
      comm,
      [&](session& in, communicator& known) {
        if (!is_root(known, root)) return not_ours;
        const bool at_root = known.rank == root;
        const equal_parts all(to, at_root ? to_count : 0, at_root ? to_type : MPI_BYTE);
        return collectives::gather(in, known, whole(from, from_count, from_type), all.all(), root);
      },
      [&] { return PMPI_Gather(from, from_count, from_type, to, to_count, to_type, root, comm); });
}

TRIREME_EXPORTED int MPI_Gatherv(const void* from, int from_count, MPI_Datatype from_type, void* to, const int counts[],
                                 const int places[], MPI_Datatype to_type, int root, MPI_Comm comm) {
  return collective(
      comm,
      [&](session& in, communicator& known) {
        if (!is_root(known, root)) return not_ours;
        const unequal_parts all(to, counts, places, known.rank == root ? to_type : MPI_BYTE);
        return collectives::gather(in, known, whole(from, from_count, from_type), all.all(), root);
      },
      [&] { return PMPI_Gatherv(from, from_count, from_type, to, counts, places, to_type, root, comm); });
}

TRIREME_EXPORTED int MPI_Scatter(const void* from, int from_count, MPI_Datatype from_type, void* to, int to_count,
                                 MPI_Datatype to_type, int root, MPI_Comm comm) {
  return collective(
      comm,
      [&](session& in, communicator& known) {
        if (!is_root(known, root)) return not_ours;
        const bool at_root = known.rank == root;
        const equal_parts all(from, at_root ? from_count : 0, at_root ? from_type : MPI_BYTE);
        return collectives::scatter(in, known, all.all(), whole(to, to_count, to_type), root);
      },
      [&] { return PMPI_Scatter(from, from_count, from_type, to, to_count, to_type, root, comm); });
}

TRIREME_EXPORTED int MPI_Scatterv(const void* from, const int counts[], const int places[], MPI_Datatype from_type,
                                  void* to, int to_count, MPI_Datatype to_type, int root, MPI_Comm comm) {
  return collective(
      comm,
      [&](session& in, communicator& known) {
        if (!is_root(known, root)) return not_ours;
        const unequal_parts all(from, counts, places, known.rank == root ? from_type : MPI_BYTE);
        return collectives::scatter(in, known, all.all(), whole(to, to_count, to_type), root);
      },
      [&] { return PMPI_Scatterv(from, counts, places, from_type, to, to_count, to_type, root, comm); });
}

TRIREME_EXPORTED int MPI_Allgather(const void* from, int from_count, MPI_Datatype from_type, void* to, int to_count,
                                   MPI_Datatype to_type, MPI_Comm comm) {
  return collective(
      comm,
      [&](session& in, communicator& known) {
        if (!is_valid(to_count, to_type)) return not_ours;
        const equal_parts all(to, to_count, to_type);
        return collectives::allgather(in, known, whole(from, from_count, from_type), all.all());
      },
      [&] { return PMPI_Allgather(from, from_count, from_type, to, to_count, to_type, comm); });
}

TRIREME_EXPORTED int MPI_Allgatherv(const void* from, int from_count, MPI_Datatype from_type, void* to,
                                    const int counts[], const int places[], MPI_Datatype to_type, MPI_Comm comm) {
  return collective(
      comm,
      [&](session& in, communicator& known) {
        if (!is_valid(0, to_type)) return not_ours;
        const unequal_parts all(to, counts, places, to_type);
        return collectives::allgather(in, known, whole(from, from_count, from_type), all.all());
      },
      [&] { return PMPI_Allgatherv(from, from_count, from_type, to, counts, places, to_type, comm); });
}

// In place the library's own algorithm keeps what it needs.
TRIREME_EXPORTED int MPI_Alltoall(const void* from, int from_count, MPI_Datatype from_type, void* to, int to_count,
                                  MPI_Datatype to_type, MPI_Comm comm) {
  return collective(
      comm,
      [&](session& in, communicator& known) {
        if (from == MPI_IN_PLACE || !is_valid(to_count, to_type) || !is_valid(from_count, from_type)) return not_ours;
        const equal_parts sent(from, from_count, from_type);
        const equal_parts received(to, to_count, to_type);
        return collectives::alltoall(in, known, sent.all(), received.all());
      },
      [&] { return PMPI_Alltoall(from, from_count, from_type, to, to_count, to_type, comm); });
}

TRIREME_EXPORTED int MPI_Alltoallv(const void* from, const int from_counts[], const int from_places[],
                                   MPI_Datatype from_type, void* to, const int to_counts[], const int to_places[],
                                   MPI_Datatype to_type, MPI_Comm comm) {
  return collective(
      comm,
      [&](session& in, communicator& known) {
        if (from == MPI_IN_PLACE || !is_valid(0, to_type) || !is_valid(0, from_type)) return not_ours;
        const unequal_parts sent(from, from_counts, from_places, from_type);
        const unequal_parts received(to, to_counts, to_places, to_type);
        return collectives::alltoall(in, known, sent.all(), received.all());
      },
      [&] {
        return PMPI_Alltoallv(from, from_counts, from_places, from_type, to, to_counts, to_places, to_type, comm);
      });
}
