#include "mpi/comm/communicators.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <unordered_map>

#include "mpi/abi/abi.hpp"
#include "mpi/coll/collective_operation.hpp"
#include "mpi/coll/planned_collective.hpp"
#include "mpi/engine/shm_collective.hpp"
#include "mpi/startup/bootstrap_exchange.hpp"
#include "mpi/startup/session.hpp"
#include "trireme/detail/arena/allocate.hpp"

namespace tri::mpi {
namespace {

std::unordered_map<std::uint64_t, std::unique_ptr<communicator>> known;
std::vector<std::unique_ptr<communicator>> freed;  // whose requests are still in use
std::uint32_t contexts_given = 0;

// The first member of a new communicator gives it a unique number: its own rank in the upper half.
std::uint64_t next_context(const session& in) {
  return (static_cast<std::uint64_t>(in.world_rank()) + 1) << 32 | (++contexts_given << 1);
}

// What the first member sends to the others.
struct agreement {
  std::uint64_t context = 0;
  std::uint64_t barrier = 0;  // an address
};

// This rank has no operation pending on it any more; others may.
void leave(const communicator& comm) {
  if (!comm.barrier->leave_for_good()) return;
  session& in = *session::active();
  collectives::release_plan_memory(in, comm);
  in.ranks().blocks().release(comm.barrier);
}

// Without a shared barrier the communicator is the library's, for all of them.
agreement new_agreement(session& in, std::size_t members) {
  const auto count = static_cast<std::uint32_t>(members);
  try {
    void* const memory = in.ranks().blocks().allocate(shm_collective::size_for(count));
    return {next_context(in), reinterpret_cast<std::uint64_t>(shm_collective::create(memory, count))};
  } catch (const arena::arena_exhausted&) {
    return {};
  }
}

// With the call guard.
void remember(MPI_Comm handle, int rank, std::vector<std::uint32_t> number_of, const agreement& agreed) {
  if (agreed.barrier == 0) return;
  auto made = std::make_unique<communicator>();
  made->handle = handle;
  made->rank = rank;
  made->number_of = std::move(number_of);
  made->context = agreed.context;
  made->barrier = reinterpret_cast<shm_collective*>(agreed.barrier);
  // A handle that the library reuses has been freed, but the freeing thread has not recorded it yet.
  if (const communicator* const before = communicators::find(handle)) communicators::forget(handle, before->context);
  known[abi::word(handle)] = std::move(made);
}

// Collective over the members; `tell` broadcasts the first one's data to all.
template <typename Tell>
void agree_and_remember(session& in, MPI_Comm handle, std::vector<std::uint32_t> number_of, Tell&& tell) {
  int rank = 0;
  PMPI_Comm_rank(handle, &rank);
  agreement agreed;
  if (rank == 0) {
    const call_guard guard(in);
    agreed = new_agreement(in, number_of.size());
  }
  tell(agreed);
  const call_guard guard(in);
  remember(handle, rank, std::move(number_of), agreed);
}

// A duplication in progress: the library's part, and the agreement of the original's members by messages on it. No rank
// has to call for the others to complete theirs.
class duplication final : public nonblocking_operation {
 public:
  duplication(session& in, communicator& of, MPI_Comm made, MPI_Request library, touch_order touched)
      : agreeing_(in, of), made_(made), library_(library), touched_(touched), rank_(of.rank), number_of_(of.number_of) {
    const collectives::elements message{&agreed_, sizeof agreed_, MPI_BYTE};
    if (rank_ == 0) {
      agreed_ = new_agreement(in, number_of_.size());
      for (int rank = 1; rank < of.size(); ++rank) agreeing_.begin_send(message, rank);
    } else {
      agreeing_.begin_receive(message, 0);
    }
  }
  bool is_done(session& in) override { return agreeing_.is_done(in) && is_done_in_library(library_); }
  int finish(session& in) override {
    agreeing_.finish(in);
    const int error = PMPI_Wait(&library_, MPI_STATUS_IGNORE);
    if (error != MPI_SUCCESS) return error;
    remember(made_, rank_, std::move(number_of_), agreed_);
    if (communicator* const ours = communicators::find(made_)) ours->touched = touched_;
    return error;
  }
  bool asks_library() const override { return true; }

 private:
  agreement agreed_;
  collectives::operation agreeing_;  // destroyed before what it writes to
  MPI_Comm made_;
  MPI_Request library_;
  touch_order touched_;
  int rank_;
  std::vector<std::uint32_t> number_of_;
};

}  // namespace

communicator* communicators::find_among_all(MPI_Comm handle) {
  const auto found = known.find(abi::word(handle));
  if (found == known.end()) return nullptr;
  return last_ = found->second.get();
}

void communicators::add_predefined(session& in, const bootstrap_exchange& bootstrap) {
  std::vector<std::uint32_t> everybody;
  everybody.reserve(static_cast<std::size_t>(in.world_size()));
  for (int rank = 0; rank < in.world_size(); ++rank) everybody.push_back(in.number_of(rank));
  agree_and_remember(in, MPI_COMM_WORLD, everybody,
                     [&](agreement& agreed) { bootstrap.tell(std::as_writable_bytes(std::span(&agreed, 1))); });
  agree_and_remember(in, MPI_COMM_SELF, {in.number_of(in.world_rank())}, [](agreement&) {});
}

void communicators::add(MPI_Comm made) {
  session* const in = session::active();
  if (in == nullptr || made == MPI_COMM_NULL) return;
  int is_inter = 0;
  PMPI_Comm_test_inter(made, &is_inter);
  if (is_inter != 0) return;
  int size = 0;
  PMPI_Comm_size(made, &size);
  MPI_Group group = MPI_GROUP_NULL;
  PMPI_Comm_group(made, &group);
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<int> in_world(ranks.size());
  PMPI_Group_translate_ranks(group, size, ranks.data(), in->world_group(), in_world.data());
  PMPI_Group_free(&group);
  // Processes that were started later are in no group of ours. All members see the same.
  if (std::find(in_world.begin(), in_world.end(), MPI_UNDEFINED) != in_world.end()) return;
  std::vector<std::uint32_t> number_of;
  number_of.reserve(in_world.size());
  for (const int rank : in_world) number_of.push_back(in->number_of(rank));
  agree_and_remember(*in, made, std::move(number_of),
                     [&](agreement& agreed) { PMPI_Bcast(&agreed, sizeof agreed, MPI_BYTE, 0, made); });
}

std::unique_ptr<nonblocking_operation> communicators::begin_duplicate(session& in, communicator& of, MPI_Comm made,
                                                                      MPI_Request library, touch_order touched) {
  return std::make_unique<duplication>(in, of, made, library, touched);
}

void communicators::forget(MPI_Comm handle, std::uint64_t context) {
  const auto found = known.find(abi::word(handle));
  if (found == known.end() || found->second->context != context) return;
  std::unique_ptr<communicator> comm = std::move(found->second);
  known.erase(found);
  last_ = nullptr;
  comm->is_freed = true;
  if (comm->users > 0)
    freed.push_back(std::move(comm));
  else
    leave(*comm);
}

// Freed by the program, and nothing uses it any more.
void communicators::end(communicator& comm) {
  leave(comm);
  std::erase_if(freed, [&](const std::unique_ptr<communicator>& each) { return each.get() == &comm; });
}

}  // namespace tri::mpi
