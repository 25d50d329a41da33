// MPI's point-to-point calls. What is not ours - another communicator, nobody as partner, arguments that are wrong -
// goes to the MPI library unchanged, which also says what is wrong.
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "mpi/calls/abi.hpp"
#include "mpi/calls/communicators.hpp"
#include "mpi/calls/datatypes.hpp"
#include "mpi/calls/exported.hpp"
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

int send_here(session& in, const ours& mine) {
  if (!buffered_send_space::is_enough(mine.arguments)) return report(mine.arguments.comm, MPI_ERR_BUFFER);
  transfer begun;
  begun.begin(in, mine.arguments, *mine.comm);
  return finish_here(in, begun, mine.arguments, MPI_STATUS_IGNORE);
}

MPI_Request begin_here(session& in, const ours& mine) {
  transfer begun;
  begun.begin(in, mine.arguments, *mine.comm);
  if (mine.arguments.is_send && mine.arguments.peer != nobody && begun.is_done(in)) {
    begun.finish(in, mine.arguments);
    return requests::done_send();
  }
  return requests::add(mine.arguments, begun);
}

bool is_exchange_ours(int send_count, MPI_Datatype send_type, int target, int send_tag, int receive_count,
                      MPI_Datatype receive_type, int source, int receive_tag, MPI_Comm comm) {
  session* const in = session::active();
  if (in == nullptr) return false;
  const call_guard guard(*in);
  return send_of(nullptr, send_count, send_type, target, send_tag, comm, send_mode::standard) &&
         receive_of(nullptr, receive_count, receive_type, source, receive_tag, comm);
}

// Messages that were taken and wait for their receive; a handle names the place.
struct taken_message {
  arrived_message* message = nullptr;
  communicator* comm = nullptr;
  MPI_Comm handle = MPI_COMM_NULL;
};
std::vector<taken_message> taken;
std::vector<std::uint32_t> free_taken;

MPI_Message keep(const taken_message& message) {
  std::uint32_t place = static_cast<std::uint32_t>(taken.size());
  if (free_taken.empty()) {
    taken.push_back(message);
  } else {
    place = free_taken.back();
    free_taken.pop_back();
    taken[place] = message;
  }
  return abi::own_message(place);
}

taken_message give(MPI_Message& handle) {
  const std::uint32_t place = abi::place_of_message(handle);
  const taken_message message = taken[place];
  taken[place] = {};
  free_taken.push_back(place);
  handle = MPI_MESSAGE_NULL;
  return message;
}

void set_probed(MPI_Status* status, const arrived_message& message) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = message.key.source;
  status->MPI_TAG = message.key.tag;
  abi::set_count(*status, message.bytes, false);
}

std::optional<message_key> probe_of(int source, int tag, MPI_Comm comm, communicator*& known) {
  const ours mine = receive_of(nullptr, 0, MPI_BYTE, source, tag, comm);
  known = mine.comm;
  if (!mine || mine.arguments.peer == nobody) return {};  // the library knows the answer
  return message_key{mine.comm->context, mine.arguments.peer, mine.arguments.tag};
}

}  // namespace
}  // namespace tri::mpi

using namespace tri::mpi;

#define TRIREME_SEND(name, mode)                                                                                \
  TRIREME_EXPORTED int MPI_##name(const void* buffer, int count, MPI_Datatype type, int target, int tag,        \
                                  MPI_Comm comm) {                                                              \
    if (session* const in = session::active()) {                                                                \
      const call_guard guard(*in);                                                                              \
      if (const ours mine = send_of(buffer, count, type, target, tag, comm, mode)) return send_here(*in, mine); \
    }                                                                                                           \
    return PMPI_##name(buffer, count, type, target, tag, comm);                                                 \
  }
TRIREME_SEND(Send, send_mode::standard)
TRIREME_SEND(Bsend, send_mode::buffered)
TRIREME_SEND(Ssend, send_mode::synchronous)
TRIREME_SEND(Rsend, send_mode::standard)
#undef TRIREME_SEND

#define TRIREME_ISEND(name, mode)                                                                        \
  TRIREME_EXPORTED int MPI_##name(const void* buffer, int count, MPI_Datatype type, int target, int tag, \
                                  MPI_Comm comm, MPI_Request* request) {                                 \
    if (session* const in = session::active()) {                                                         \
      const call_guard guard(*in);                                                                       \
      if (const ours mine = send_of(buffer, count, type, target, tag, comm, mode)) {                     \
        if (!buffered_send_space::is_enough(mine.arguments)) return report(comm, MPI_ERR_BUFFER);        \
        *request = begin_here(*in, mine);                                                                \
        return MPI_SUCCESS;                                                                              \
      }                                                                                                  \
    }                                                                                                    \
    return PMPI_##name(buffer, count, type, target, tag, comm, request);                                 \
  }
TRIREME_ISEND(Isend, send_mode::standard)
TRIREME_ISEND(Ibsend, send_mode::buffered)
TRIREME_ISEND(Issend, send_mode::synchronous)
TRIREME_ISEND(Irsend, send_mode::standard)
#undef TRIREME_ISEND

#define TRIREME_SEND_INIT(name, mode)                                                                    \
  TRIREME_EXPORTED int MPI_##name(const void* buffer, int count, MPI_Datatype type, int target, int tag, \
                                  MPI_Comm comm, MPI_Request* request) {                                 \
    if (session* const in = session::active()) {                                                         \
      const call_guard guard(*in);                                                                       \
      if (const ours mine = send_of(buffer, count, type, target, tag, comm, mode)) {                     \
        *request = requests::add_persistent(mine.arguments);                                             \
        return MPI_SUCCESS;                                                                              \
      }                                                                                                  \
    }                                                                                                    \
    return PMPI_##name(buffer, count, type, target, tag, comm, request);                                 \
  }
TRIREME_SEND_INIT(Send_init, send_mode::standard)
TRIREME_SEND_INIT(Bsend_init, send_mode::buffered)
TRIREME_SEND_INIT(Ssend_init, send_mode::synchronous)
TRIREME_SEND_INIT(Rsend_init, send_mode::standard)
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
  if (session* const in = session::active()) {
    const call_guard guard(*in);
    if (const ours mine = receive_of(buffer, count, type, source, tag, comm)) {
      transfer begun;
      begun.begin(*in, mine.arguments, *mine.comm);
      return finish_here(*in, begun, mine.arguments, status);
    }
  }
  return PMPI_Recv(buffer, count, type, source, tag, comm, status);
}

TRIREME_EXPORTED int MPI_Irecv(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                               MPI_Request* request) {
  if (session* const in = session::active()) {
    const call_guard guard(*in);
    if (const ours mine = receive_of(buffer, count, type, source, tag, comm)) {
      *request = begin_here(*in, mine);
      return MPI_SUCCESS;
    }
  }
  return PMPI_Irecv(buffer, count, type, source, tag, comm, request);
}

TRIREME_EXPORTED int MPI_Recv_init(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                                   MPI_Request* request) {
  if (session* const in = session::active()) {
    const call_guard guard(*in);
    if (const ours mine = receive_of(buffer, count, type, source, tag, comm)) {
      *request = requests::add_persistent(mine.arguments);
      return MPI_SUCCESS;
    }
  }
  return PMPI_Recv_init(buffer, count, type, source, tag, comm, request);
}

// Either half may be with nobody.
TRIREME_EXPORTED int MPI_Sendrecv(const void* send_buffer, int send_count, MPI_Datatype send_type, int target,
                                  int send_tag, void* receive_buffer, int receive_count, MPI_Datatype receive_type,
                                  int source, int receive_tag, MPI_Comm comm, MPI_Status* status) {
  // Both halves are looked at before one begins: what is wrong must leave nothing behind.
  if (!is_exchange_ours(send_count, send_type, target, send_tag, receive_count, receive_type, source, receive_tag,
                        comm))
    return PMPI_Sendrecv(send_buffer, send_count, send_type, target, send_tag, receive_buffer, receive_count,
                         receive_type, source, receive_tag, comm, status);
  MPI_Request both[2];
  MPI_Status of_both[2];
  int error = MPI_Irecv(receive_buffer, receive_count, receive_type, source, receive_tag, comm, &both[0]);
  if (error != MPI_SUCCESS) return error;
  error = MPI_Isend(send_buffer, send_count, send_type, target, send_tag, comm, &both[1]);
  if (error != MPI_SUCCESS) return error;
  error = MPI_Waitall(2, both, of_both);
  if (status != MPI_STATUS_IGNORE) {
    const int error_before = status->MPI_ERROR;  // left alone by calls on one message
    *status = of_both[0];
    status->MPI_ERROR = error_before;
  }
  if (error != MPI_ERR_IN_STATUS) return error;
  return of_both[0].MPI_ERROR != MPI_SUCCESS ? of_both[0].MPI_ERROR : of_both[1].MPI_ERROR;
}

TRIREME_EXPORTED int MPI_Sendrecv_replace(void* buffer, int count, MPI_Datatype type, int target, int send_tag,
                                          int source, int receive_tag, MPI_Comm comm, MPI_Status* status) {
  session* const in = session::active();
  const bool is_ours = in != nullptr && communicators::find(comm) != nullptr && count >= 0;
  if (!is_ours) return PMPI_Sendrecv_replace(buffer, count, type, target, send_tag, source, receive_tag, comm, status);
  // The message that leaves is copied first.
  std::vector<std::byte> leaving;
  buffer_type of_type;
  {
    const call_guard guard(*in);
    of_type = datatypes::find(type);
    leaving.resize(static_cast<std::size_t>(count) * of_type.bytes + 1);
    if (of_type.is_plain)
      std::copy_n(static_cast<const std::byte*>(buffer), leaving.size() - 1, leaving.begin());
    else
      pack(buffer, count, of_type, leaving.data());
  }
  return MPI_Sendrecv(leaving.data(), static_cast<int>(leaving.size() - 1), MPI_BYTE, target, send_tag, buffer, count,
                      type, source, receive_tag, comm, status);
}

TRIREME_EXPORTED int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
  if (session* const in = session::active()) {
    const call_guard guard(*in);
    communicator* known = nullptr;
    if (const auto key = probe_of(source, tag, comm, known)) {
      const arrived_message* found = nullptr;
      in->ranks().wait([&] { return (found = in->ranks().find(*key)) != nullptr; });
      set_probed(status, *found);
      return MPI_SUCCESS;
    }
  }
  return PMPI_Probe(source, tag, comm, status);
}

TRIREME_EXPORTED int MPI_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  if (session* const in = session::active()) {
    const call_guard guard(*in);
    communicator* known = nullptr;
    if (const auto key = probe_of(source, tag, comm, known)) {
      const arrived_message* const found = in->ranks().find(*key);
      *flag = found != nullptr ? 1 : 0;
      if (found != nullptr) set_probed(status, *found);
      return MPI_SUCCESS;
    }
  }
  return PMPI_Iprobe(source, tag, comm, flag, status);
}

TRIREME_EXPORTED int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  if (session* const in = session::active()) {
    const call_guard guard(*in);
    communicator* known = nullptr;
    if (const auto key = probe_of(source, tag, comm, known)) {
      arrived_message* found = nullptr;
      in->ranks().wait([&] { return (found = in->ranks().take(*key)) != nullptr; });
      set_probed(status, *found);
      *message = keep({found, known, comm});
      return MPI_SUCCESS;
    }
  }
  return PMPI_Mprobe(source, tag, comm, message, status);
}

TRIREME_EXPORTED int MPI_Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
                                 MPI_Status* status) {
  if (session* const in = session::active()) {
    const call_guard guard(*in);
    communicator* known = nullptr;
    if (const auto key = probe_of(source, tag, comm, known)) {
      arrived_message* const found = in->ranks().take(*key);
      *flag = found != nullptr ? 1 : 0;
      *message = MPI_MESSAGE_NULL;
      if (found != nullptr) {
        set_probed(status, *found);
        *message = keep({found, known, comm});
      }
      return MPI_SUCCESS;
    }
  }
  return PMPI_Improbe(source, tag, comm, flag, message, status);
}

TRIREME_EXPORTED int MPI_Mrecv(void* buffer, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
  if (session* const in = session::active(); in != nullptr && *message != MPI_MESSAGE_NULL &&
                                             *message != MPI_MESSAGE_NO_PROC && abi::is_own_message(*message)) {
    const call_guard guard(*in);
    const taken_message from = give(*message);
    const transfer_arguments arguments{false, send_mode::standard, buffer, count, datatypes::find(type), 0,
                                       0,     from.handle};
    transfer begun;
    begun.begin(*in, arguments, *from.comm, *from.message);
    return finish_here(*in, begun, arguments, status);
  }
  return PMPI_Mrecv(buffer, count, type, message, status);
}

TRIREME_EXPORTED int MPI_Imrecv(void* buffer, int count, MPI_Datatype type, MPI_Message* message,
                                MPI_Request* request) {
  if (session* const in = session::active(); in != nullptr && *message != MPI_MESSAGE_NULL &&
                                             *message != MPI_MESSAGE_NO_PROC && abi::is_own_message(*message)) {
    const call_guard guard(*in);
    const taken_message from = give(*message);
    const transfer_arguments arguments{false, send_mode::standard, buffer, count, datatypes::find(type), 0,
                                       0,     from.handle};
    transfer begun;
    begun.begin(*in, arguments, *from.comm, *from.message);
    *request = requests::add(arguments, begun);
    return MPI_SUCCESS;
  }
  return PMPI_Imrecv(buffer, count, type, message, request);
}
