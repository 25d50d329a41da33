// The messages of one collective operation, in the communicator's second context. Operations of a communicator follow
// each other in the same order everywhere, and so do the messages of one sender: the tag only keeps what belongs to
// different operations apart.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "mpi/coll/completion.hpp"
#include "mpi/p2p/nonblocking_operation.hpp"
#include "mpi/p2p/requests.hpp"

namespace tri::mpi::collectives {

/// Elements somewhere in a user's buffer.
struct elements {
  void* address = nullptr;
  MPI_Count count = 0;
  MPI_Datatype type = MPI_BYTE;
};

/// Between buffers of this process, of one type signature.
void copy(const elements& from, const elements& to);

/// Packed.
std::size_t bytes_of(const elements& of);

/// Room for elements of any type, in memory that all ranks of the host can access.
class scratch_elements {
 public:
  scratch_elements(session& in, MPI_Count count, MPI_Datatype type);
  ~scratch_elements();
  scratch_elements(const scratch_elements&) = delete;
  scratch_elements& operator=(const scratch_elements&) = delete;
  void* address() const { return start_; }

 private:
  session& in_;
  std::byte* block_ = nullptr;
  std::byte* start_ = nullptr;
};

/// Either waited for (`wait`, as often as there are rounds), or left behind a request.
class operation final : public nonblocking_operation {
 public:
  operation(session& in, communicator& comm) : operation(in, comm, operation_identity::next_of(comm)) {}
  operation(session& in, communicator& comm, const operation_identity& identity)
      : in_(in), comm_(comm), identity_(identity) {}
  ~operation() override { wait(); }

  void begin_send(const elements& data, int to) { begin(true, data, to); }
  void begin_receive(const elements& data, int from) { begin(false, data, from); }
  /// Returns the first error of the operation so far.
  int wait() {
    if (!open_.empty()) in_.ranks().wait([this] { return is_done(in_); }, asks_library());
    return !open_.empty() || last_step_ ? finish(in_) : error_;
  }

  bool is_done(session& in) override;
  int finish(session& in) override;
  bool asks_library() const override { return crosses_hosts_; }
  /// Room until the operation has ended; one at most.
  scratch_elements& make_scratch(MPI_Count count, MPI_Datatype type) { return scratch_.emplace(in_, count, type); }
  /// When all messages are there.
  void at_end(std::function<void()> step) { last_step_ = std::move(step); }

  int rank() const { return comm_.rank; }
  int size() const { return comm_.size(); }

 private:
  struct message {
    transfer_arguments arguments;
    transfer under_way;
  };
  void begin(bool is_send, const elements& data, int peer);
  bool begin_plain(bool is_send, const user_buffer& data, int peer, transfer& made);

  session& in_;
  communicator& comm_;
  operation_identity identity_;
  int error_ = MPI_SUCCESS;
  std::vector<message> open_;
  std::size_t first_open_ = 0;  // those before are done
  bool crosses_hosts_ = false;
  std::optional<scratch_elements> scratch_;
  std::function<void()> last_step_;
};

}  // namespace tri::mpi::collectives
