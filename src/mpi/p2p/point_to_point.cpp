#include "mpi/p2p/point_to_point.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mpi/abi/abi.hpp"
#include "mpi/comm/communicators.hpp"
#include "mpi/datatypes/datatypes.hpp"
#include "mpi/p2p/handle_table.hpp"
#include "mpi/rma/typed_memory.hpp"
#include "mpi/startup/session.hpp"

namespace tri::mpi {
namespace {

bool is_tag(int tag) { return tag >= 0 && tag <= session::active()->largest_tag(); }

int finish_here(session& in, transfer& pending, const communicator& comm, const transfer_arguments& arguments,
                MPI_Status* status) {
  in.ranks().wait([&] { return pending.is_done(in); }, comm.may_cross_hosts(arguments.peer));
  const int error = pending.result(arguments, status);
  pending.finish(in, arguments);
  return report(arguments.comm, error);
}

// The message in bytes that belong to us.
void copy_out(transfer_arguments& leaving, std::vector<std::byte>& copy) {
  copy.resize(leaving.bytes());
  pack(leaving.buffer, leaving.count, leaving.type, copy.data());
  leaving.buffer = copy.data();
  leaving.count = 1;  // one element of this many bytes
  leaving.type = {MPI_BYTE, copy.size(), true, true, nullptr};
}

// A handle names the slot.
struct taken_message {
  arrived_message* message = nullptr;
  communicator* comm = nullptr;  // held
};
handle_table<taken_message> taken;

// The communicator whose error handler is called.
MPI_Comm reporting(const communicator& comm) { return comm.is_freed ? MPI_COMM_WORLD : comm.handle; }

// The library does not know the message, so we report the errors of its receive. The message stays for another receive.
int check_buffer(const void* buffer, MPI_Count count, MPI_Datatype type, MPI_Message handle) {
  if (!is_missing(buffer, count, datatypes::find(type))) return MPI_SUCCESS;
  return report(reporting(*taken[abi::slot_of_message(handle)].comm), MPI_ERR_BUFFER);
}

bool is_taken(MPI_Message handle) {
  return handle != MPI_MESSAGE_NULL && handle != MPI_MESSAGE_NO_PROC && abi::is_own_message(handle);
}

// The receive of one; it completes independently.
struct taken_receive {
  communicator* comm = nullptr;  // held
  transfer_arguments arguments;
  transfer pending;
};
taken_receive receive_taken(session& in, void* buffer, MPI_Count count, MPI_Datatype type, MPI_Message& handle) {
  const taken_message from = taken[abi::slot_of_message(handle)];
  taken.remove(abi::slot_of_message(handle));
  handle = MPI_MESSAGE_NULL;
  taken_receive receive{
      from.comm,
      {false, send_mode::standard, buffer, count, datatypes::find(type), any_source, any_tag, reporting(*from.comm)},
      {}};
  receive.pending.begin(in, receive.arguments, *from.comm, *from.message);
  return receive;
}

}  // namespace

intercepted_call send_of(const void* buffer, MPI_Count count, MPI_Datatype type, int target, int tag, MPI_Comm comm,
                         send_mode mode) {
  communicator* const known = communicators::find_any(comm);
  const bool to_proc_null = target == MPI_PROC_NULL;
  if (known == nullptr || !(to_proc_null || (target >= 0 && target < known->size())) || !is_tag(tag) || count < 0)
    return {};
  const buffer_type& of_type = datatypes::find(type);
  if (!of_type.is_valid || is_missing(buffer, count, of_type)) return {};
  const int peer = to_proc_null ? proc_null : target;
  return {known, {true, mode, const_cast<void*>(buffer), count, of_type, peer, tag, comm}};
}

intercepted_call receive_of(void* buffer, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm) {
  communicator* const known = communicators::find_any(comm);
  const bool from_any = source == MPI_ANY_SOURCE;
  const bool from_proc_null = source == MPI_PROC_NULL;
  const bool with_any = tag == MPI_ANY_TAG;
  if (known == nullptr || count < 0 || !(from_any || from_proc_null || (source >= 0 && source < known->size())) ||
      !(with_any || is_tag(tag)))
    return {};
  const buffer_type& of_type = datatypes::find(type);
  if (!of_type.is_valid || is_missing(buffer, count, of_type)) return {};
  const int peer = from_any ? any_source : from_proc_null ? proc_null : source;
  return {known, {false, send_mode::standard, buffer, count, of_type, peer, with_any ? any_tag : tag, comm}};
}

int complete(session& in, const intercepted_call& mine, MPI_Status* status) {
  if (!mine) return pass_through;
  if (!buffered_send_space::is_enough(mine.arguments)) return report(mine.arguments.comm, MPI_ERR_BUFFER);
  transfer pending;
  pending.begin(in, mine.arguments, *mine.comm);
  return finish_here(in, pending, *mine.comm, mine.arguments, status);
}

int begin(session& in, const intercepted_call& mine, MPI_Request* request) {
  if (!mine) return pass_through;
  if (!buffered_send_space::is_enough(mine.arguments)) return report(mine.arguments.comm, MPI_ERR_BUFFER);
  transfer pending;
  pending.begin(in, mine.arguments, *mine.comm);
  if (mine.arguments.is_send && mine.arguments.peer != proc_null && pending.is_done(in)) {
    pending.finish(in, mine.arguments);
    *request = requests::done_send();
  } else {
    *request = requests::add(in, *mine.comm, mine.arguments, pending);
  }
  return MPI_SUCCESS;
}

int make_persistent(const intercepted_call& mine, MPI_Request* request) {
  if (!mine) return pass_through;
  *request = requests::add_persistent(*mine.comm, mine.arguments);
  return MPI_SUCCESS;
}

int exchange(session& in, const intercepted_call& sent, const intercepted_call& received, MPI_Status* status) {
  if (!sent || !received) return pass_through;
  transfer receiving, sending;
  receiving.begin(in, received.arguments, *received.comm);
  sending.begin(in, sent.arguments, *sent.comm);
  const bool may_cross =
      received.comm->may_cross_hosts(received.arguments.peer) || sent.comm->may_cross_hosts(sent.arguments.peer);
  in.ranks().wait([&] { return receiving.is_done(in) && sending.is_done(in); }, may_cross);
  sending.finish(in, sent.arguments);
  return finish_here(in, receiving, *received.comm, received.arguments, status);
}

int exchange_in_place(session& in, intercepted_call sent, const intercepted_call& received, MPI_Status* status) {
  if (!sent || !received) return pass_through;
  std::vector<std::byte> copy;
  copy_out(sent.arguments, copy);
  return exchange(in, sent, received, status);
}

int begin_exchange(session& in, intercepted_call sent, const intercepted_call& received, MPI_Request* request) {
  if (!sent || !received) return pass_through;
  sent.arguments.mode = send_mode::buffered;
  transfer sending;
  sending.begin(in, sent.arguments, *sent.comm);
  in.ranks().wait([&] { return sending.is_done(in); });
  sending.finish(in, sent.arguments);
  return begin(in, received, request);
}

MPI_Message keep(arrived_message& message, communicator& comm) {
  communicators::hold(comm);
  return abi::own_message(taken.add({&message, &comm}));
}

int complete_taken(session& in, void* buffer, MPI_Count count, MPI_Datatype type, MPI_Message* message,
                   MPI_Status* status) {
  if (!is_taken(*message)) return pass_through;
  if (const int error = check_buffer(buffer, count, type, *message); error != MPI_SUCCESS) return error;
  taken_receive receive = receive_taken(in, buffer, count, type, *message);
  const int error = finish_here(in, receive.pending, *receive.comm, receive.arguments, status);
  communicators::release(*receive.comm);
  return error;
}

int begin_taken(session& in, void* buffer, MPI_Count count, MPI_Datatype type, MPI_Message* message,
                MPI_Request* request) {
  if (!is_taken(*message)) return pass_through;
  if (const int error = check_buffer(buffer, count, type, *message); error != MPI_SUCCESS) return error;
  const taken_receive receive = receive_taken(in, buffer, count, type, *message);
  *request = requests::add(in, *receive.comm, receive.arguments, receive.pending);
  communicators::release(*receive.comm);
  return MPI_SUCCESS;
}

}  // namespace tri::mpi
