// The communicators whose point-to-point messages are ours: those that this process saw being made, of ranks of the
// job. Any other handle is the MPI library's.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "coll/algorithm_choice.hpp"
#include "mpi/comm/communicator_hosts.hpp"
#include "mpi/engine/records.hpp"
#include "mpi/startup/job_hosts.hpp"

namespace tri::mpi {

class nonblocking_operation;
class shm_collective;
class session;
class bootstrap_exchange;
namespace collectives {
struct plan_cache;
struct neighborhood;
}  // namespace collectives

/// Of an inter-communicator the ranks are those of the remote group, to which all messages go and from which all come;
/// only `rank` is the calling process's in its own group, and so what the remote group knows it by.
struct communicator {
  MPI_Comm handle = MPI_COMM_NULL;
  std::uint64_t context = 0;  // agreed by the members; its lowest two bits are of message_channel
  int rank = 0;
  int own_group_size = 0;                    // of an inter-communicator, else 0
  std::vector<std::uint32_t> number_of;      // of the rank on the host, or on_another_host
  std::uint64_t collectives = 0;             // started so far
  std::uint64_t persistent_collectives = 0;  // made so far
  std::uint64_t entry_barriers = 0;          // windows and files of the library that were made on it
  shm_collective* barrier = nullptr;         // of the members on this host; an inter-communicator has none
  std::uint64_t barriers = 0;                // started so far
  std::shared_ptr<collectives::plan_cache> plans;
  std::shared_ptr<const collectives::neighborhood> neighbors;  // null: not looked up yet
  std::uint64_t users = 0;                                     // requests and messages that were taken
  touch_order touched = touch_order::unknown;                  // what is received, see communicator_hints
  bool is_freed = false;                                       // by the program; `handle` means nothing any more
  std::vector<int> world_of;                        // ranks in MPI_COMM_WORLD, where some are on another host
  std::shared_ptr<const communicator_hosts> hosts;  // of an intracommunicator with members on several hosts, else null
  mutable std::shared_ptr<coll::algorithm_choice> choice;  // likewise, where costs were measured

  int size() const { return static_cast<int>(number_of.size()); }
  bool is_inter() const { return own_group_size > 0; }
  int size_of_own_group() const { return is_inter() ? own_group_size : size(); }
  bool spans_hosts() const { return hosts != nullptr; }
  bool is_on_another_host(int of_rank) const { return number_of[static_cast<std::size_t>(of_rank)] == on_another_host; }
  /// Whether a message to or from that rank, or any_source, may be one between hosts.
  bool may_cross_hosts(int peer) const {
    return !world_of.empty() && (peer == any_source || (peer >= 0 && is_on_another_host(peer)));
  }
};

class communicators {
 public:
  /// For what inter-communicators have, too: messages and some collectives. Null: not ours. The most recently used one
  /// is cached.
  static communicator* find_any(MPI_Comm handle) {
    return last_ != nullptr && last_->handle == handle ? last_ : find_among_all(handle);
  }
  /// Intracommunicators only.
  static communicator* find(MPI_Comm handle) {
    communicator* const found = find_any(handle);
    return found != nullptr && !found->is_inter() ? found : nullptr;
  }
  /// Null, too, where members are on several hosts.
  static communicator* find_on_one_host(MPI_Comm handle) {
    communicator* const found = find(handle);
    return found != nullptr && !found->spans_hosts() ? found : nullptr;
  }
  static void add_predefined(session& in, const bootstrap_exchange& bootstrap);
  /// After the library made it; collective over its members, of both groups. Null communicators are left alone, and so
  /// are those with processes that this job was not started with.
  static void add(MPI_Comm made);
  /// The library has started a duplication and returned `made` and its request. The operation completes with all of it.
  static std::unique_ptr<nonblocking_operation> begin_duplicate(session& in, communicator& of, MPI_Comm made,
                                                                MPI_Request library, touch_order touched);
  /// After the library has freed `handle`, which had this context. Pending operations continue.
  static void forget(MPI_Comm handle, std::uint64_t context);
  /// For what outlives the call that begins it: until `release` the communicator stays, also when it is freed.
  static void hold(communicator& comm) { ++comm.users; }
  static void release(communicator& comm) {
    if (--comm.users == 0 && comm.is_freed) [[unlikely]]
      end(comm);
  }

 private:
  static communicator* find_among_all(MPI_Comm handle);
  static void end(communicator& comm);
  static inline communicator* last_ = nullptr;  // the most recently used one
};

}  // namespace tri::mpi
