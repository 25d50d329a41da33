// Receives on a communicator that spans hosts whose message may come from another one. Messages of this host are
// matched by the engine, those of others by the MPI library; a receive from any source takes the first from either.
//
// Such a receive is posted in the engine, and the library is probed for it. When the library has a message, the receive
// is withdrawn from the engine, and then takes that message out of the library. Where it cannot be withdrawn it has got
// a message of this host, and the library's stays where it is.
//
// A later receive from one rank of another host must not get what an earlier one may take: while they overlap, it waits
// behind it; otherwise the library matches it alone.
//
// With the call guard. Every wait and poll of the rank probes for all of them (`advance_all`).
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "mpi/p2p/nonblocking_operation.hpp"
#include "mpi/p2p/requests.hpp"

namespace tri::mpi {

class receive_across_hosts;

/// What a receive or a probe may take, in MPI's numbers.
struct receive_pattern {
  int source = MPI_ANY_SOURCE;
  int tag = MPI_ANY_TAG;

  bool takes(int from, int with) const {
    return (source == MPI_ANY_SOURCE || source == from) && (tag == MPI_ANY_TAG || tag == with);
  }
  bool operator==(const receive_pattern&) const = default;
  bool overlaps(const receive_pattern& other) const {
    return (source == MPI_ANY_SOURCE || other.source == MPI_ANY_SOURCE || source == other.source) &&
           (tag == MPI_ANY_TAG || other.tag == MPI_ANY_TAG || tag == other.tag);
  }
};

/// Of one communicator.
class receives_across_hosts {
 public:
  explicit receives_across_hosts(MPI_Comm comm) : comm_(comm) {}
  ~receives_across_hosts();
  receives_across_hosts(const receives_across_hosts&) = delete;
  receives_across_hosts& operator=(const receives_across_hosts&) = delete;

  bool has_waiting() const { return !waiting_.empty(); }
  /// Gives the receives that wait what has come for them. Whether there was something.
  bool serve(session& in);
  /// The library must not match it by itself.
  bool must_wait(const receive_pattern& pattern) const;

  /// A message from another host that no open receive takes, and that this pattern does. It stays where it is.
  bool find(session& in, const receive_pattern& pattern, MPI_Status& found);
  /// The same, taken out for one receive.
  bool take(session& in, const receive_pattern& pattern, MPI_Message& message, MPI_Status& found);

 private:
  friend class receive_across_hosts;
  void add(session& in, receive_across_hosts& one);
  void remove(const receive_across_hosts& one);
  bool probe(const receive_pattern& pattern, MPI_Status& found) const;
  bool is_first_taker(std::size_t index, const MPI_Status& message) const;
  bool is_probed_before(std::size_t index) const;
  static bool advance_all(bool before_sleep);

  MPI_Comm comm_;
  std::vector<receive_across_hosts*> waiting_;  // the oldest first
  static inline std::vector<receives_across_hosts*> all_waiting_;
  static inline unsigned steps_ = 0;
};

class receive_across_hosts final : public nonblocking_operation {
 public:
  /// From any source, or from a rank of another host behind others.
  receive_across_hosts(session& in, communicator& comm, const transfer_arguments& arguments);
  ~receive_across_hosts() override;

  bool is_done(session& in) override;
  int finish(session& in) override;
  void set_status(MPI_Status* status) const override;
  bool asks_library() const override { return true; }
  void cancel(session& in) override;

 private:
  friend class receives_across_hosts;
  enum class state { waiting, has_local, from_library, cancelled, finished };

  receive_pattern pattern() const;
  bool has_local_message(session& in);
  bool withdraw_here(session& in);
  bool receive(session& in, const MPI_Status& message);
  void finish_from_library(int& error);

  session& in_;
  communicator& comm_;
  transfer_arguments arguments_;
  state state_ = state::waiting;
  transfer here_;  // from any source: as a receive of this host's messages
  MPI_Request library_ = MPI_REQUEST_NULL;
  std::vector<std::byte> staged_;  // bytes of a type with gaps, or of a message that is too long
  std::size_t bytes_ = 0;          // of the library's message
  MPI_Status status_{};
};

/// Starts a send or a receive of the library, in the mode of the arguments. What the library returns.
int begin_in_library(const transfer_arguments& arguments, MPI_Request& request);

}  // namespace tri::mpi
