// Our requests: what a handle of ours stands for, from the call that begins the operation to the one that ends it. With
// the call guard.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "mpi/calls/communicators.hpp"
#include "mpi/calls/compound.hpp"
#include "mpi/calls/datatypes.hpp"
#include "mpi/calls/session.hpp"

namespace tri::mpi {

/// In place of a rank: the operation is complete at once (MPI_PROC_NULL).
inline constexpr int nobody = -2;

/// The arguments of a send or a receive, as far as it is ours: everything was checked.
struct transfer_arguments {
  bool is_send = false;
  send_mode mode = send_mode::standard;
  void* buffer = nullptr;
  MPI_Count count = 0;
  buffer_type type;
  int peer = 0;  // rank in the communicator, any_source, or nobody
  int tag = 0;   // or any_tag
  MPI_Comm comm = MPI_COMM_NULL;
  bool is_of_collective = false;  // travels in the communicator's second context

  std::size_t bytes() const { return static_cast<std::size_t>(count) * type.bytes; }
  /// Only the MPI library knows where the data lies.
  bool is_packed_by_library() const { return !type.is_plain && type.shape == nullptr && bytes() > 0; }
};

/// One operation under way. Ends in `finish`, exactly once for each `begin`.
class transfer {
 public:
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
  int result(const transfer_arguments& arguments, MPI_Status* status) const;
  /// What only this process can do, once it is done: afterwards the data is where the program expects it.
  void settle(session& in, const transfer_arguments& arguments);
  void finish(session& in, const transfer_arguments& arguments);

 private:
  user_buffer buffer_of(session& in, const transfer_arguments& arguments);
  send_record* send_ = nullptr;
  receive_record* receive_ = nullptr;
  std::byte* staging_ = nullptr;  // packed data in the arena, between the message and what only the library can pack
  bool cancelled_ = false;
};

/// Behind a handle of ours: a message, or a compound.
struct request {
  communicator* comm = nullptr;  // held
  transfer_arguments arguments;
  transfer under_way;
  std::unique_ptr<compound> several;
  bool is_persistent = false;
  bool is_active = false;
  std::optional<int> settled = {};  // `several` has finished: with this error

  bool is_inactive() const { return is_persistent && !is_active; }
  bool is_done(session& in) const { return settled || (several ? several->is_done(in) : under_way.is_done(in)); }
  /// Of what is done: its results are there from now on, although the request goes on (MPI_Request_get_status).
  void settle(session& in);
  /// Ends what is done. MPI_SUCCESS or the class of an error.
  int finish(session& in, MPI_Status* status);
};

class requests {
 public:
  /// A handle for an operation that has been begun. Sends that are complete share one.
  static MPI_Request add(session& in, communicator& comm, const transfer_arguments& arguments, const transfer& begun);
  static MPI_Request add(session& in, communicator& comm, std::unique_ptr<compound> begun);
  static MPI_Request add_persistent(communicator& comm, const transfer_arguments& arguments);
  static request& of(MPI_Request handle);
  /// The operation has ended: the handle becomes null, or its persistent request inactive.
  static void end(MPI_Request& handle);
  /// The program gives the handle up; what is under way goes on (MPI_Request_free).
  static void give_up(session& in, MPI_Request& handle);
  /// Ends what was given up and is done.
  static void collect(session& in);
  static MPI_Request done_send();
};

/// The program's buffer for buffered sends. We need none; but a message that does not fit is the program's error.
class buffered_send_space {
 public:
  static void set(int bytes);
  static bool is_enough(const transfer_arguments& arguments);
};

/// Whether a request of the MPI library is done; it goes on. The library makes progress meanwhile.
bool is_done_in_library(MPI_Request handle);
/// MPI's empty status, and that of an operation with nobody.
void set_empty(MPI_Status* status);
/// Calls the communicator's error handler, and returns the code. At the end of a call that has the call guard, which is
/// let go of meanwhile: the handler may call MPI.
int report(MPI_Comm comm, int error);

}  // namespace tri::mpi
