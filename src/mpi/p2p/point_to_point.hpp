// Point-to-point operations with MPI's arguments, before they have the shape of one of MPI's functions: which are ours,
// and how they are begun and completed. With the call guard. Functions that return an int return `pass_through`, with
// nothing done, when the arguments are not ours.
#pragma once

#include <mpi.h>

#include "mpi/p2p/requests.hpp"

namespace tri::mpi {

/// The arguments of a send or a receive that is ours; otherwise without a communicator.
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

/// Either half may be with nobody. What is wrong with one leaves nothing behind of the other.
int exchange(session& in, const intercepted_call& sent, const intercepted_call& received, MPI_Status* status);
/// The message that leaves is copied first, out of the buffer of the one that comes.
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
