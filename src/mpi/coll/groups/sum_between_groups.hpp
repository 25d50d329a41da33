// A reduction of an inter-communicator: each rank that gets a result combines what the ranks of the other group send,
// in the order of these. Contributions are received side by side, so that none of their senders waits for a rank that
// computes, or is in the library. Where they are many MiB, as many as fit, and then others, in every wait and poll of
// the program.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "mpi/coll/collective_operation.hpp"
#include "mpi/coll/completion.hpp"
#include "mpi/comm/communicators.hpp"
#include "mpi/p2p/nonblocking_operation.hpp"
#include "mpi/startup/session.hpp"

namespace tri::mpi::collectives {

/// The part of one rank. All contributions have the same count and type.
struct part_of_sum {
  elements contribution;  ///< where this rank sends nothing, count and type only
  int first_receiver = 0;
  int receivers = 0;  ///< so many ranks of the other group get the contribution
  bool gets_sum = false;
  elements sum;                ///< all elements of it, or some,
  MPI_Count first_of_sum = 0;  ///< from this one on
  MPI_Op operation = MPI_OP_NULL;
};

class sum_between_groups final : public nonblocking_operation {
 public:
  /// `most_bytes` are received side by side.
  sum_between_groups(session& in, communicator& comm, const operation_identity& identity, const part_of_sum& own,
                     std::size_t most_bytes);
  ~sum_between_groups() override;

  bool is_done(session& in) override;
  int finish(session& in) override;
  bool asks_library() const override { return comm_.may_cross_hosts(any_source); }

 private:
  // Of ranks whose numbers are a multiple of the number of slots apart, one after the other.
  struct slot {
    std::optional<scratch_elements> room;
    std::optional<operation> arriving;
  };
  static bool advance_all(bool before_sleep);
  bool advance();
  std::size_t count_slots(std::size_t most_bytes) const;
  slot& slot_of(int rank) { return slots_[static_cast<std::size_t>(last_ - rank) % slots_.size()]; }
  bool is_received_as_sum(int rank) const { return rank == last_ && own_.sum.count == own_.contribution.count; }
  void begin_receive(int rank);
  void combine(int rank);

  session& in_;
  communicator& comm_;
  const operation_identity identity_;
  const part_of_sum own_;
  const int last_;  // rank of the other group; its contribution is the first to be combined
  int next_;        // to be combined; less than 0: all are
  int error_ = MPI_SUCCESS;
  std::vector<slot> slots_;
  operation sends_;
};

/// Waits for it, or leaves it behind a request.
int run_sum_between_groups(session& in, communicator& comm, const completion& how, const part_of_sum& own);

}  // namespace tri::mpi::collectives
