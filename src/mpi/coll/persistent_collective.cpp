#include "mpi/coll/persistent_collective.hpp"

#include <algorithm>
#include <atomic>
#include <new>
#include <span>
#include <utility>

#include "arena/block_cache.hpp"
#include "coll/operation_table.hpp"
#include "mpi/coll/collectives.hpp"
#include "mpi/datatypes/datatypes.hpp"
#include "mpi/datatypes/held_handles.hpp"
#include "mpi/engine/shm_collective.hpp"
#include "trireme/detail/arena/allocate.hpp"

namespace tri::mpi::collectives {

MPI_Datatype kept_types::operator()(MPI_Datatype type, bool matters) {
  if (matters && type != MPI_DATATYPE_NULL && datatypes::find(type).is_valid)
    kept_.push_back(held_handles::hold_type(type));
  return type;
}

const MPI_Datatype* kept_types::operator()(const MPI_Datatype* types, int count, bool matters) {
  if (!matters || types == nullptr) return types;
  auto copies = std::make_shared<std::vector<MPI_Datatype>>(types, types + count);
  for (const MPI_Datatype each : *copies) (*this)(each);
  kept_.push_back(copies);
  return copies->data();
}

MPI_Op kept_types::operation(MPI_Op of, bool matters) {
  if (matters) kept_.push_back(held_handles::hold_operation(of));
  return of;
}

// In the memory of the host, behind it a table with one place: a start waits until the one before has ended everywhere.
struct persistent_collective::shared_part {
  explicit shared_part(std::uint32_t all) : members(all) { coll::operation_table::create(this + 1, 1); }
  coll::operation_table& table() { return *std::launder(reinterpret_cast<coll::operation_table*>(this + 1)); }

  alignas(64) std::atomic<std::uint32_t> freed{0};  // by so many members
  const std::uint32_t members;                      // on this host
};

// The first member of a host makes it. Null on all members where one host has no memory.
persistent_collective::shared_part* persistent_collective::agree(session& in, communicator& comm) {
  const auto is_here = [](std::uint32_t number) { return number != on_another_host; };
  const auto first = static_cast<std::size_t>(std::ranges::find_if(comm.number_of, is_here) - comm.number_of.begin());
  std::uint64_t mine = 0;
  if (comm.rank == static_cast<int>(first)) {
    try {
      void* const memory = in.ranks().blocks().allocate(sizeof(shared_part) + coll::operation_table::size_for(1));
      const auto members = static_cast<std::uint32_t>(std::ranges::count_if(comm.number_of, is_here));
      mine = reinterpret_cast<std::uint64_t>(new (memory) shared_part(members));
    } catch (const arena::arena_exhausted&) {
      mine = 0;
    }
  }
  std::vector<std::uint64_t> all(comm.number_of.size(), 1);
  if (!comm.spans_hosts()) {
    all[0] = mine;
    broadcast(in, comm, {&all[0], sizeof all[0], MPI_BYTE}, 0);
  } else {
    if (comm.rank == static_cast<int>(first)) all[first] = mine;
    operation broadcasts(in, comm);
    begin_broadcasts_of_hosts(broadcasts, comm, std::as_writable_bytes(std::span(all)));
    if (broadcasts.wait() != MPI_SUCCESS) return nullptr;
  }
  const std::uint64_t agreed = all[first];
  if (std::ranges::find(all, std::uint64_t{0}) == all.end()) return reinterpret_cast<shared_part*>(agreed);
  if (comm.rank == static_cast<int>(first) && agreed != 0) in.ranks().blocks().release(reinterpret_cast<void*>(agreed));
  return nullptr;
}

int persistent_collective::make(session& in, communicator& comm, kept_types kept, call begins, MPI_Request* request) {
  persistent_start check{.identity = {}, .only_checks = true};
  const std::uint64_t collectives = comm.collectives;
  const int error = begins(in, comm, completion(check));
  // One whose arguments are wrong counts as the others do. The members of an inter-communicator agree on nothing.
  if (error == pass_through_alone) ++comm.persistent_collectives;
  if (comm.is_inter()) comm.collectives = collectives;
  if (error != MPI_SUCCESS) return error;
  const std::uint64_t made_before = comm.persistent_collectives++;
  const int rounds = comm.spans_hosts() ? comm.hosts->rounds() : 1;
  if (made_before >= static_cast<std::uint64_t>(operation_tags::most_persistent(rounds))) return pass_through;
  const auto number = static_cast<int>(made_before);
  shared_part* const shared = comm.is_inter() ? nullptr : agree(in, comm);
  if (shared == nullptr && !comm.is_inter()) return pass_through;
  *request = requests::add_persistent(comm, std::unique_ptr<persistent_operation>(new persistent_collective(
                                                in, comm, std::move(kept), std::move(begins), shared, number)));
  return MPI_SUCCESS;
}

persistent_collective::persistent_collective(session& in, communicator& comm, kept_types kept, call begins,
                                             shared_part* shared, int number)
    : in_(in), comm_(comm), kept_(std::move(kept)), begins_(std::move(begins)), shared_(shared) {
  identity_.tag = operation_tags::of_persistent(number);
  if (comm.spans_hosts())
    identity_.first_tag_of_plan = operation_tags::of_persistent_plan(number, comm.hosts->rounds());
  if (shared != nullptr) identity_.table = &shared->table();
}

// Its operation has ended. The last member's removes what they share.
persistent_collective::~persistent_collective() {
  if (shared_ == nullptr) return;
  const std::uint32_t members = shared_->members;  // before the count: after it, the last one may have released it
  // acq_rel: the last one sees that all others use it no more. pairs: persistent_collective.freed, with itself
  if (shared_->freed.fetch_add(1, std::memory_order_acq_rel) + 1 == members) in_.ranks().blocks().release(shared_);
}

int persistent_collective::start(session& in, std::unique_ptr<nonblocking_operation>& begun) {
  persistent_start one{.identity = identity_};
  ++identity_.number;
  const int error = begins_(in, comm_, completion(one));
  begun = std::move(one.begun);
  return error == pass_through ? MPI_ERR_OTHER : error;
}

}  // namespace tri::mpi::collectives
