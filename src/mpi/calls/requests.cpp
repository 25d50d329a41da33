#include "mpi/calls/requests.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "mpi/calls/abi.hpp"
#include "mpi/calls/place_table.hpp"

namespace tri::mpi {
namespace {

place_table<request>& table() {
  // Never destroyed: at the end of a process its datatypes' layouts would go back to an arena that others use still.
  static place_table<request>& all = *[] {
    auto* const made = new place_table<request>;
    made->add({});  // place 0: the send that is complete
    return made;
  }();
  return all;
}
std::vector<std::uint32_t> given_up;

void remove(std::uint32_t place) { communicators::let_go(*table().remove(place).comm); }

int attached_bytes = 0;

message_key key_of(const transfer_arguments& arguments, const communicator& comm) {
  return {comm.context | (arguments.is_of_collective ? 1 : 0), arguments.is_send ? comm.rank : arguments.peer,
          arguments.tag};
}

}  // namespace

// Where the engine finds or puts the data.
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
  if (a.peer == nobody) return;
  engine& ranks = in.ranks();
  const user_buffer buffer = buffer_of(in, a);
  if (!a.is_send) {
    receive_ = ranks.make_receive(key_of(a, comm), buffer, comm.touched);
    ranks.post(*receive_);
    return;
  }
  if (staging_ != nullptr) pack(a.buffer, a.count, a.type, staging_);
  send_ = ranks.send(comm.number_of[static_cast<std::size_t>(a.peer)], key_of(a, comm), buffer, a.mode);
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
  if (send_ != nullptr) cancelled_ = in.ranks().cancel(*send_, comm.number_of[static_cast<std::size_t>(a.peer)]);
  return cancelled_;
}

int transfer::result(const transfer_arguments& a, MPI_Status* status) const {
  if (receive_ == nullptr || cancelled_) {
    if (status != MPI_STATUS_IGNORE) {
      set_empty(status);
      if (!a.is_send && a.peer == nobody) status->MPI_SOURCE = MPI_PROC_NULL;
      abi::set_count(*status, 0, cancelled_);
    }
    return MPI_SUCCESS;
  }
  if (status != MPI_STATUS_IGNORE) {
    status->MPI_SOURCE = receive_->taken.source;
    status->MPI_TAG = receive_->taken.tag;
    abi::set_count(*status, std::min(receive_->bytes, a.bytes()), false);
  }
  if (receive_->failed != 0) return MPI_ERR_OTHER;
  return receive_->bytes > a.bytes() ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
}

void transfer::settle(session& in, const transfer_arguments& a) {
  if (staging_ == nullptr) return;
  if (receive_ != nullptr && !cancelled_)
    unpack(staging_, std::min(receive_->bytes, a.bytes()), a.buffer, a.count, a.type);
  in.ranks().blocks().release(staging_);
  staging_ = nullptr;
}

void transfer::finish(session& in, const transfer_arguments& a) {
  settle(in, a);
  if (send_ != nullptr) in.ranks().release(send_);
  if (receive_ != nullptr) in.ranks().release(receive_);
  *this = transfer();
}

void request::settle(session& in) {
  if (!several)
    under_way.settle(in, arguments);
  else if (!settled)
    settled = several->finish(in);
}

int request::finish(session& in, MPI_Status* status) {
  if (several) {
    set_empty(status);
    settle(in);
    return *settled;
  }
  const int error = under_way.result(arguments, status);
  under_way.finish(in, arguments);
  return error;
}

MPI_Request requests::done_send() { return abi::own_request(0); }

MPI_Request requests::add(session& in, communicator& comm, const transfer_arguments& arguments, const transfer& begun) {
  if (!given_up.empty()) collect(in);
  communicators::hold(comm);
  return abi::own_request(table().add({&comm, arguments, begun, nullptr, false, true}));
}

MPI_Request requests::add(session& in, communicator& comm, std::unique_ptr<compound> begun) {
  if (!given_up.empty()) collect(in);
  communicators::hold(comm);
  return abi::own_request(table().add({&comm, {}, {}, std::move(begun), false, true}));
}

MPI_Request requests::add_persistent(communicator& comm, const transfer_arguments& arguments) {
  communicators::hold(comm);
  return abi::own_request(table().add({&comm, arguments, {}, nullptr, true, false}));
}

request& requests::of(MPI_Request handle) { return table()[abi::place_of(handle)]; }

void requests::end(MPI_Request& handle) {
  const std::uint32_t place = abi::place_of(handle);
  if (table()[place].is_persistent) {
    table()[place].is_active = false;
    return;
  }
  if (place != 0) remove(place);
  handle = MPI_REQUEST_NULL;
}

void requests::give_up(session& in, MPI_Request& handle) {
  const std::uint32_t place = abi::place_of(handle);
  handle = MPI_REQUEST_NULL;
  if (place == 0) return;
  if (table()[place].is_active)
    given_up.push_back(place);
  else
    remove(place);
  collect(in);
}

void requests::collect(session& in) {
  for (std::size_t i = 0; i < given_up.size();) {
    request& each = table()[given_up[i]];
    if (!each.is_done(in)) {
      ++i;
      continue;
    }
    each.finish(in, MPI_STATUS_IGNORE);
    remove(given_up[i]);
    given_up[i] = given_up.back();
    given_up.pop_back();
  }
}

void buffered_send_space::set(int bytes) { attached_bytes = bytes; }
bool buffered_send_space::is_enough(const transfer_arguments& a) {
  return !a.is_send || a.mode != send_mode::buffered || a.peer == nobody ||
         a.bytes() + MPI_BSEND_OVERHEAD <= static_cast<std::size_t>(attached_bytes);
}

bool is_done_in_library(MPI_Request handle) {
  [[maybe_unused]] const abi::without_yields looking;
  int flag = 0;
  PMPI_Request_get_status(handle, &flag, MPI_STATUS_IGNORE);
  return flag != 0;
}

void set_empty(MPI_Status* status) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = MPI_ANY_SOURCE;
  status->MPI_TAG = MPI_ANY_TAG;
  abi::set_count(*status, 0, false);
}

int report(MPI_Comm comm, int error) {
  if (error == MPI_SUCCESS) return error;
  session* const in = session::active();
  const bool has_turn = in != nullptr && in->is_threaded();
  if (has_turn) in->lock().unlock();
  PMPI_Comm_call_errhandler(comm, error);
  if (has_turn) in->lock().lock();
  return error;
}

}  // namespace tri::mpi
