// Barriers before calls that wait inside the MPI library for other ranks. A rank that waits there moves no message of
// ours, so a member that is late, because it needs one, would never come. Behind a barrier of ours all members have
// come, and what the library then waits for is only the library.
//
// In a job on one host, and on communicators that are not ours, nothing happens. What cannot have a barrier (passive
// targets, processes of other jobs): startup/library_calls.hpp.
#pragma once

#include <mpi.h>

#include "mpi/comm/communicators.hpp"
#include "mpi/startup/session.hpp"

namespace tri::mpi::entry_barriers {

/// With the call guard, in a job on several hosts. `pass_through`, unless it fails.
int of_members(session& in, communicator& comm);

// Without the call guard. MPI_SUCCESS, or the code of an error that was reported.
int of_members(MPI_Comm comm);
/// The members of the group alone, which are ranks of the communicator. Barriers with different tags are independent.
int of_group(MPI_Comm comm, MPI_Group group, int tag);
/// All ranks of both groups, by their leaders, who are members of `peers`.
int of_two_groups(MPI_Comm local, int leader, MPI_Comm peers, int remote_leader, int tag);
/// The same of groups of MPI_COMM_WORLD. `remote` counts at the leader.
int of_two_groups_of_world(MPI_Group local, int leader, MPI_Group remote, int remote_leader, int tag);

/// What is made on a communicator and has an order of calls of its own. Before the library makes it, all members take a
/// number, also where it then fails on some of them.
int take_number(MPI_Comm comm);
void add(MPI_Win window, MPI_Comm comm, int number);
void add(MPI_File file, MPI_Comm comm, int number);
int of_window(MPI_Win window);
int of_file(MPI_File file);
/// There is no barrier any more.
void remove(MPI_Win window);
void remove(MPI_File file);

/// MPI_Win_post has returned from the library; does not wait.
int posted(MPI_Win window, MPI_Group origins);
/// Before MPI_Win_start: waits until these have posted.
int wait_for_posts(MPI_Win window, MPI_Group targets);

}  // namespace tri::mpi::entry_barriers
