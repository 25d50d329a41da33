// Our requests: the objects behind our handles, from the call that starts the operation to the one that ends it. With
// the call guard.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "mpi/abi/abi.hpp"
#include "mpi/comm/communicators.hpp"
#include "mpi/comm/error_handlers.hpp"
#include "mpi/datatypes/datatypes.hpp"
#include "mpi/p2p/handle_table.hpp"
#include "mpi/p2p/nonblocking_operation.hpp"
#include "mpi/startup/session.hpp"

namespace tri::mpi {

/// In place of a rank: the operation is complete at once (MPI_PROC_NULL).
inline constexpr int proc_null = -2;

/// Messages of one communicator that never meet. They are the lowest bits of its context.
enum class message_channel : std::uint8_t {
  program,
  collective,     // of our collective operations
  entry_barrier,  // coll/hosts/entry_barriers.hpp
  leaders         // likewise, of two groups
};

/// The arguments of a send or a receive, as far as it is ours: everything was checked.
struct transfer_arguments {
  bool is_send = false;
  send_mode mode = send_mode::standard;
  void* buffer = nullptr;
  MPI_Count count = 0;
  buffer_type type;
  int peer = 0;  // rank in the communicator, any_source, or proc_null
  int tag = 0;   // or any_tag
  MPI_Comm comm = MPI_COMM_NULL;
  message_channel channel = message_channel::program;

  std::size_t bytes() const { return static_cast<std::size_t>(count) * type.bytes; }
  /// Only the MPI library can pack the data.
  bool is_packed_by_library() const { return !type.is_plain && type.shape == nullptr && bytes() > 0; }
};

/// One pending operation. Ends in `finish`, exactly once for each `begin`.
class transfer {
 public:
  transfer() = default;
  /// Of memory that needs no packing. In a transfer without anything.
  void set_pending(send_record& record) { send_ = &record; }
  /// What engine::receive gave.
  void set_pending(receive_record* record, const found_message& found) {
    receive_ = record;
    found_ = found;
  }
  void begin(session& in, const transfer_arguments& arguments, communicator& comm);
  /// A receive of a message that was taken before (MPI_Mrecv).
  void begin(session& in, const transfer_arguments& arguments, communicator& comm, arrived_message& message);
  bool is_done(session& in) const {
    if (send_ != nullptr) return cancelled_ || engine::is_done(*send_);
    if (receive_ != nullptr) return cancelled_ || in.ranks().is_done(*receive_);
    return true;
  }
  /// True if it will end without a message.
  bool cancel(session& in, const transfer_arguments& arguments, const communicator& comm);
  /// What became of it, without ending it. MPI_SUCCESS or the class of an error.
  int result(const transfer_arguments& arguments, MPI_Status* status) const {
    const std::uint64_t bytes = receive_ != nullptr ? receive_->bytes : found_.bytes;
    if (status == MPI_STATUS_IGNORE && has_message() && bytes <= arguments.bytes() &&
        arguments.channel == message_channel::program) [[likely]]
      return MPI_SUCCESS;
    return full_result(arguments, status);
  }
  /// What only this process can do, once it is done: afterwards the data is where the program expects it.
  void settle(session& in, const transfer_arguments& arguments) {
    if (staging_ != nullptr) [[unlikely]]
      unpack_staging(in, arguments);
  }
  void finish(session& in, const transfer_arguments& arguments) {
    settle(in, arguments);
    if (send_ != nullptr) in.ranks().release(send_);
    if (receive_ != nullptr) in.ranks().release(receive_);
    clear();
  }
  void clear() {
    send_ = nullptr;
    receive_ = nullptr;
    found_.key.context = 0;
    staging_ = nullptr;
    cancelled_ = false;
  }

 private:
  /// A receive that has got a message, whole.
  bool has_message() const {
    return receive_ != nullptr ? !cancelled_ && receive_->failed == 0 : found_.key.context != 0;
  }
  int full_result(const transfer_arguments& arguments, MPI_Status* status) const;
  int result_of_message(const transfer_arguments& arguments, const found_message& message, MPI_Status* status) const;
  void unpack_staging(session& in, const transfer_arguments& arguments);
  user_buffer buffer_of(session& in, const transfer_arguments& arguments);
  send_record* send_ = nullptr;
  receive_record* receive_ = nullptr;
  found_message found_ = {};      // of a receive without a record: its message; context 0 is unused
  std::byte* staging_ = nullptr;  // packed data in the arena, between the message and what only the library can pack
  bool cancelled_ = false;
};

/// Behind a handle of ours: a message, or another nonblocking operation.
struct request {
  communicator* comm = nullptr;  // held
  transfer_arguments arguments;
  transfer under_way;
  std::unique_ptr<nonblocking_operation> operation;
  std::unique_ptr<persistent_operation> repeated;  // persistent: each start is one of it
  bool is_persistent = false;
  bool is_active = false;
  std::optional<int> settled = {};  // `operation` has finished: with this error

  bool is_inactive() const { return is_persistent && !is_active; }
  bool is_done(session& in) const { return settled || (operation ? operation->is_done(in) : under_way.is_done(in)); }
  /// For a completed operation: stores its results, while the request stays active (MPI_Request_get_status).
  void settle(session& in);
  /// Ends a completed operation. MPI_SUCCESS or an error class.
  int finish(session& in, MPI_Status* status);
  /// Neither persistent nor several messages: it ends together with the request.
  bool is_simple() const { return !operation && !is_persistent; }
  /// Before its slot is reused. The new owner writes the other arguments.
  void clear() {
    under_way.clear();
    if (operation) operation.reset();
    if (repeated) repeated.reset();
    is_persistent = false;
    settled.reset();
    clear_finished();
  }
  /// The same when it was simple and has finished.
  void clear_finished() {
    if (arguments.type.shape != nullptr) arguments.type.shape.reset();
    is_active = false;
  }
};

class requests {
 public:
  /// A handle for an operation that has started. Sends that are complete share one.
  static MPI_Request add(session& in, communicator& comm, const transfer_arguments& arguments, const transfer& pending);
  static MPI_Request add(session& in, communicator& comm, std::unique_ptr<nonblocking_operation> pending);
  /// The same for contiguous elements, in standard mode.
  static MPI_Request add_plain(session& in, communicator& comm, send_record& pending, const user_buffer& data,
                               int target, int tag);
  static MPI_Request add_plain(session& in, communicator& comm, receive_record* pending, const found_message& found,
                               const user_buffer& data, int source, int tag);
  static MPI_Request add_persistent(communicator& comm, const transfer_arguments& arguments);
  static MPI_Request add_persistent(communicator& comm, std::unique_ptr<persistent_operation> repeated);
  static request& of(MPI_Request handle) { return (*table_)[abi::slot_of(handle)]; }
  /// The operation has ended: the handle becomes null, or its persistent request inactive.
  static void end(MPI_Request& handle) {
    const std::uint32_t slot = abi::slot_of(handle);
    if (request& ended = (*table_)[slot]; ended.is_persistent) {
      ended.is_active = false;
      ended.operation.reset();
      ended.settled.reset();
      return;
    }
    if (slot != 0) remove(slot);
    handle = MPI_REQUEST_NULL;
  }
  /// Also releases what the operation has used, for a simple and completed one.
  static void end_simple(session& in, request& ended, MPI_Request& handle) {
    ended.under_way.finish(in, ended.arguments);
    communicator& comm = *ended.comm;
    table_->release(abi::slot_of(handle));
    ended.clear_finished();
    communicators::release(comm);
    handle = MPI_REQUEST_NULL;
  }
  /// The program frees the handle; a pending operation continues (MPI_Request_free).
  static void give_up(session& in, MPI_Request& handle);
  /// Ends completed operations whose requests were freed.
  static void collect(session& in);
  static MPI_Request done_send() { return abi::own_request(0); }
  /// A generalized request of the library that does not end before `stop`: in a list, it keeps the others from ending.
  static MPI_Request open_in_library();
  /// With the session.
  static void start();
  static void stop();

 private:
  static request& take(session& in, communicator& comm, MPI_Request& handle);
  static transfer& take_plain(session& in, communicator& comm, bool is_send, const user_buffer& data, int peer, int tag,
                              MPI_Request& handle);
  static void remove(std::uint32_t slot) {
    communicator& comm = *(*table_)[slot].comm;
    table_->remove(slot);
    communicators::release(comm);
  }
  static inline handle_table<request>* table_ = nullptr;
};

/// The program's buffer for buffered sends. We need none; but a message that does not fit is the program's error.
class buffered_send_space {
 public:
  static void set(MPI_Count bytes);
  static bool is_enough(const transfer_arguments& arguments);
};

/// Whether a request of the MPI library is done; it is not freed. The library makes progress meanwhile.
bool is_done_in_library(MPI_Request handle);
/// A call of the library that does not wait, `ask(&flag)`, without the call guard: it may call the program's functions.
/// True: it has found something, or failed with `error`.
template <class Ask>
bool ask_library(session& in, int& error, Ask&& ask) {
  [[maybe_unused]] const abi::without_yields looking;
  const guard_release released(&in);
  int flag = 0;
  error = ask(&flag);
  return flag != 0 || error != MPI_SUCCESS;
}
/// Until then, while this rank does what others need of it. What the library has returned.
template <class Ask>
int wait_for_library(session& in, Ask&& ask) {
  int error = MPI_SUCCESS;
  in.ranks().wait([&] { return ask_library(in, error, ask); }, true);
  return error;
}
/// MPI's empty status, and that of an operation with MPI_PROC_NULL.
inline void set_empty(MPI_Status* status) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = MPI_ANY_SOURCE;
  status->MPI_TAG = MPI_ANY_TAG;
  abi::set_count(*status, 0, false);
}
/// As the library's calls on one request do: without the field of the error.
inline void copy_status(const MPI_Status& from, MPI_Status* status) {
  if (status == MPI_STATUS_IGNORE) return;
  const int error = status->MPI_ERROR;
  *status = from;
  status->MPI_ERROR = error;
}
/// For a receive of this message with room for `room` bytes.
inline void set_received(MPI_Status* status, const found_message& message, std::size_t room) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = message.key.source;
  status->MPI_TAG = message.key.tag;
  abi::set_count(*status, std::min<std::uint64_t>(message.bytes, room), false);
}

}  // namespace tri::mpi
