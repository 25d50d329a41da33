// Receives on a communicator that spans hosts whose message may come from another one. Messages of this host are
// matched by the engine, those of others by the MPI library; a receive from any source takes the first from either.
//
// Such a receive is posted in the engine, and the library is asked for arrived messages by matched probes. One that it
// has is given to the first receive that matches, if its part in the engine can still be cancelled. Otherwise that
// receive has got a message of this host, and the next one is asked. A message that none takes stays
// unclaimed here: it comes before all that the library still has.
//
// A later receive from one rank of another host must not get what an earlier one may take: while they overlap, it waits
// behind it; otherwise the library matches it alone.
//
// With the call guard. Every wait and poll of the rank asks the library for all of them (`advance_all`).
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

  /// Of any communicator: then the rank must not block inside the library.
  static bool are_open() { return !all_waiting_.empty(); }
  bool has_waiting() const { return !waiting_.empty(); }
  /// The library must not match it by itself.
  bool must_wait(const receive_pattern& pattern) const;

  /// A message from another host that no open receive takes, and that this pattern does. It stays where it is.
  bool find(session& in, const receive_pattern& pattern, MPI_Status& found);
  /// The same, taken out for one receive.
  bool take(session& in, const receive_pattern& pattern, MPI_Message& message, MPI_Status& found);

 private:
  friend class receive_across_hosts;
  struct arrived {
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status{};
    bool is_for(const receive_pattern& pattern) const { return pattern.takes(status.MPI_SOURCE, status.MPI_TAG); }
  };

  void add(session& in, receive_across_hosts& one);
  void remove(const receive_across_hosts& one);
  void ask_library(session& in);
  bool take_next(session& in, int source);
  bool has_unclaimed(session& in, const receive_pattern& pattern);
  void give(session& in, const arrived& one);
  std::vector<arrived>::iterator find_unclaimed(const receive_pattern& pattern);
  static bool advance_all(bool before_sleep);

  MPI_Comm comm_;
  std::vector<receive_across_hosts*> waiting_;  // the oldest first
  std::vector<arrived> unclaimed_;              // likewise
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
  void receive(const receives_across_hosts::arrived& one);
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

/// Starts a send or a receive of the library, in the mode of the arguments.
MPI_Request begin_in_library(const transfer_arguments& arguments);

}  // namespace tri::mpi
