// MPI's point-to-point calls. Calls that are not intercepted - another communicator, MPI_PROC_NULL as partner, wrong
// arguments - go to the MPI library unchanged, which also reports the errors. Large counts (_c) and nonblocking
// exchanges are new in MPI 4; libraries of MPI 3 lack them.
#include <mpi.h>

#include <optional>

#include "mpi/abi/abi.hpp"
#include "mpi/abi/counted_calls.hpp"
#include "mpi/abi/exported.hpp"
#include "mpi/p2p/point_to_point.hpp"
#include "mpi/startup/library_calls.hpp"
#include "mpi/startup/session.hpp"

namespace tri::mpi {
namespace {

template <class Message>
void set_probed(MPI_Status* status, const Message& message) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = message.key.source;
  status->MPI_TAG = message.key.tag;
  abi::set_count(*status, message.bytes, false);
}
// The arguments of a probe. Not intercepted with MPI_PROC_NULL: the library knows the answer.
struct probe {
  communicator* comm = nullptr;
  message_key key;
  probe(int source, int tag, MPI_Comm handle) {
    const intercepted_call mine = receive_of(nullptr, 0, MPI_BYTE, source, tag, handle);
    if (!mine || mine.arguments.peer == proc_null) return;
    comm = mine.comm;
    key = {mine.comm->context, mine.arguments.peer, mine.arguments.tag};
  }
  explicit operator bool() const { return comm != nullptr; }

  bool find(session& in, MPI_Status* status) const {
    const std::optional<found_message> found = in.ranks().find(key);
    if (found) set_probed(status, *found);
    return found.has_value();
  }
  bool take(session& in, MPI_Message* message, MPI_Status* status) const {
    arrived_message* const found = in.ranks().take(key);
    if (found == nullptr) return false;
    set_probed(status, *found);
    *message = keep(*found, *comm);
    return true;
  }
  bool may_cross_hosts() const { return comm->may_cross_hosts(key.source); }
};

// A call of the library that may block, on a communicator that is not ours. Where this rank has to poll meanwhile, the
// nonblocking form of the call.
template <class Begin, class Block>
int in_library(Begin&& begin, Block&& block, MPI_Status* status = MPI_STATUS_IGNORE) {
  session* const in = session::active();
  if (in == nullptr || !in->must_not_block()) return block();
  MPI_Request request = MPI_REQUEST_NULL;
  if (const int error = begin(&request); error != MPI_SUCCESS) return error;
  const call_guard guard(*in);
  return wait_for_library(*in, [&](int* flag) { return PMPI_Test(&request, flag, status); });
}
template <class Receive, class Send, class Block>
int exchange_in_library(Receive&& begin_receive, Send&& begin_send, Block&& block, MPI_Status* status) {
  session* const in = session::active();
  if (in == nullptr || !in->must_not_block()) return block();
  MPI_Request both[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status statuses[2];
  if (const int error = begin_receive(&both[0]); error != MPI_SUCCESS) return error;
  if (const int error = begin_send(&both[1]); error != MPI_SUCCESS) {
    PMPI_Cancel(&both[0]);
    PMPI_Wait(&both[0], MPI_STATUS_IGNORE);
    return error;
  }
  const call_guard guard(*in);
  const int error = wait_for_library(*in, [&](int* flag) { return PMPI_Testall(2, both, flag, statuses); });
  copy_status(statuses[0], status);
  return error;
}
template <class Probe, class Block>
int probe_in_library(Probe&& probe, Block&& block) {
  session* const in = session::active();
  if (in == nullptr || !in->must_not_block()) return block();
  const call_guard guard(*in);
  return wait_for_library(*in, probe);
}

// The common case: contiguous elements, to or from one rank. Recognized by the arguments alone, which are not copied.
// Otherwise without a communicator, and `ours` decides.
struct plain_message {
  communicator* comm = nullptr;
  user_buffer data;
};
inline plain_message plain_of(const session& in, const void* buffer, MPI_Count count, MPI_Datatype type, int peer,
                              int tag, MPI_Comm handle) {
  communicator* const comm = communicators::find_any(handle);
  if (comm == nullptr || peer < 0 || peer >= comm->size() || tag < 0 || tag > in.largest_tag() || count < 0) return {};
  if (comm->is_on_another_host(peer)) [[unlikely]]
    return {};
  const buffer_type& of_type = datatypes::find(type);
  if (!of_type.is_plain || (buffer == nullptr && count > 0)) return {};
  return {comm, {static_cast<std::byte*>(const_cast<void*>(buffer)), static_cast<std::size_t>(count) * of_type.bytes}};
}
inline send_record* send_plain(session& in, const plain_message& plain, int target, int tag) {
  return in.ranks().send(plain.comm->number_of[static_cast<std::size_t>(target)],
                         {plain.comm->context, plain.comm->rank, tag}, plain.data);
}
inline receive_record* receive_plain(session& in, const plain_message& plain, int source, int tag,
                                     found_message& found) {
  return in.ranks().receive({plain.comm->context, source, tag}, plain.data, plain.comm->touched, found);
}

inline int send(session& in, const void* buffer, MPI_Count count, MPI_Datatype type, int target, int tag, MPI_Comm comm,
                send_mode mode) {
  const plain_message plain = plain_of(in, buffer, count, type, target, tag, comm);
  if (plain.comm == nullptr || mode != send_mode::standard)
    return complete(in, send_of(buffer, count, type, target, tag, comm, mode), MPI_STATUS_IGNORE);
  send_record* const record = send_plain(in, plain, target, tag);
  if (record == nullptr) return MPI_SUCCESS;
  in.ranks().wait([&] { return engine::is_done(*record); });
  in.ranks().release(record);
  return MPI_SUCCESS;
}

inline int begin_send(session& in, const void* buffer, MPI_Count count, MPI_Datatype type, int target, int tag,
                      MPI_Comm comm, send_mode mode, MPI_Request* request) {
  const plain_message plain = plain_of(in, buffer, count, type, target, tag, comm);
  if (plain.comm == nullptr || mode != send_mode::standard)
    return begin(in, send_of(buffer, count, type, target, tag, comm, mode), request);
  send_record* const record = send_plain(in, plain, target, tag);
  if (record == nullptr) {
    *request = requests::done_send();
    return MPI_SUCCESS;
  }
  *request = requests::add_plain(in, *plain.comm, *record, plain.data, target, tag);
  return MPI_SUCCESS;
}

inline int receive(session& in, void* buffer, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                   MPI_Status* status) {
  const plain_message plain = plain_of(in, buffer, count, type, source, tag, comm);
  if (plain.comm == nullptr) return complete(in, receive_of(buffer, count, type, source, tag, comm), status);
  found_message found;
  receive_record* const record = receive_plain(in, plain, source, tag, found);
  if (record != nullptr) {
    in.ranks().wait([&] { return in.ranks().is_done(*record); });
    found = {record->taken, record->bytes};
    const bool failed = record->failed != 0;
    in.ranks().release(record);
    if (failed) [[unlikely]]
      return report(comm, MPI_ERR_OTHER);
  }
  set_received(status, found, plain.data.bytes);
  return found.bytes > plain.data.bytes ? report(comm, MPI_ERR_TRUNCATE) : MPI_SUCCESS;
}

inline int begin_receive(session& in, void* buffer, MPI_Count count, MPI_Datatype type, int source, int tag,
                         MPI_Comm comm, MPI_Request* request) {
  const plain_message plain = plain_of(in, buffer, count, type, source, tag, comm);
  if (plain.comm == nullptr) return begin(in, receive_of(buffer, count, type, source, tag, comm), request);
  found_message found;
  receive_record* const record = receive_plain(in, plain, source, tag, found);
  *request = requests::add_plain(in, *plain.comm, record, found, plain.data, source, tag);
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace tri::mpi

using namespace tri::mpi;

#define TRIREME_SEND(name, in_lower_case, mode, is_taken_as_it_is, suffix, count_type)                                \
  TRIREME_EXPORTED int MPI_##name##suffix(const void* buffer, count_type count, MPI_Datatype type, int target,        \
                                          int tag, MPI_Comm comm) {                                                   \
    return counted(                                                                                                   \
        {__func__, comm, count, type},                                                                                \
        [&](session& in) { return send(in, buffer, count, type, target, tag, comm, mode); },                          \
        [&] {                                                                                                         \
          const bool as_it_is = is_taken_as_it_is;                                                                    \
          return in_library(                                                                                          \
              [&](MPI_Request* request) {                                                                             \
                return as_it_is ? PMPI_I##in_lower_case##suffix(buffer, count, type, target, tag, comm, request)      \
                                : PMPI_Isend##suffix(buffer, count, type, target, tag, comm, request);                \
              },                                                                                                      \
              [&] {                                                                                                   \
                return as_it_is ? PMPI_##name##suffix(buffer, count, type, target, tag, comm)                         \
                                : PMPI_Send##suffix(buffer, count, type, target, tag, comm);                          \
              });                                                                                                     \
        });                                                                                                           \
  }                                                                                                                   \
  TRIREME_EXPORTED int MPI_I##in_lower_case##suffix(const void* buffer, count_type count, MPI_Datatype type,          \
                                                    int target, int tag, MPI_Comm comm, MPI_Request* request) {       \
    return counted(                                                                                                   \
        {__func__, comm, count, type},                                                                                \
        [&](session& in) { return begin_send(in, buffer, count, type, target, tag, comm, mode, request); },           \
        [&] {                                                                                                         \
          return is_taken_as_it_is ? PMPI_I##in_lower_case##suffix(buffer, count, type, target, tag, comm, request)   \
                                   : PMPI_Isend##suffix(buffer, count, type, target, tag, comm, request);             \
        });                                                                                                           \
  }                                                                                                                   \
  TRIREME_EXPORTED int MPI_##name##_init##suffix(const void* buffer, count_type count, MPI_Datatype type, int target, \
                                                 int tag, MPI_Comm comm, MPI_Request* request) {                      \
    return counted(                                                                                                   \
        {__func__, comm, count, type},                                                                                \
        [&](session&) { return make_persistent(send_of(buffer, count, type, target, tag, comm, mode), request); },    \
        [&] {                                                                                                         \
          return is_taken_as_it_is ? PMPI_##name##_init##suffix(buffer, count, type, target, tag, comm, request)      \
                                   : PMPI_Send_init##suffix(buffer, count, type, target, tag, comm, request);         \
        });                                                                                                           \
  }

#define TRIREME_CALLS(suffix, count_type)                                                                              \
  TRIREME_SEND(Send, send, send_mode::standard, true, suffix, count_type)                                              \
  TRIREME_SEND(Bsend, bsend, send_mode::buffered, true, suffix, count_type)                                            \
  TRIREME_SEND(Ssend, ssend, send_mode::synchronous, true, suffix, count_type)                                         \
  TRIREME_SEND(Rsend, rsend, send_mode::standard, true, suffix, count_type)                                            \
  TRIREME_EXPORTED int MPI_Recv##suffix(void* buffer, count_type count, MPI_Datatype type, int source, int tag,        \
                                        MPI_Comm comm, MPI_Status* status) {                                           \
    return counted(                                                                                                    \
        {__func__, comm, count, type},                                                                                 \
        [&](session& in) { return receive(in, buffer, count, type, source, tag, comm, status); },                      \
        [&] {                                                                                                          \
          return in_library(                                                                                           \
              [&](MPI_Request* request) {                                                                              \
                return PMPI_Irecv##suffix(buffer, count, type, source, tag, comm, request);                            \
              },                                                                                                       \
              [&] { return PMPI_Recv##suffix(buffer, count, type, source, tag, comm, status); }, status);              \
        });                                                                                                            \
  }                                                                                                                    \
                                                                                                                       \
  TRIREME_EXPORTED int MPI_Irecv##suffix(void* buffer, count_type count, MPI_Datatype type, int source, int tag,       \
                                         MPI_Comm comm, MPI_Request* request) {                                        \
    return counted(                                                                                                    \
        {__func__, comm, count, type},                                                                                 \
        [&](session& in) { return begin_receive(in, buffer, count, type, source, tag, comm, request); },               \
        [&] { return PMPI_Irecv##suffix(buffer, count, type, source, tag, comm, request); });                          \
  }                                                                                                                    \
                                                                                                                       \
  TRIREME_EXPORTED int MPI_Recv_init##suffix(void* buffer, count_type count, MPI_Datatype type, int source, int tag,   \
                                             MPI_Comm comm, MPI_Request* request) {                                    \
    return counted(                                                                                                    \
        {__func__, comm, count, type},                                                                                 \
        [&](session&) { return make_persistent(receive_of(buffer, count, type, source, tag, comm), request); },        \
        [&] { return PMPI_Recv_init##suffix(buffer, count, type, source, tag, comm, request); });                      \
  }                                                                                                                    \
                                                                                                                       \
  TRIREME_EXPORTED int MPI_Sendrecv##suffix(const void* send_buffer, count_type send_count, MPI_Datatype send_type,    \
                                            int target, int send_tag, void* receive_buffer, count_type receive_count,  \
                                            MPI_Datatype receive_type, int source, int receive_tag, MPI_Comm comm,     \
                                            MPI_Status* status) {                                                      \
    return counted(                                                                                                    \
        {__func__, comm, send_count, send_type},                                                                       \
        [&](session& in) {                                                                                             \
          return exchange(in,                                                                                          \
                          send_of(send_buffer, send_count, send_type, target, send_tag, comm, send_mode::standard),    \
                          receive_of(receive_buffer, receive_count, receive_type, source, receive_tag, comm), status); \
        },                                                                                                             \
        [&] {                                                                                                          \
          return exchange_in_library(                                                                                  \
              [&](MPI_Request* request) {                                                                              \
                return PMPI_Irecv##suffix(receive_buffer, receive_count, receive_type, source, receive_tag, comm,      \
                                          request);                                                                    \
              },                                                                                                       \
              [&](MPI_Request* request) {                                                                              \
                return PMPI_Isend##suffix(send_buffer, send_count, send_type, target, send_tag, comm, request);        \
              },                                                                                                       \
              [&] {                                                                                                    \
                return PMPI_Sendrecv##suffix(send_buffer, send_count, send_type, target, send_tag, receive_buffer,     \
                                             receive_count, receive_type, source, receive_tag, comm, status);          \
              },                                                                                                       \
              status);                                                                                                 \
        });                                                                                                            \
  }                                                                                                                    \
                                                                                                                       \
  TRIREME_EXPORTED int MPI_Sendrecv_replace##suffix(void* buffer, count_type count, MPI_Datatype type, int target,     \
                                                    int send_tag, int source, int receive_tag, MPI_Comm comm,          \
                                                    MPI_Status* status) {                                              \
    return counted(                                                                                                    \
        {__func__, comm, count, type},                                                                                 \
        [&](session& in) {                                                                                             \
          return exchange_in_place(in, send_of(buffer, count, type, target, send_tag, comm, send_mode::standard),      \
                                   receive_of(buffer, count, type, source, receive_tag, comm), status);                \
        },                                                                                                             \
        [&] {                                                                                                          \
          return PMPI_Sendrecv_replace##suffix(buffer, count, type, target, send_tag, source, receive_tag, comm,       \
                                               status);                                                                \
        });                                                                                                            \
  }                                                                                                                    \
  TRIREME_EXPORTED int MPI_Mrecv##suffix(void* buffer, count_type count, MPI_Datatype type, MPI_Message* message,      \
                                         MPI_Status* status) {                                                         \
    return intercept_or_pass([&](session& in) { return complete_taken(in, buffer, count, type, message, status); },    \
                             [&] { return PMPI_Mrecv##suffix(buffer, count, type, message, status); });                \
  }                                                                                                                    \
                                                                                                                       \
  TRIREME_EXPORTED int MPI_Imrecv##suffix(void* buffer, count_type count, MPI_Datatype type, MPI_Message* message,     \
                                          MPI_Request* request) {                                                      \
    return intercept_or_pass([&](session& in) { return begin_taken(in, buffer, count, type, message, request); },      \
                             [&] { return PMPI_Imrecv##suffix(buffer, count, type, message, request); });              \
  }

// NOLINTBEGIN(bugprone-branch-clone): of the modes only ready sends are ever sent in another one.
TRIREME_CALLS(, int)
#if MPI_VERSION >= 4
TRIREME_CALLS(_c, MPI_Count)
#endif
// NOLINTEND(bugprone-branch-clone)
#undef TRIREME_CALLS
#undef TRIREME_SEND

#if MPI_VERSION >= 4
#define TRIREME_NONBLOCKING_EXCHANGES(suffix, count_type)                                                              \
  TRIREME_EXPORTED int MPI_Isendrecv##suffix(const void* send_buffer, count_type send_count, MPI_Datatype send_type,   \
                                             int target, int send_tag, void* receive_buffer, count_type receive_count, \
                                             MPI_Datatype receive_type, int source, int receive_tag, MPI_Comm comm,    \
                                             MPI_Request* request) {                                                   \
    return counted(                                                                                                    \
        {__func__, comm, send_count, send_type},                                                                       \
        [&](session& in) {                                                                                             \
          return begin_exchange(                                                                                       \
              in, send_of(send_buffer, send_count, send_type, target, send_tag, comm, send_mode::standard),            \
              receive_of(receive_buffer, receive_count, receive_type, source, receive_tag, comm), request);            \
        },                                                                                                             \
        [&] {                                                                                                          \
          return PMPI_Isendrecv##suffix(send_buffer, send_count, send_type, target, send_tag, receive_buffer,          \
                                        receive_count, receive_type, source, receive_tag, comm, request);              \
        });                                                                                                            \
  }                                                                                                                    \
                                                                                                                       \
  TRIREME_EXPORTED int MPI_Isendrecv_replace##suffix(void* buffer, count_type count, MPI_Datatype type, int target,    \
                                                     int send_tag, int source, int receive_tag, MPI_Comm comm,         \
                                                     MPI_Request* request) {                                           \
    return counted(                                                                                                    \
        {__func__, comm, count, type},                                                                                 \
        [&](session& in) {                                                                                             \
          return begin_exchange(in, send_of(buffer, count, type, target, send_tag, comm, send_mode::standard),         \
                                receive_of(buffer, count, type, source, receive_tag, comm), request);                  \
        },                                                                                                             \
        [&] {                                                                                                          \
          return PMPI_Isendrecv_replace##suffix(buffer, count, type, target, send_tag, source, receive_tag, comm,      \
                                                request);                                                              \
        });                                                                                                            \
  }

TRIREME_NONBLOCKING_EXCHANGES(, int)
TRIREME_NONBLOCKING_EXCHANGES(_c, MPI_Count)
#undef TRIREME_NONBLOCKING_EXCHANGES
#endif

TRIREME_EXPORTED int MPI_Buffer_attach(void* buffer, int bytes) {
  const int error = PMPI_Buffer_attach(buffer, bytes);
  if (error == MPI_SUCCESS) buffered_send_space::set(bytes);
  return error;
}

TRIREME_EXPORTED int MPI_Buffer_detach(void* buffer, int* bytes) {
  buffered_send_space::set(0);
  return waiting_in_library([&] { return PMPI_Buffer_detach(buffer, bytes); });
}

#if MPI_VERSION >= 4
TRIREME_EXPORTED int MPI_Buffer_attach_c(void* buffer, MPI_Count bytes) {
  const int error = PMPI_Buffer_attach_c(buffer, bytes);
  if (error == MPI_SUCCESS) buffered_send_space::set(bytes);
  return error;
}

TRIREME_EXPORTED int MPI_Buffer_detach_c(void* buffer, MPI_Count* bytes) {
  buffered_send_space::set(0);
  return waiting_in_library([&] { return PMPI_Buffer_detach_c(buffer, bytes); });
}
#endif

TRIREME_EXPORTED int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
  return counted(
      {__func__, comm},
      [&](session& in) {
        const probe wanted(source, tag, comm);
        if (!wanted) return pass_through;
        in.ranks().wait([&] { return wanted.find(in, status); }, wanted.may_cross_hosts());
        return MPI_SUCCESS;
      },
      [&] {
        return probe_in_library([&](int* flag) { return PMPI_Iprobe(source, tag, comm, flag, status); },
                                [&] { return PMPI_Probe(source, tag, comm, status); });
      });
}

TRIREME_EXPORTED int MPI_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  return counted(
      {__func__, comm},
      [&](session& in) {
        const probe wanted(source, tag, comm);
        if (!wanted) return pass_through;
        const bool found = wanted.find(in, status) || (in.ranks().progress(wanted.may_cross_hosts()) &&
                                                       wanted.may_cross_hosts() && wanted.find(in, status));
        in.ranks().polled(found);
        *flag = found ? 1 : 0;
        return MPI_SUCCESS;
      },
      [&] { return PMPI_Iprobe(source, tag, comm, flag, status); });
}

TRIREME_EXPORTED int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  return counted(
      {__func__, comm},
      [&](session& in) {
        const probe wanted(source, tag, comm);
        if (!wanted) return pass_through;
        in.ranks().wait([&] { return wanted.take(in, message, status); }, wanted.may_cross_hosts());
        return MPI_SUCCESS;
      },
      [&] {
        return probe_in_library([&](int* flag) { return PMPI_Improbe(source, tag, comm, flag, message, status); },
                                [&] { return PMPI_Mprobe(source, tag, comm, message, status); });
      });
}

TRIREME_EXPORTED int MPI_Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
                                 MPI_Status* status) {
  return counted(
      {__func__, comm},
      [&](session& in) {
        const probe wanted(source, tag, comm);
        if (!wanted) return pass_through;
        *message = MPI_MESSAGE_NULL;
        const bool found =
            wanted.take(in, message, status) || (in.ranks().progress(wanted.may_cross_hosts()) &&
                                                 wanted.may_cross_hosts() && wanted.take(in, message, status));
        in.ranks().polled(found);
        *flag = found ? 1 : 0;
        return MPI_SUCCESS;
      },
      [&] { return PMPI_Improbe(source, tag, comm, flag, message, status); });
}
