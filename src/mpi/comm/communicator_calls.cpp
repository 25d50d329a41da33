// Calls that create and free communicators: the MPI library executes them, the drop-in records them.
#include <mpi.h>

#include "mpi/abi/exported.hpp"
#include "mpi/coll/hosts/entry_barriers.hpp"
#include "mpi/comm/communicator_hints.hpp"
#include "mpi/comm/communicators.hpp"
#include "mpi/p2p/requests.hpp"
#include "mpi/startup/library_calls.hpp"
#include "mpi/startup/session.hpp"

namespace tri::mpi {
namespace {

int note(int error, const MPI_Comm* made) {
  if (error == MPI_SUCCESS && session::active() != nullptr) communicators::add(*made);
  return error;
}

// By an operation of all members of `comm`.
template <class Library>
int make_together(MPI_Comm comm, const MPI_Comm* made, Library&& library) {
  if (const int error = entry_barriers::of_members(comm); error != MPI_SUCCESS) return error;
  return note(waiting_in_library(library), made);
}

// The duplicate has the hints of `of` at the time of the call, or those of `info` alone.
touch_order hint_of(MPI_Comm of) {
  session* const in = session::active();
  if (in == nullptr) return touch_order::unknown;
  const call_guard guard(*in);
  const communicator* const known = communicators::find_any(of);
  return known == nullptr ? touch_order::unknown : known->touched;
}
touch_order hint_in(MPI_Info info) { return communicator_hints::in(info).value_or(touch_order::unknown); }

int note_duplicate(int error, const MPI_Comm* made, touch_order touched) {
  if (note(error, made) == MPI_SUCCESS) communicator_hints::set(*made, touched);
  return error;
}

// The library may refuse because an attribute's delete function fails: then the communicator stays as it is. It remains
// ours until it is freed, also in these functions.
template <class Free>
int free_with(MPI_Comm* comm, Free&& free) {
  session* const in = session::active();
  if (in == nullptr) return free(comm);
  const MPI_Comm handle = *comm;
  std::uint64_t context = 0;  // never given twice; 0: not intercepted
  {
    const call_guard guard(*in);
    if (communicator* const known = communicators::find_any(handle)) context = known->context;
  }
  const int error = waiting_in_library([&] { return free(comm); });
  if (error == MPI_SUCCESS && context != 0 && session::active() != nullptr) {
    const call_guard guard(*in);
    communicators::forget(handle, context);
  }
  return error;
}

// The library returns the handle at once. If it does not, the duplicate is the library's on all ranks, as is that of an
// inter-communicator: its groups would need two rounds of messages to agree, and ranks that compute would hold them up.
int note_nonblocking(int error, MPI_Comm of, const MPI_Comm* made, MPI_Request* handle, touch_order touched) {
  session* const in = session::active();
  if (error != MPI_SUCCESS || in == nullptr || *made == MPI_COMM_NULL) return error;
  const call_guard guard(*in);
  communicator* const known = communicators::find(of);
  if (known != nullptr)
    *handle = requests::add(*in, *known, communicators::begin_duplicate(*in, *known, *made, *handle, touched));
  return error;
}

// The first lookup of a type duplicates MPI_COMM_SELF (datatypes.cpp). While a duplication is under way, Open MPI 4.1.4
// then leaves that one incomplete for ever.
void look_up_first_type() {
  if (session* const in = session::active()) {
    const call_guard guard(*in);
    datatypes::find(MPI_BYTE);
  }
}

}  // namespace
}  // namespace tri::mpi

using namespace tri::mpi;

TRIREME_EXPORTED int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
  if (const int error = entry_barriers::of_members(comm); error != MPI_SUCCESS) return error;
  const touch_order touched = hint_of(comm);
  return note_duplicate(waiting_in_library([&] { return PMPI_Comm_dup(comm, made); }), made, touched);
}
TRIREME_EXPORTED int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* made) {
  if (const int error = entry_barriers::of_members(comm); error != MPI_SUCCESS) return error;
  return note_duplicate(waiting_in_library([&] { return PMPI_Comm_dup_with_info(comm, info, made); }), made,
                        hint_in(info));
}
TRIREME_EXPORTED int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* made, MPI_Request* handle) {
  look_up_first_type();
  const touch_order touched = hint_of(comm);
  return note_nonblocking(PMPI_Comm_idup(comm, made, handle), comm, made, handle, touched);
}
#if MPI_VERSION >= 4
TRIREME_EXPORTED int MPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* made, MPI_Request* handle) {
  look_up_first_type();
  return note_nonblocking(PMPI_Comm_idup_with_info(comm, info, made, handle), comm, made, handle, hint_in(info));
}
#endif
TRIREME_EXPORTED int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* made) {
  return make_together(comm, made, [&] { return PMPI_Comm_create(comm, group, made); });
}
TRIREME_EXPORTED int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made) {
  if (const int error = entry_barriers::of_group(comm, group, tag); error != MPI_SUCCESS) return error;
  return note(waiting_in_library([&] { return PMPI_Comm_create_group(comm, group, tag, made); }), made);
}
TRIREME_EXPORTED int MPI_Comm_split(MPI_Comm comm, int colour, int key, MPI_Comm* made) {
  return make_together(comm, made, [&] { return PMPI_Comm_split(comm, colour, key, made); });
}
TRIREME_EXPORTED int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made) {
  return make_together(comm, made, [&] { return PMPI_Comm_split_type(comm, type, key, info, made); });
}
TRIREME_EXPORTED int MPI_Intercomm_create(MPI_Comm local, int leader, MPI_Comm peers, int remote_leader, int tag,
                                          MPI_Comm* made) {
  if (const int error = entry_barriers::of_two_groups(local, leader, peers, remote_leader, tag); error != MPI_SUCCESS)
    return error;
  const int error =
      waiting_in_library([&] { return PMPI_Intercomm_create(local, leader, peers, remote_leader, tag, made); });
  return note(error, made);
}
TRIREME_EXPORTED int MPI_Intercomm_merge(MPI_Comm comm, int high, MPI_Comm* made) {
  return make_together(comm, made, [&] { return PMPI_Intercomm_merge(comm, high, made); });
}
TRIREME_EXPORTED int MPI_Cart_create(MPI_Comm comm, int dimensions, const int sizes[], const int periodic[],
                                     int reorder, MPI_Comm* made) {
  return make_together(comm, made, [&] { return PMPI_Cart_create(comm, dimensions, sizes, periodic, reorder, made); });
}
TRIREME_EXPORTED int MPI_Cart_sub(MPI_Comm comm, const int remain[], MPI_Comm* made) {
  return make_together(comm, made, [&] { return PMPI_Cart_sub(comm, remain, made); });
}
TRIREME_EXPORTED int MPI_Graph_create(MPI_Comm comm, int nodes, const int index[], const int edges[], int reorder,
                                      MPI_Comm* made) {
  return make_together(comm, made, [&] { return PMPI_Graph_create(comm, nodes, index, edges, reorder, made); });
}
TRIREME_EXPORTED int MPI_Dist_graph_create(MPI_Comm comm, int count, const int sources[], const int degrees[],
                                           const int targets[], const int weights[], MPI_Info info, int reorder,
                                           MPI_Comm* made) {
  return make_together(comm, made, [&] {
    return PMPI_Dist_graph_create(comm, count, sources, degrees, targets, weights, info, reorder, made);
  });
}
TRIREME_EXPORTED int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int in_degree, const int sources[],
                                                    const int in_weights[], int out_degree, const int targets[],
                                                    const int out_weights[], MPI_Info info, int reorder,
                                                    MPI_Comm* made) {
  return make_together(comm, made, [&] {
    return PMPI_Dist_graph_create_adjacent(comm, in_degree, sources, in_weights, out_degree, targets, out_weights, info,
                                           reorder, made);
  });
}

TRIREME_EXPORTED int MPI_Comm_free(MPI_Comm* comm) { return free_with(comm, PMPI_Comm_free); }
TRIREME_EXPORTED int MPI_Comm_disconnect(MPI_Comm* comm) {
  if (const int error = entry_barriers::of_members(*comm); error != MPI_SUCCESS) return error;
  return free_with(comm, PMPI_Comm_disconnect);
}
