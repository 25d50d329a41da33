// MPI's point-to-point calls. What is not ours - another communicator, nobody as partner, arguments that are wrong -
// goes to the MPI library unchanged, which also says what is wrong.
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mpi/calls/abi.hpp"
#include "mpi/calls/communicators.hpp"
#include "mpi/calls/datatypes.hpp"
#include "mpi/calls/exported.hpp"
#include "mpi/calls/place_table.hpp"
#include "mpi/calls/requests.hpp"
#include "mpi/calls/session.hpp"

namespace tri::mpi {
namespace {

bool is_tag(int tag) { return tag >= 0 && tag <= session::active()->largest_tag(); }

struct ours {
  communicator* comm = nullptr;
  transfer_arguments arguments;
  explicit operator bool() const { return comm != nullptr; }
};

ours send_of(const void* buffer, int count, MPI_Datatype type, int target, int tag, MPI_Comm comm, send_mode mode) {
  communicator* const known = communicators::find(comm);
  const bool to_nobody = target == MPI_PROC_NULL;
  if (known == nullptr || !(to_nobody || (target >= 0 && target < known->size())) || !is_tag(tag) || count < 0)
    return {};
  const buffer_type& of_type = datatypes::find(type);
  if (!of_type.is_valid) return {};
  return {known, {true, mode, const_cast<void*>(buffer), count, of_type, to_nobody ? nobody : target, tag, comm}};
}

ours receive_of(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm) {
  communicator* const known = communicators::find(comm);
  const bool from_any = source == MPI_ANY_SOURCE;
  const bool from_nobody = source == MPI_PROC_NULL;
  const bool with_any = tag == MPI_ANY_TAG;
  if (known == nullptr || count < 0 || !(from_any || from_nobody || (source >= 0 && source < known->size())) ||
      !(with_any || is_tag(tag)))
    return {};
  const buffer_type& of_type = datatypes::find(type);
  if (!of_type.is_valid) return {};
  return {known,
          {false, send_mode::standard, buffer, count, of_type,
           from_any      ? any_source
           : from_nobody ? nobody
                         : source,
           with_any ? any_tag : tag, comm}};
}

int finish_here(session& in, transfer& begun, const transfer_arguments& arguments, MPI_Status* status) {
  in.ranks().wait([&] { return begun.is_done(in); });
  const int error = begun.result(arguments, status);
  begun.finish(in, arguments);
  return report(arguments.comm, error);
}

// The operations, of arguments that are ours.

int complete(session& in, const ours& mine, MPI_Status* status) {
  if (!mine) return not_ours;
  if (!buffered_send_space::is_enough(mine.arguments)) return report(mine.arguments.comm, MPI_ERR_BUFFER);
  transfer begun;
  begun.begin(in, mine.arguments, *mine.comm);
  return finish_here(in, begun, mine.arguments, status);
}

int begin(session& in, const ours& mine, MPI_Request* request) {
  if (!mine) return not_ours;
  if (!buffered_send_space::is_enough(mine.arguments)) return report(mine.arguments.comm, MPI_ERR_BUFFER);
  transfer begun;
  begun.begin(in, mine.arguments, *mine.comm);
  if (mine.arguments.is_send && mine.arguments.peer != nobody && begun.is_done(in)) {
    begun.finish(in, mine.arguments);
    *request = requests::done_send();
  } else {
    *request = requests::add(in, *mine.comm, mine.arguments, begun);
  }
  return MPI_SUCCESS;
}

int make_persistent(const ours& mine, MPI_Request* request) {
  if (!mine) return not_ours;
  *request = requests::add_persistent(*mine.comm, mine.arguments);
  return MPI_SUCCESS;
}

// Either half may be with nobody. What is wrong with one leaves nothing behind of the other.
int exchange(session& in, const ours& sent, const ours& received, MPI_Status* status) {
  if (!sent || !received) return not_ours;
  transfer receiving, sending;
  receiving.begin(in, received.arguments, *received.comm);
  sending.begin(in, sent.arguments, *sent.comm);
  in.ranks().wait([&] { return receiving.is_done(in) && sending.is_done(in); });
  sending.finish(in, sent.arguments);
  return finish_here(in, receiving, received.arguments, status);
}

// Messages that were taken and wait for their receive; a handle names the place.
struct taken_message {
  arrived_message* message = nullptr;
  communicator* comm = nullptr;  // held
};
place_table<taken_message> taken;

MPI_Message keep(arrived_message& message, communicator& comm) {
  communicators::hold(comm);
  return abi::own_message(taken.add({&message, &comm}));
}

bool is_taken(MPI_Message handle) {
  return handle != MPI_MESSAGE_NULL && handle != MPI_MESSAGE_NO_PROC && abi::is_own_message(handle);
}

// The receive of one; it ends by itself.
struct taken_receive {
  communicator* comm = nullptr;  // held
  transfer_arguments arguments;
  transfer begun;
};
taken_receive begin_taken(session& in, void* buffer, int count, MPI_Datatype type, MPI_Message& handle) {
  const taken_message from = taken.remove(abi::place_of_message(handle));
  handle = MPI_MESSAGE_NULL;
  const MPI_Comm comm = from.comm->is_freed ? MPI_COMM_WORLD : from.comm->handle;
  taken_receive receive{from.comm, {false, send_mode::standard, buffer, count, datatypes::find(type), 0, 0, comm}, {}};
  receive.begun.begin(in, receive.arguments, *from.comm, *from.message);
  return receive;
}

void set_probed(MPI_Status* status, const arrived_message& message) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = message.key.source;
  status->MPI_TAG = message.key.tag;
  abi::set_count(*status, message.bytes, false);
}

// What a probe looks for. Not ours with nobody: the library knows the answer.
struct probe {
  communicator* comm = nullptr;
  message_key key;
  probe(int source, int tag, MPI_Comm handle) {
    const ours mine = receive_of(nullptr, 0, MPI_BYTE, source, tag, handle);
    if (!mine || mine.arguments.peer == nobody) return;
    comm = mine.comm;
    key = {mine.comm->context, mine.arguments.peer, mine.arguments.tag};
  }
  explicit operator bool() const { return comm != nullptr; }
};

}  // namespace
}  // namespace tri::mpi

using namespace tri::mpi;

#define TRIREME_SEND(name, in_lower_case, mode)                                                                    \
  TRIREME_EXPORTED int MPI_##name(const void* buffer, int count, MPI_Datatype type, int target, int tag,           \
                                  MPI_Comm comm) {                                                                 \
    return ours_or_library(                                                                                        \
        [&](session& in) {                                                                                         \
          return complete(in, send_of(buffer, count, type, target, tag, comm, mode), MPI_STATUS_IGNORE);           \
        },                                                                                                         \
        [&] { return PMPI_##name(buffer, count, type, target, tag, comm); });                                      \
  }                                                                                                                \
  TRIREME_EXPORTED int MPI_I##in_lower_case(const void* buffer, int count, MPI_Datatype type, int target, int tag, \
                                            MPI_Comm comm, MPI_Request* request) {                                 \
    return ours_or_library(                                                                                        \
        [&](session& in) { return begin(in, send_of(buffer, count, type, target, tag, comm, mode), request); },    \
        [&] { return PMPI_I##in_lower_case(buffer, count, type, target, tag, comm, request); });                   \
  }
#define TRIREME_SEND_INIT(name, mode)                                                                              \
  TRIREME_EXPORTED int MPI_##name(const void* buffer, int count, MPI_Datatype type, int target, int tag,           \
                                  MPI_Comm comm, MPI_Request* request) {                                           \
    return ours_or_library(                                                                                        \
        [&](session&) { return make_persistent(send_of(buffer, count, type, target, tag, comm, mode), request); }, \
        [&] { return PMPI_##name(buffer, count, type, target, tag, comm, request); });                             \
  }
TRIREME_SEND(Send, send, send_mode::standard)
TRIREME_SEND(Bsend, bsend, send_mode::buffered)
TRIREME_SEND(Ssend, ssend, send_mode::synchronous)
TRIREME_SEND(Rsend, rsend, send_mode::standard)
TRIREME_SEND_INIT(Send_init, send_mode::standard)
TRIREME_SEND_INIT(Bsend_init, send_mode::buffered)
TRIREME_SEND_INIT(Ssend_init, send_mode::synchronous)
TRIREME_SEND_INIT(Rsend_init, send_mode::standard)
#undef TRIREME_SEND
#undef TRIREME_SEND_INIT

TRIREME_EXPORTED int MPI_Buffer_attach(void* buffer, int bytes) {
  const int error = PMPI_Buffer_attach(buffer, bytes);
  if (error == MPI_SUCCESS) buffered_send_space::set(bytes);
  return error;
}

TRIREME_EXPORTED int MPI_Buffer_detach(void* buffer, int* bytes) {
  buffered_send_space::set(0);
  return PMPI_Buffer_detach(buffer, bytes);
}

TRIREME_EXPORTED int MPI_Recv(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                              MPI_Status* status) {
  return ours_or_library(
      [&](session& in) { return complete(in, receive_of(buffer, count, type, source, tag, comm), status); },
      [&] { return PMPI_Recv(buffer, count, type, source, tag, comm, status); });
}

TRIREME_EXPORTED int MPI_Irecv(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                               MPI_Request* request) {
  return ours_or_library(
      [&](session& in) { return begin(in, receive_of(buffer, count, type, source, tag, comm), request); },
      [&] { return PMPI_Irecv(buffer, count, type, source, tag, comm, request); });
}

TRIREME_EXPORTED int MPI_Recv_init(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                                   MPI_Request* request) {
  return ours_or_library(
      [&](session&) { return make_persistent(receive_of(buffer, count, type, source, tag, comm), request); },
      [&] { return PMPI_Recv_init(buffer, count, type, source, tag, comm, request); });
}

TRIREME_EXPORTED int MPI_Sendrecv(const void* send_buffer, int send_count, MPI_Datatype send_type, int target,
                                  int send_tag, void* receive_buffer, int receive_count, MPI_Datatype receive_type,
                                  int source, int receive_tag, MPI_Comm comm, MPI_Status* status) {
  return ours_or_library(
      [&](session& in) {
        return exchange(in, send_of(send_buffer, send_count, send_type, target, send_tag, comm, send_mode::standard),
                        receive_of(receive_buffer, receive_count, receive_type, source, receive_tag, comm), status);
      },
      [&] {
        return PMPI_Sendrecv(send_buffer, send_count, send_type, target, send_tag, receive_buffer, receive_count,
                             receive_type, source, receive_tag, comm, status);
      });
}

TRIREME_EXPORTED int MPI_Sendrecv_replace(void* buffer, int count, MPI_Datatype type, int target, int send_tag,
                                          int source, int receive_tag, MPI_Comm comm, MPI_Status* status) {
  return ours_or_library(
      [&](session& in) {
        ours sent = send_of(buffer, count, type, target, send_tag, comm, send_mode::standard);
        const ours received = receive_of(buffer, count, type, source, receive_tag, comm);
        if (!sent || !received) return not_ours;
        // The message that leaves is copied first: one element of so many bytes.
        std::vector<std::byte> leaving(sent.arguments.bytes());
        if (sent.arguments.type.is_plain)
          std::copy_n(static_cast<const std::byte*>(buffer), leaving.size(), leaving.begin());
        else
          pack(buffer, count, sent.arguments.type, leaving.data());
        sent.arguments.buffer = leaving.data();
        sent.arguments.count = 1;
        sent.arguments.type = {MPI_BYTE, leaving.size(), true, true, nullptr};
        return exchange(in, sent, received, status);
      },
      [&] { return PMPI_Sendrecv_replace(buffer, count, type, target, send_tag, source, receive_tag, comm, status); });
}

TRIREME_EXPORTED int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
  return ours_or_library(
      [&](session& in) {
        const probe wanted(source, tag, comm);
        if (!wanted) return not_ours;
        const arrived_message* found = nullptr;
        in.ranks().wait([&] { return (found = in.ranks().find(wanted.key)) != nullptr; });
        set_probed(status, *found);
        return MPI_SUCCESS;
      },
      [&] { return PMPI_Probe(source, tag, comm, status); });
}

TRIREME_EXPORTED int MPI_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  return ours_or_library(
      [&](session& in) {
        const probe wanted(source, tag, comm);
        if (!wanted) return not_ours;
        const arrived_message* const found = in.ranks().find(wanted.key);
        if (found == nullptr) in.ranks().progress();
        *flag = found != nullptr ? 1 : 0;
        if (found != nullptr) set_probed(status, *found);
        return MPI_SUCCESS;
      },
      [&] { return PMPI_Iprobe(source, tag, comm, flag, status); });
}

TRIREME_EXPORTED int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  return ours_or_library(
      [&](session& in) {
        const probe wanted(source, tag, comm);
        if (!wanted) return not_ours;
        arrived_message* found = nullptr;
        in.ranks().wait([&] { return (found = in.ranks().take(wanted.key)) != nullptr; });
        set_probed(status, *found);
        *message = keep(*found, *wanted.comm);
        return MPI_SUCCESS;
      },
      [&] { return PMPI_Mprobe(source, tag, comm, message, status); });
}

TRIREME_EXPORTED int MPI_Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
                                 MPI_Status* status) {
  return ours_or_library(
      [&](session& in) {
        const probe wanted(source, tag, comm);
        if (!wanted) return not_ours;
        arrived_message* const found = in.ranks().take(wanted.key);
        if (found == nullptr) in.ranks().progress();
        *flag = found != nullptr ? 1 : 0;
        *message = MPI_MESSAGE_NULL;
        if (found == nullptr) return MPI_SUCCESS;
        set_probed(status, *found);
        *message = keep(*found, *wanted.comm);
        return MPI_SUCCESS;
      },
      [&] { return PMPI_Improbe(source, tag, comm, flag, message, status); });
}

TRIREME_EXPORTED int MPI_Mrecv(void* buffer, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
  return ours_or_library(
      [&](session& in) {
        if (!is_taken(*message)) return not_ours;
        taken_receive receive = begin_taken(in, buffer, count, type, *message);
        const int error = finish_here(in, receive.begun, receive.arguments, status);
        communicators::let_go(*receive.comm);
        return error;
      },
      [&] { return PMPI_Mrecv(buffer, count, type, message, status); });
}

TRIREME_EXPORTED int MPI_Imrecv(void* buffer, int count, MPI_Datatype type, MPI_Message* message,
                                MPI_Request* request) {
  return ours_or_library(
      [&](session& in) {
        if (!is_taken(*message)) return not_ours;
        const taken_receive receive = begin_taken(in, buffer, count, type, *message);
        *request = requests::add(in, *receive.comm, receive.arguments, receive.begun);
        communicators::let_go(*receive.comm);
        return MPI_SUCCESS;
      },
      [&] { return PMPI_Imrecv(buffer, count, type, message, request); });
}
