#include "mpi/p2p/point_to_point.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "mpi/abi/abi.hpp"
#include "mpi/comm/communicators.hpp"
#include "mpi/datatypes/datatypes.hpp"
#include "mpi/p2p/handle_table.hpp"
#include "mpi/p2p/receives_across_hosts.hpp"
#include "mpi/rma/typed_memory.hpp"
#include "mpi/startup/session.hpp"

namespace tri::mpi {
namespace {

bool is_tag(int tag) { return tag >= 0 && tag <= session::active()->largest_tag(); }

int finish_here(session& in, transfer& pending, const transfer_arguments& arguments, MPI_Status* status) {
  in.ranks().wait([&] { return pending.is_done(in); });
  const int error = pending.result(arguments, status);
  pending.finish(in, arguments);
  return report(arguments.comm, error);
}

// The library matches it alone: no receive of ours has to come before it.
bool is_for_library(const intercepted_call& mine) {
  const transfer_arguments& a = mine.arguments;
  return mine.partner == partner_place::another_host &&
         (a.is_send || !mine.comm->across->must_wait({a.peer, a.tag == any_tag ? MPI_ANY_TAG : a.tag}));
}

// And it may block, without the call guard. Where several threads call, a receive of another one could come between
// this decision and the library's receive.
bool passes_through(const session& in, const intercepted_call& mine) {
  return is_for_library(mine) && !in.must_not_block();
}

partner_place place_of(const communicator& comm, int peer) {
  if (!comm.spans_hosts() || peer == proc_null) return partner_place::this_host;
  if (peer == any_source) return partner_place::both;
  return comm.is_on_another_host(peer) ? partner_place::another_host : partner_place::this_host;
}

// A message to or from any host, under way.
class any_transfer {
 public:
  any_transfer(session& in, const intercepted_call& of) : in_(in), of_(of) {
    if (of_.is_on_this_host()) {
      here_.begin(in, of_.arguments, *of_.comm);
    } else if (of_.arguments.is_send) {
      error_ = begin_in_library(of_.arguments, library_);
      is_librarys_ = true;
    } else {  // also where the library could match it: some report errors of MPI_Test to another error handler
      across_ = std::make_unique<receive_across_hosts>(in, *of_.comm, of_.arguments);
    }
  }
  bool is_done() {
    if (is_librarys_) return is_ended_by_library();
    return across_ ? across_->is_done(in_) : here_.is_done(in_);
  }
  /// MPI_SUCCESS or the class of an error; of a send to another host, whose error the library has reported, its code.
  int finish(MPI_Status* status) {
    if (is_librarys_) {
      copy_status(status_, status);
      return error_;
    }
    if (across_) {
      const int error = across_->finish(in_);
      across_->set_status(status);
      return error;
    }
    const int error = here_.result(of_.arguments, status);
    here_.finish(in_, of_.arguments);
    return error;
  }
  void cancel() {
    if (across_) across_->cancel(in_);
  }

 private:
  bool is_ended_by_library() {
    return library_ == MPI_REQUEST_NULL ||
           ask_library(in_, error_, [this](int* flag) { return PMPI_Test(&library_, flag, &status_); });
  }

  session& in_;
  const intercepted_call of_;
  transfer here_;
  bool is_librarys_ = false;
  MPI_Request library_ = MPI_REQUEST_NULL;
  MPI_Status status_{};
  int error_ = MPI_SUCCESS;
  std::unique_ptr<receive_across_hosts> across_;
};

// The message in bytes that belong to us.
void copy_out(transfer_arguments& leaving, std::vector<std::byte>& copy) {
  copy.resize(leaving.bytes());
  if (leaving.type.is_plain)
    std::copy_n(static_cast<const std::byte*>(leaving.buffer), copy.size(), copy.begin());
  else
    pack(leaving.buffer, leaving.count, leaving.type, copy.data());
  leaving.buffer = copy.data();
  leaving.count = 1;  // one element of this many bytes
  leaving.type = {MPI_BYTE, copy.size(), true, true, nullptr};
}

// Behind a request: a message, or one each way, with another host.
class operation_across_hosts final : public nonblocking_operation {
 public:
  operation_across_hosts(session& in, const intercepted_call& received) { receiving_.emplace(in, received); }
  operation_across_hosts(session& in, intercepted_call sent, const intercepted_call& received) {
    copy_out(sent.arguments, copy_);
    receiving_.emplace(in, received);
    sending_.emplace(in, sent);
  }
  bool is_done(session&) override { return receiving_->is_done() && (!sending_ || sending_->is_done()); }
  int finish(session&) override {
    const int error = sending_ ? sending_->finish(MPI_STATUS_IGNORE) : MPI_SUCCESS;
    const int of_receive = receiving_->finish(&status_);
    return error != MPI_SUCCESS ? error : of_receive;
  }
  bool asks_library() const override { return true; }
  void set_status(MPI_Status* status) const override { copy_status(status_, status); }
  void cancel(session&) override {
    if (!sending_) receiving_->cancel();
  }

 private:
  std::vector<std::byte> copy_;
  std::optional<any_transfer> receiving_;
  std::optional<any_transfer> sending_;
  MPI_Status status_{};
};

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
      from.comm, {false, send_mode::standard, buffer, count, datatypes::find(type), 0, 0, reporting(*from.comm)}, {}};
  receive.pending.begin(in, receive.arguments, *from.comm, *from.message);
  return receive;
}

}  // namespace

intercepted_call send_of(const void* buffer, MPI_Count count, MPI_Datatype type, int target, int tag, MPI_Comm comm,
                         send_mode mode) {
  communicator* const known = communicators::find(comm);
  const bool to_proc_null = target == MPI_PROC_NULL;
  if (known == nullptr || !(to_proc_null || (target >= 0 && target < known->size())) || !is_tag(tag) || count < 0)
    return {};
  const buffer_type& of_type = datatypes::find(type);
  if (!of_type.is_valid || is_missing(buffer, count, of_type)) return {};
  const int peer = to_proc_null ? proc_null : target;
  return {known, {true, mode, const_cast<void*>(buffer), count, of_type, peer, tag, comm}, place_of(*known, peer)};
}

intercepted_call receive_of(void* buffer, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm) {
  communicator* const known = communicators::find(comm);
  const bool from_any = source == MPI_ANY_SOURCE;
  const bool from_proc_null = source == MPI_PROC_NULL;
  const bool with_any = tag == MPI_ANY_TAG;
  if (known == nullptr || count < 0 || !(from_any || from_proc_null || (source >= 0 && source < known->size())) ||
      !(with_any || is_tag(tag)))
    return {};
  const buffer_type& of_type = datatypes::find(type);
  if (!of_type.is_valid || is_missing(buffer, count, of_type)) return {};
  const int peer = from_any ? any_source : from_proc_null ? proc_null : source;
  return {known,
          {false, send_mode::standard, buffer, count, of_type, peer, with_any ? any_tag : tag, comm},
          place_of(*known, peer)};
}

int complete(session& in, const intercepted_call& mine, MPI_Status* status) {
  if (!mine || passes_through(in, mine)) return pass_through;
  if (!mine.is_on_this_host()) {
    any_transfer one(in, mine);
    in.ranks().wait([&] { return one.is_done(); }, true);
    const int error = one.finish(status);
    return mine.arguments.is_send ? error : report(mine.arguments.comm, error);
  }
  if (!buffered_send_space::is_enough(mine.arguments)) return report(mine.arguments.comm, MPI_ERR_BUFFER);
  transfer pending;
  pending.begin(in, mine.arguments, *mine.comm);
  return finish_here(in, pending, mine.arguments, status);
}

int begin(session& in, const intercepted_call& mine, MPI_Request* request) {
  if (!mine || passes_through(in, mine)) return pass_through;
  if (is_for_library(mine)) {
    return begin_in_library(mine.arguments, *request);
  }
  if (!mine.is_on_this_host()) {
    *request = requests::add(in, *mine.comm, std::make_unique<receive_across_hosts>(in, *mine.comm, mine.arguments));
    return MPI_SUCCESS;
  }
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
  if (!mine || (mine.arguments.is_send && !mine.is_on_this_host())) return pass_through;
  *request = requests::add_persistent(*mine.comm, mine.arguments, !mine.is_on_this_host());
  return MPI_SUCCESS;
}

std::unique_ptr<nonblocking_operation> begin_across_hosts(session& in, communicator& comm,
                                                          const transfer_arguments& arguments) {
  return std::make_unique<operation_across_hosts>(in,
                                                  intercepted_call{&comm, arguments, place_of(comm, arguments.peer)});
}

int exchange(session& in, const intercepted_call& sent, const intercepted_call& received, MPI_Status* status) {
  if (!sent || !received || (passes_through(in, sent) && passes_through(in, received))) return pass_through;
  if (!sent.is_on_this_host() || !received.is_on_this_host()) {
    any_transfer receiving(in, received);
    any_transfer sending(in, sent);
    in.ranks().wait([&] { return receiving.is_done() && sending.is_done(); }, true);
    const int of_send = sending.finish(MPI_STATUS_IGNORE);
    const int error = receiving.finish(status);
    if (of_send != MPI_SUCCESS) return of_send;  // the library's, which has reported it: those of ours have none
    return report(received.arguments.comm, error);
  }
  transfer receiving, sending;
  receiving.begin(in, received.arguments, *received.comm);
  sending.begin(in, sent.arguments, *sent.comm);
  in.ranks().wait([&] { return receiving.is_done(in) && sending.is_done(in); });
  sending.finish(in, sent.arguments);
  return finish_here(in, receiving, received.arguments, status);
}

int exchange_in_place(session& in, intercepted_call sent, const intercepted_call& received, MPI_Status* status) {
  if (!sent || !received || (passes_through(in, sent) && passes_through(in, received))) return pass_through;
  std::vector<std::byte> copy;
  copy_out(sent.arguments, copy);
  return exchange(in, sent, received, status);
}

int begin_exchange(session& in, intercepted_call sent, const intercepted_call& received, MPI_Request* request) {
  if (!sent || !received || (passes_through(in, sent) && passes_through(in, received))) return pass_through;
  if (!sent.is_on_this_host() || !received.is_on_this_host()) {
    *request = requests::add(in, *received.comm, std::make_unique<operation_across_hosts>(in, sent, received));
    return MPI_SUCCESS;
  }
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
  const int error = finish_here(in, receive.pending, receive.arguments, status);
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
