// How a collective call ends: it waits for its operation, leaves it behind a request, or is one start of a persistent
// request. And by what the members of a communicator find each other's parts of an operation. With the call guard.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "coll/operation_table.hpp"
#include "mpi/coll/operation_tags.hpp"
#include "mpi/comm/communicators.hpp"
#include "mpi/datatypes/held_handles.hpp"
#include "mpi/p2p/requests.hpp"

namespace tri::mpi::collectives {

/// The same on all members. Most operations are counted as they begin, which all members do in one order. Persistent
/// ones may be started in any order: they are counted when they are made.
struct operation_identity {
  int tag = 0;                             ///< of its messages
  int first_tag_of_plan = 0;               ///< likewise, between hosts; tags of its rounds follow
  std::uint64_t number = 0;                ///< in the table
  coll::operation_table* table = nullptr;  ///< null: the communicator's
  message_channel channel = message_channel::collective;

  static operation_identity next_of(communicator& comm) {
    const std::uint64_t number = comm.collectives++;
    const int of_plan = comm.spans_hosts() ? operation_tags::of_plan(number, comm.hosts->rounds()) : 0;
    return {.tag = operation_tags::of_operation(number), .first_tag_of_plan = of_plan, .number = number};
  }
};

/// One start of a persistent request, or the check of its arguments when it is made.
struct persistent_start {
  operation_identity identity;
  bool only_checks = false;  ///< nothing begins
  std::unique_ptr<nonblocking_operation> begun = nullptr;
};

class completion {
 public:
  completion() = default;  // waits
  explicit completion(MPI_Request* request) : request_(request) {}
  explicit completion(persistent_start& start) : start_(&start) {}

  bool is_blocking() const { return request_ == nullptr && start_ == nullptr; }
  bool is_persistent() const { return start_ != nullptr; }
  /// The same, of a reduction that needs these after the call. The type is valid.
  completion keeping(MPI_Datatype type, MPI_Op operation) const {
    completion made = *this;
    if (!is_blocking()) made.kept_ = {held_handles::hold_type(type), held_handles::hold_operation(operation)};
    return made;
  }

  /// Of an operation that is not waited for. `begin(identity)` returns null where there is no memory for it, on all
  /// members alike.
  template <class Begin>
  int begin(session& in, communicator& comm, Begin&& begin) const {
    if (start_ != nullptr && start_->only_checks) return MPI_SUCCESS;
    std::unique_ptr<nonblocking_operation> begun =
        begin(start_ != nullptr ? start_->identity : operation_identity::next_of(comm));
    if (begun == nullptr) return pass_through;
    begun->keep(kept_);
    if (start_ != nullptr)
      start_->begun = std::move(begun);
    else
      *request_ = requests::add(in, comm, std::move(begun));
    return MPI_SUCCESS;
  }

 private:
  MPI_Request* request_ = nullptr;
  persistent_start* start_ = nullptr;
  kept_handles kept_;
};

}  // namespace tri::mpi::collectives
