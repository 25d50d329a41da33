// Communicators with processes of other jobs, or of a group without a communicator. The MPI library makes them; those
// of this job have a barrier first. While one waits for a process elsewhere its messages move on
// (startup/library_calls.hpp).
#include <mpi.h>

#include <climits>

#include "mpi/abi/exported.hpp"
#include "mpi/coll/hosts/entry_barriers.hpp"
#include "mpi/comm/communicators.hpp"
#include "mpi/startup/library_calls.hpp"
#include "os/hash.hpp"

namespace tri::mpi {
namespace {

template <class Library>
int of_all_ranks(MPI_Comm comm, Library&& library) {
  if (const int error = entry_barriers::of_members(comm); error != MPI_SUCCESS) return error;
  return waiting_in_library(library);
}

#if MPI_VERSION >= 4
// The same for all members. Two names that are alike here matter only to threads that use both at a time.
int tag_of(const char* name) { return static_cast<int>(os::hashed(name) & INT_MAX); }

int note(int error, const MPI_Comm* made) {
  if (error == MPI_SUCCESS) communicators::add(*made);
  return error;
}
#endif

}  // namespace
}  // namespace tri::mpi

using namespace tri::mpi;

TRIREME_EXPORTED int MPI_Comm_spawn(const char* command, char* arguments[], int most, MPI_Info info, int root,
                                    MPI_Comm comm, MPI_Comm* made, int errors[]) {
  return of_all_ranks(comm, [&] { return PMPI_Comm_spawn(command, arguments, most, info, root, comm, made, errors); });
}
TRIREME_EXPORTED int MPI_Comm_spawn_multiple(int count, char* commands[], char** arguments[], const int most[],
                                             const MPI_Info info[], int root, MPI_Comm comm, MPI_Comm* made,
                                             int errors[]) {
  return of_all_ranks(
      comm, [&] { return PMPI_Comm_spawn_multiple(count, commands, arguments, most, info, root, comm, made, errors); });
}
TRIREME_EXPORTED int MPI_Comm_accept(const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* made) {
  return of_all_ranks(comm, [&] { return PMPI_Comm_accept(port, info, root, comm, made); });
}
TRIREME_EXPORTED int MPI_Comm_connect(const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* made) {
  return of_all_ranks(comm, [&] { return PMPI_Comm_connect(port, info, root, comm, made); });
}
TRIREME_EXPORTED int MPI_Comm_join(int socket, MPI_Comm* made) {
  return waiting_in_library([&] { return PMPI_Comm_join(socket, made); });
}

#if MPI_VERSION >= 4
TRIREME_EXPORTED int MPI_Comm_create_from_group(MPI_Group group, const char* name, MPI_Info info,
                                                MPI_Errhandler handler, MPI_Comm* made) {
  if (const int error = entry_barriers::of_group(MPI_COMM_WORLD, group, tag_of(name)); error != MPI_SUCCESS)
    return error;
  return note(waiting_in_library([&] { return PMPI_Comm_create_from_group(group, name, info, handler, made); }), made);
}
TRIREME_EXPORTED int MPI_Intercomm_create_from_groups(MPI_Group local, int leader, MPI_Group remote, int remote_leader,
                                                      const char* name, MPI_Info info, MPI_Errhandler handler,
                                                      MPI_Comm* made) {
  if (const int error = entry_barriers::of_two_groups_of_world(local, leader, remote, remote_leader, tag_of(name));
      error != MPI_SUCCESS)
    return error;
  return note(waiting_in_library([&] {
                return PMPI_Intercomm_create_from_groups(local, leader, remote, remote_leader, name, info, handler,
                                                         made);
              }),
              made);
}
#endif
