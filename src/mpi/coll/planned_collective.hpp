// Collective operations that run a plan (src/coll): inside a host in shared memory, between hosts by messages in the
// communicator's second context. Blocking and nonblocking ones are the same. A rank does its steps in every wait and
// poll of its program; ranks that wait and have nothing else to do take the steps of those that compute, or are in the
// MPI library. Each rank begins its own messages, and others that wait move the data of large ones (src/mpi/internode).
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "coll/algorithms.hpp"
#include "coll/plan_run.hpp"
#include "coll/request.hpp"
#include "mpi/coll/completion.hpp"
#include "mpi/comm/communicators.hpp"
#include "mpi/datatypes/datatypes.hpp"
#include "mpi/p2p/nonblocking_operation.hpp"
#include "mpi/p2p/requests.hpp"
#include "mpi/startup/session.hpp"

namespace tri::mpi::collectives {

/// Contiguous elements of some bytes.
inline bool has_plain_elements(const buffer_type& type) {
  return type.is_plain && type.bytes > 0 && type.bytes <= std::numeric_limits<std::uint32_t>::max();
}

/// The elements of a reduction, into which its plan splits vectors. Those with gaps are staged as far apart as in the
/// program's buffers, because its operation expects them so; what lies in the gaps there stays as it is.
struct element_form {
  std::size_t bytes = 1;  ///< from one to the next
  MPI_Aint lower = 0;     ///< where the first one begins, seen from the address that MPI has
  bool has_gaps = false;

  /// None: elements reach into each other, or lie backwards.
  static std::optional<element_form> of(MPI_Datatype type);
};

/// A user's buffer of a type with gaps: packed into memory of ours, or unpacked from there. Without a type: there is
/// none.
struct packed_buffer {
  MPI_Count count = 0;
  buffer_type type;
  std::shared_ptr<void> kept = {};  // what the type needs, if it is the library's alone
  bool is_needed() const { return type.handle != MPI_DATATYPE_NULL; }
};

/// The same on all ranks but for the buffers.
struct planned_request {
  coll::collective what = coll::collective::barrier;
  const char* algorithm = "multi_object";
  const void* from = nullptr;  // or MPI_IN_PLACE
  void* to = nullptr;
  coll::block_layout blocks;  // in elements
  MPI_Datatype type = MPI_BYTE;
  element_form elements;
  MPI_Op operation = MPI_OP_NULL;
  int root = 0;
  bool all_alike = true;      ///< all ranks of an allreduce are in place, or none
  bool drops_output = false;  ///< this rank does not want its output, and has no buffer for it
  packed_buffer packed_from;
  packed_buffer packed_to;

  /// For reductions of elements that have a form.
  static planned_request of_elements(coll::collective what, const char* algorithm, const void* from, void* to,
                                     coll::block_layout blocks, MPI_Datatype type, MPI_Op operation, int root = 0);
};

class planned_collective final : public nonblocking_operation, public coll::plan_driver {
 public:
  /// Null: the communicator has no memory for plans, which all its ranks find alike.
  static std::unique_ptr<planned_collective> begin(session& in, communicator& comm, const operation_identity& identity,
                                                   const planned_request& asked);
  ~planned_collective() override;

  bool is_done(session& in) override;
  int finish(session& in) override;
  bool asks_library() const override { return comm_.spans_hosts(); }

 private:
  struct message_of_plan {
    transfer_arguments arguments;
    transfer under_way;
    bool is_lost = false;
  };

  planned_collective(session& in, communicator& comm, coll::operation_table& shared, const operation_identity& identity,
                     const planned_request& asked);
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
  void decline_message(std::uint32_t index, const coll::step& message) override;
  coll::message_state test_message(std::uint32_t index) override;
  const coll::plan* plan_of(std::int32_t rank) override;
  void wake_others() override;
  void begin_transfer(std::uint32_t index, const coll::step& message, std::byte* at, std::uint64_t bytes);
  bool is_packed(const packed_buffer& of) const { return of.is_needed() || asked_.elements.has_gaps; }
  void stage_input(const void* from, std::byte* to, std::uint64_t bytes) const;
  void unstage_output(const std::byte* from, void* to, std::uint64_t bytes) const;
  void reduce_local(const std::byte* left, std::byte* sum, std::uint64_t bytes) const;

  session& in_;
  communicator& comm_;
  planned_request asked_;
  coll::request request_;
  std::shared_ptr<const coll::plan> plan_;
  const bool calls_library_;  // or the program's function: not on a thread that neither knows
  const operation_identity identity_;
  std::vector<std::shared_ptr<const coll::plan>> plans_of_others_;  // by rank; those that were asked for
  int idle_ = 0;                                                    // calls in a row that found nothing to do
  std::byte* staged_output_ = nullptr;                              // of an output that other ranks cannot access
  std::unique_ptr<coll::plan_run> run_;
  std::unordered_map<std::uint32_t, message_of_plan> messages_;  // by step
  std::byte empty_{};                                            // of messages without bytes
};

/// Plans one after the other, each an operation of its own. The next one begins as soon as the one before has ended,
/// also while the program waits for something else.
class plan_sequence {
 public:
  /// `identities`: of the plans; all members have counted them. The constructor of what is derived calls advance().
  plan_sequence(session& in, communicator& comm, std::vector<operation_identity> identities);
  virtual ~plan_sequence();
  plan_sequence(const plan_sequence&) = delete;
  plan_sequence& operator=(const plan_sequence&) = delete;

  /// True: all have ended, or one has failed.
  bool advance();
  int error() const { return error_; }

 protected:
  /// Nothing: it cannot be run.
  virtual std::optional<planned_request> plan_of(std::size_t index) = 0;
  virtual void plan_ended(std::size_t index) = 0;
  session& in() const { return in_; }
  communicator& comm() const { return comm_; }

 private:
  void begin_next();
  coll::operation_table* table_for(const operation_identity& identity) const;

  session& in_;
  communicator& comm_;
  const std::vector<operation_identity> identities_;
  std::size_t ended_ = 0;
  int error_ = MPI_SUCCESS;
  bool has_begun_ = false;
  bool is_advancing_ = false;  // a step of a plan may look after all others
  std::unique_ptr<planned_collective> plan_;
};

/// Waits for it, or leaves it behind a request. `pass_through` where it could not begin.
int run_planned(session& in, communicator& comm, const completion& how, const planned_request& asked);

/// Of a communicator that spans hosts: before it is used. False: there is none.
bool reserve_plan_memory(session& in, shm_collective& shared);
/// By the last member that leaves the communicator.
void release_plan_memory(session& in, const communicator& comm);

}  // namespace tri::mpi::collectives
