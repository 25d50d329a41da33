// Collective operations of the ranks of one host that run a plan (src/coll): in shared memory, without messages.
// Blocking and nonblocking ones are the same. A rank does its steps in every wait and poll of its program; ranks that
// wait and have nothing else to do take the steps of those that compute, or are in the MPI library.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "coll/algorithms.hpp"
#include "coll/plan_run.hpp"
#include "coll/request.hpp"
#include "mpi/comm/communicators.hpp"
#include "mpi/datatypes/datatypes.hpp"
#include "mpi/p2p/nonblocking_operation.hpp"
#include "mpi/startup/session.hpp"

namespace tri::mpi::collectives {

/// Elements that a plan can split a vector into.
inline bool has_plain_elements(const buffer_type& type) {
  return type.is_plain && type.bytes > 0 && type.bytes <= std::numeric_limits<std::uint32_t>::max();
}

/// The same on all ranks but for the addresses. Elements are plain: contiguous, without gaps.
struct planned_request {
  coll::collective what = coll::collective::barrier;
  const char* algorithm = "multi_object";
  const void* from = nullptr;  // or MPI_IN_PLACE
  void* to = nullptr;
  coll::block_layout blocks;  // in elements
  MPI_Datatype type = MPI_BYTE;
  std::size_t element_bytes = 1;
  MPI_Op operation = MPI_OP_NULL;
  int root = 0;
};

class planned_collective final : public nonblocking_operation, public coll::plan_driver {
 public:
  /// Null: the communicator has no memory for plans, which all its ranks find alike.
  static std::unique_ptr<planned_collective> begin(session& in, communicator& comm, const planned_request& asked);
  ~planned_collective() override;

  bool is_done(session& in) override;
  int finish(session& in) override;

 private:
  planned_collective(session& in, communicator& comm, coll::operation_table& shared, const planned_request& asked);
  static coll::request request_of(const communicator& comm, const planned_request& asked);
  static bool advance_all(bool before_sleep);
  bool advance(bool before_sleep);

  void* allocate_record(std::size_t bytes) override;
  void release_record(void* memory) override;
  bool open(buffers& own) override;
  void close() override;
  void release(const buffers& of_member) override;
  void copy(const std::byte* from, std::byte* to, std::uint64_t bytes) override;
  void reduce(coll::step_kind side, const std::byte* from, std::byte* to, std::uint64_t bytes) override;
  void begin_message(std::uint32_t index, const coll::step& message, std::byte* at) override;
  coll::message_state test_message(std::uint32_t index) override;
  const coll::plan* plan_of(std::int32_t rank) override;
  void wake_others() override;
  void reduce_local(const std::byte* left, std::byte* sum, std::uint64_t bytes) const;

  session& in_;
  communicator& comm_;
  planned_request asked_;
  coll::request request_;
  std::shared_ptr<const coll::plan> plan_;
  const bool calls_library_;  // or the program's function: not on a thread that neither knows
  std::vector<std::shared_ptr<const coll::plan>> plans_of_others_;  // by rank; those that were asked for
  int idle_ = 0;                                                    // calls in a row that found nothing to do
  std::byte* staged_output_ = nullptr;                              // of an output that other ranks cannot access
  std::unique_ptr<coll::plan_run> run_;
};

/// Waits for it. `pass_through` where it could not begin.
int run_planned(session& in, communicator& comm, const planned_request& asked);

/// By the last member that leaves the communicator.
void release_plan_memory(session& in, const communicator& comm);

}  // namespace tri::mpi::collectives
