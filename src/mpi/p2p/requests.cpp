#include "mpi/p2p/requests.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "mpi/abi/abi.hpp"

namespace tri::mpi {
namespace {

std::vector<std::uint32_t> given_up;
MPI_Request open = MPI_REQUEST_NULL;  // until it is first needed

int empty_status(void*, MPI_Status* status) {
  PMPI_Status_set_elements(status, MPI_BYTE, 0);
  PMPI_Status_set_cancelled(status, 0);
  return MPI_SUCCESS;
}
int free_nothing(void*) { return MPI_SUCCESS; }
int cancel_nothing(void*, int) { return MPI_SUCCESS; }

MPI_Count attached_bytes = 0;

message_key key_of(const transfer_arguments& arguments, const communicator& comm) {
  return {comm.context | static_cast<std::uint64_t>(arguments.channel), arguments.is_send ? comm.rank : arguments.peer,
          arguments.tag};
}

}  // namespace

void nonblocking_operation::set_status(MPI_Status* status) const { set_empty(status); }

// Where the engine reads or writes the data.
user_buffer transfer::buffer_of(session& in, const transfer_arguments& a) {
  auto* const address = static_cast<std::byte*>(a.buffer);
  const std::size_t bytes = a.bytes();
  if (a.is_packed_by_library()) {
    staging_ = static_cast<std::byte*>(in.ranks().blocks().allocate(bytes));
    return {staging_, bytes};
  }
  if (a.type.shape == nullptr) return {address, bytes};
  const auto count = static_cast<std::uint64_t>(a.count);
  user_buffer buffer{address, bytes, a.type.shape.get(), count};
  if (a.type.shape->contiguous(count)) return {buffer.first_touched(), bytes};
  return buffer;
}

void transfer::begin(session& in, const transfer_arguments& a, communicator& comm) {
  *this = transfer();
  if (a.peer == proc_null) return;
  engine& ranks = in.ranks();
  const user_buffer buffer = buffer_of(in, a);
  if (!a.is_send) {
    receive_ = ranks.receive(key_of(a, comm), buffer, comm.touched, found_);
    return;
  }
  if (staging_ != nullptr) pack(a.buffer, a.count, a.type, staging_);
  const auto peer = static_cast<std::size_t>(a.peer);
  send_ = comm.is_on_another_host(a.peer) ? in.internode().send(comm.world_of[peer], key_of(a, comm), buffer, a.mode)
                                          : ranks.send(comm.number_of[peer], key_of(a, comm), buffer, a.mode);
  if (send_ == nullptr && staging_ != nullptr) {
    ranks.blocks().release(staging_);
    staging_ = nullptr;
  }
}

void transfer::begin(session& in, const transfer_arguments& a, communicator& comm, arrived_message& message) {
  *this = transfer();
  receive_ = in.ranks().make_receive(key_of(a, comm), buffer_of(in, a), comm.touched);
  in.ranks().post(*receive_, message);
}

bool transfer::cancel(session& in, const transfer_arguments& a, const communicator& comm) {
  if (cancelled_) return true;
  if (receive_ != nullptr) cancelled_ = in.ranks().cancel(*receive_);
  if (send_ != nullptr && !comm.is_on_another_host(a.peer))
    cancelled_ = in.ranks().cancel(*send_, comm.number_of[static_cast<std::size_t>(a.peer)]);
  return cancelled_;
}

int transfer::result_of_message(const transfer_arguments& a, const found_message& message, MPI_Status* status) const {
  set_received(status, message, a.bytes());
  if (receive_ != nullptr && receive_->failed != 0) return MPI_ERR_OTHER;
  if (message.bytes > a.bytes()) return MPI_ERR_TRUNCATE;
  // The ranks' arguments of a collective operation must agree (MPI 4.0, section 6.1).
  return a.channel != message_channel::program && message.bytes != a.bytes() ? MPI_ERR_OTHER : MPI_SUCCESS;
}

int transfer::full_result(const transfer_arguments& a, MPI_Status* status) const {
  if (receive_ != nullptr && !cancelled_) return result_of_message(a, {receive_->taken, receive_->bytes}, status);
  if (found_.key.context != 0) return result_of_message(a, found_, status);
  if (status != MPI_STATUS_IGNORE) {
    set_empty(status);
    if (!a.is_send && a.peer == proc_null) status->MPI_SOURCE = MPI_PROC_NULL;
    abi::set_count(*status, 0, cancelled_);
  }
  return MPI_SUCCESS;
}

void transfer::unpack_staging(session& in, const transfer_arguments& a) {
  if (!a.is_send && !cancelled_) {
    const std::uint64_t came = receive_ != nullptr ? receive_->bytes : found_.bytes;
    unpack(staging_, std::min(came, a.bytes()), a.buffer, a.count, a.type);
  }
  in.ranks().blocks().release(staging_);
  staging_ = nullptr;
}

void request::settle(session& in) {
  if (!operation)
    under_way.settle(in, arguments);
  else if (!settled)
    settled = operation->finish(in);
}

int request::finish(session& in, MPI_Status* status) {
  if (operation) {
    settle(in);
    operation->set_status(status);
    return *settled;
  }
  const int error = under_way.result(arguments, status);
  under_way.finish(in, arguments);
  return error;
}

// An active one; its arguments are still to be written.
inline request& requests::take(session& in, communicator& comm, MPI_Request& handle) {
  if (!given_up.empty()) [[unlikely]]
    collect(in);
  communicators::hold(comm);
  const std::uint32_t slot = table_->take();
  handle = abi::own_request(slot);
  request& made = (*table_)[slot];
  made.comm = &comm;
  made.is_active = true;
  return made;
}

MPI_Request requests::add(session& in, communicator& comm, const transfer_arguments& arguments,
                          const transfer& pending) {
  MPI_Request handle = MPI_REQUEST_NULL;
  request& made = take(in, comm, handle);
  made.arguments = arguments;
  made.under_way = pending;
  return handle;
}

MPI_Request requests::add(session& in, communicator& comm, std::unique_ptr<nonblocking_operation> pending) {
  MPI_Request handle = MPI_REQUEST_NULL;
  request& made = take(in, comm, handle);
  made.arguments = {};
  made.operation = std::move(pending);
  return handle;
}

inline transfer& requests::take_plain(session& in, communicator& comm, bool is_send, const user_buffer& data, int peer,
                                      int tag, MPI_Request& handle) {
  request& made = take(in, comm, handle);
  transfer_arguments& a = made.arguments;
  a.is_send = is_send;
  a.channel = message_channel::program;
  a.mode = send_mode::standard;
  a.buffer = data.address;
  a.count = static_cast<MPI_Count>(data.bytes);
  a.type.handle = MPI_BYTE;
  a.type.bytes = 1;
  a.type.is_plain = a.type.is_valid = true;  // and without a shape
  a.peer = peer;
  a.tag = tag;
  a.comm = comm.handle;
  return made.under_way;
}

MPI_Request requests::add_plain(session& in, communicator& comm, send_record& pending, const user_buffer& data,
                                int target, int tag) {
  MPI_Request handle = MPI_REQUEST_NULL;
  take_plain(in, comm, true, data, target, tag, handle).set_pending(pending);
  return handle;
}

MPI_Request requests::add_plain(session& in, communicator& comm, receive_record* pending, const found_message& found,
                                const user_buffer& data, int source, int tag) {
  MPI_Request handle = MPI_REQUEST_NULL;
  take_plain(in, comm, false, data, source, tag, handle).set_pending(pending, found);
  return handle;
}

MPI_Request requests::add_persistent(communicator& comm, const transfer_arguments& arguments) {
  communicators::hold(comm);
  const std::uint32_t slot = table_->take();
  request& made = (*table_)[slot];
  made.comm = &comm;
  made.arguments = arguments;
  made.is_persistent = true;
  return abi::own_request(slot);
}

MPI_Request requests::add_persistent(communicator& comm, std::unique_ptr<persistent_operation> repeated) {
  const MPI_Request handle = add_persistent(comm, transfer_arguments{});
  of(handle).repeated = std::move(repeated);
  return handle;
}

void requests::give_up(session& in, MPI_Request& handle) {
  const std::uint32_t slot = abi::slot_of(handle);
  handle = MPI_REQUEST_NULL;
  if (slot == 0) return;
  if ((*table_)[slot].is_active)
    given_up.push_back(slot);
  else
    remove(slot);
  collect(in);
}

void requests::collect(session& in) {
  // No other call finds those that are looked at: what ends them may release the guard.
  std::vector<std::uint32_t> looked_at;
  looked_at.swap(given_up);
  for (const std::uint32_t slot : looked_at) {
    request& each = (*table_)[slot];
    if (!each.is_done(in)) {
      given_up.push_back(slot);
      continue;
    }
    each.finish(in, MPI_STATUS_IGNORE);
    remove(slot);
  }
}

MPI_Request requests::open_in_library() {
  if (open == MPI_REQUEST_NULL) PMPI_Grequest_start(empty_status, free_nothing, cancel_nothing, nullptr, &open);
  return open;
}

// Never destroyed: at the end of a process its datatypes' layouts would go back to an arena that others use still.
void requests::start() {
  if (table_ != nullptr) return;
  table_ = new handle_table<request>;
  table_->take();  // slot 0: the send that is complete
}

void requests::stop() {
  if (open == MPI_REQUEST_NULL) return;
  PMPI_Grequest_complete(open);
  PMPI_Wait(&open, MPI_STATUS_IGNORE);
}

void buffered_send_space::set(MPI_Count bytes) { attached_bytes = bytes; }
bool buffered_send_space::is_enough(const transfer_arguments& a) {
  return !a.is_send || a.mode != send_mode::buffered || a.peer == proc_null ||
         a.bytes() + MPI_BSEND_OVERHEAD <= static_cast<std::size_t>(attached_bytes);
}

bool is_done_in_library(MPI_Request handle) {
  [[maybe_unused]] const abi::without_yields looking;
  int flag = 0;
  PMPI_Request_get_status(handle, &flag, MPI_STATUS_IGNORE);
  return flag != 0;
}

}  // namespace tri::mpi
