// Point-to-point operations with MPI's arguments, below MPI's individual functions: which ones are intercepted, and how
// they are started and completed. With the call guard. Functions that return an int return `pass_through`, with nothing
// done, when the arguments are not ours.
#pragma once

#include <mpi.h>

#include "mpi/p2p/requests.hpp"

namespace tri::mpi {

/// The arguments of an intercepted send or receive; without a communicator when it is not intercepted.
struct intercepted_call {
  communicator* comm = nullptr;
  transfer_arguments arguments;
  explicit operator bool() const { return comm != nullptr; }
};
intercepted_call send_of(const void* buffer, MPI_Count count, MPI_Datatype type, int target, int tag, MPI_Comm comm,
                         send_mode mode);
intercepted_call receive_of(void* buffer, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm);

int complete(session& in, const intercepted_call& mine, MPI_Status* status);
int begin(session& in, const intercepted_call& mine, MPI_Request* request);

int make_persistent(const intercepted_call& mine, MPI_Request* request);

/// Either partner may be MPI_PROC_NULL. An error in one half leaves nothing behind of the other.
int exchange(session& in, const intercepted_call& sent, const intercepted_call& received, MPI_Status* status);
/// The outgoing message is first copied out of the buffer of the incoming one.
int exchange_in_place(session& in, intercepted_call sent, const intercepted_call& received, MPI_Status* status);
/// Also of one buffer: the message that leaves is copied, so the request is done when the other one is.
int begin_exchange(session& in, intercepted_call sent, const intercepted_call& received, MPI_Request* request);

/// A message that was taken out of the matching and waits for its receive.
MPI_Message keep(arrived_message& message, communicator& comm);
int complete_taken(session& in, void* buffer, MPI_Count count, MPI_Datatype type, MPI_Message* message,
                   MPI_Status* status);
int begin_taken(session& in, void* buffer, MPI_Count count, MPI_Datatype type, MPI_Message* message,
                MPI_Request* request);

}  // namespace tri::mpi
