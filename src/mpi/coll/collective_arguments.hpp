// What MPI's collective calls have in common. Calls are intercepted on intercepted communicators with valid arguments;
// the rest go to the MPI library. All ranks of a communicator decide alike: only by arguments that MPI requires to be
// equal on all of them.
#pragma once

#include <mpi.h>

#include <memory>
#include <utility>

#include "mpi/abi/abi.hpp"
#include "mpi/abi/counted_calls.hpp"
#include "mpi/coll/collectives.hpp"
#include "mpi/coll/groups/between_groups.hpp"
#include "mpi/coll/hosts/collectives_across_hosts.hpp"
#include "mpi/coll/hosts/entry_barriers.hpp"
#include "mpi/comm/communicators.hpp"
#include "mpi/datatypes/datatypes.hpp"
#include "mpi/p2p/requests.hpp"
#include "mpi/rma/typed_memory.hpp"
#include "mpi/startup/library_calls.hpp"
#include "mpi/startup/session.hpp"

namespace tri::mpi {

using collectives::completion;
using collectives::elements;
namespace across_hosts = collectives::across_hosts;
namespace between_groups = collectives::between_groups;
using collectives::parts;

/// Whether MPI allows it: the group of an inter-communicator's root knows it by another name.
inline bool is_root(const communicator& comm, int root) {
  return (root >= 0 && root < comm.size()) || (comm.is_inter() && (root == MPI_ROOT || root == MPI_PROC_NULL));
}
inline bool is_own_rank(const communicator& comm, int root) { return root == (comm.is_inter() ? MPI_ROOT : comm.rank); }
/// In the root's group of an inter-communicator the other ranks take no part.
inline bool takes_part(const communicator& comm, int root) { return !comm.is_inter() || root != MPI_PROC_NULL; }

/// Whether the part of the calling rank matters: in the root's group of an inter-communicator there are none.
inline bool has_own_part(const communicator& comm, int root) { return !comm.is_inter() || root >= 0; }

inline elements whole(const void* address, MPI_Count count, MPI_Datatype type) {
  return {const_cast<void*>(address), count, type};
}

/// Arguments that MPI defines as erroneous are passed to the library, which reports them.
inline bool is_valid(MPI_Count count, MPI_Datatype type) {
  return count >= 0 && type != MPI_DATATYPE_NULL && datatypes::find(type).is_valid;
}

/// A rank's own buffer is null although there are elements. The other ranks cannot know: skipping the operation must
/// not put the caller's next one out of step with theirs (`leave_to_library`).
inline bool lacks_buffer(const void* buffer, MPI_Count count, MPI_Datatype type) {
  return abi::checks_collective_buffers && buffer == nullptr && is_missing(buffer, count, datatypes::find(type));
}

/// Of the calling rank only; the others do not pass it through.
inline constexpr int pass_through_alone = -2;

/// For a rank whose own arguments are wrong: the library reports the error and sends nothing. The rank still counts the
/// operation, so that the messages of the others stay apart from the next one.
inline int leave_to_library(communicator& known) {
  ++known.collectives;
  return pass_through_alone;
}

/// Runs `body(session, communicator)` when the communicator is intercepted, also one that spans hosts or an
/// inter-communicator. `blocks`: there
/// the library's own operation waits for its members, and this rank would serve no other one meanwhile.
template <class Body, class Library>
int collective(MPI_Comm comm, bool blocks, Body&& body, Library&& library, MPI_Count count = -1,
               MPI_Datatype type = MPI_DATATYPE_NULL, const char* name = __builtin_FUNCTION()) {
  return counted(
      {name, comm, count, type},
      [&](session& in) {
        communicator* const known = communicators::find_any(comm);
        if (known == nullptr) return pass_through;
        int error = body(in, *known);
        if (error == pass_through && blocks && in.hosts().are_several()) error = entry_barriers::of_members(in, *known);
        return error == pass_through || error == pass_through_alone ? pass_through : report(comm, error);
      },
      [&] { return waiting_in_library(library); });
}

/// An operation of one round: `begin(operation)` posts its messages.
template <class Begin>
int run(session& in, communicator& known, const completion& how, Begin&& begin) {
  if (how.is_blocking()) {
    collectives::operation all(in, known);
    begin(all);
    return all.wait();
  }
  return how.begin(in, known, [&](const collectives::operation_identity& identity) {
    auto all = std::make_unique<collectives::operation>(in, known, identity);
    begin(*all);
    return all;
  });
}

}  // namespace tri::mpi
