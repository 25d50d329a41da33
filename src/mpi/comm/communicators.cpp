#include "mpi/comm/communicators.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <unordered_map>

#include "mpi/abi/abi.hpp"
#include "mpi/coll/collectives.hpp"
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
  return (static_cast<std::uint64_t>(in.world_rank()) + 1) << 32 | (++contexts_given << 2);
}

// What the first member sends to the others.
struct agreement {
  std::uint64_t context = 0;
  std::uint64_t barrier = 0;  // an address
};

// This rank has no operation pending on it any more; others may.
void leave(const communicator& comm) {
  if (comm.barrier == nullptr || !comm.barrier->leave_for_good()) return;
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
void remember(std::unique_ptr<communicator> made) {
  const MPI_Comm handle = made->handle;
  // A handle that the library reuses has been freed, but the freeing thread has not recorded it yet.
  if (const communicator* const before = communicators::find_any(handle))
    communicators::forget(handle, before->context);
  known[abi::word(handle)] = std::move(made);
}
void remember(MPI_Comm handle, int rank, std::vector<std::uint32_t> number_of, const agreement& agreed) {
  if (agreed.barrier == 0) return;
  auto made = std::make_unique<communicator>();
  made->handle = handle;
  made->rank = rank;
  made->number_of = std::move(number_of);
  made->context = agreed.context;
  made->barrier = reinterpret_cast<shm_collective*>(agreed.barrier);
  remember(std::move(made));
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

// Of the members of a communicator that spans hosts: those of each host have a barrier there. The communicator is the
// library's for all where one of them has none.
class agreement_across_hosts {
 public:
  // With the call guard.
  agreement_across_hosts(session& in, int rank, std::vector<std::uint32_t> number_of, std::vector<int> world_of)
      : rank_(rank), number_of_(std::move(number_of)), world_of_(std::move(world_of)), all_(number_of_.size(), mine_) {
    const auto is_here = [](std::uint32_t number) { return number != on_another_host; };
    first_here_ = static_cast<std::size_t>(std::ranges::find_if(number_of_, is_here) - number_of_.begin());
    if (is_first_here())
      mine_ = new_agreement(in, static_cast<std::size_t>(std::ranges::count_if(number_of_, is_here)));
    if (mine_.barrier > 1 && !collectives::reserve_plan_memory(in, *reinterpret_cast<shm_collective*>(mine_.barrier))) {
      in.ranks().blocks().release(reinterpret_cast<void*>(mine_.barrier));
      mine_.barrier = 0;
    }
  }
  // Each member gives its part, and gets those of all.
  template <class Gather>
  int gather(Gather&& library) {
    return library(&mine_, static_cast<int>(sizeof mine_), MPI_BYTE, all_.data(), static_cast<int>(sizeof mine_),
                   MPI_BYTE);
  }
  // The same by messages on a communicator of these members.
  void begin_broadcasts(collectives::operation& by, const communicator& comm) {
    all_[static_cast<std::size_t>(rank_)] = mine_;
    collectives::begin_broadcasts_of_hosts(by, comm, std::as_writable_bytes(std::span(all_)));
  }
  // The same for all members.
  bool is_made() const { return std::ranges::find(all_, std::uint64_t{0}, &agreement::barrier) == all_.end(); }
  // With the call guard.
  void remember(MPI_Comm handle, std::shared_ptr<const communicator_hosts> hosts) {
    mpi::remember(handle, rank_, std::move(number_of_), {all_[0].context, all_[first_here_].barrier});
    communicator& made = *communicators::find(handle);
    made.world_of = std::move(world_of_);
    made.hosts = std::move(hosts);
  }
  void give_up(session& in) const {
    if (!is_first_here() || mine_.barrier == 0) return;
    auto* const barrier = reinterpret_cast<shm_collective*>(mine_.barrier);
    in.ranks().blocks().release(barrier->plan_memory());
    in.ranks().blocks().release(barrier);
  }

 private:
  bool is_first_here() const { return static_cast<std::size_t>(rank_) == first_here_; }

  int rank_;
  std::vector<std::uint32_t> number_of_;
  std::vector<int> world_of_;
  std::size_t first_here_ = 0;
  agreement mine_{0, 1};  // of the others of a host: anything but no barrier
  std::vector<agreement> all_;
};

void agree_across_hosts(session& in, MPI_Comm handle, std::vector<std::uint32_t> number_of, std::vector<int> world_of) {
  std::vector<int> host_of;
  for (const int each : world_of) host_of.push_back(in.hosts().host_of[static_cast<std::size_t>(each)]);
  int rank = 0;
  PMPI_Comm_rank(handle, &rank);
  auto hosts = std::make_shared<communicator_hosts>(find_communicator_hosts(host_of, rank));
  std::optional<agreement_across_hosts> agreeing;
  {
    const call_guard guard(in);
    agreeing.emplace(in, rank, std::move(number_of), std::move(world_of));
  }
  agreeing->gather([&](auto... arguments) { return PMPI_Allgather(arguments..., handle); });
  if (!agreeing->is_made()) {
    const call_guard guard(in);
    return agreeing->give_up(in);
  }
  const call_guard guard(in);
  agreeing->remember(handle, std::move(hosts));
}

// A duplication in progress of a communicator that spans hosts: the library's part, and the agreement by messages of
// one round on the original.
class duplication_across_hosts final : public nonblocking_operation {
 public:
  duplication_across_hosts(session& in, communicator& of, MPI_Comm made, MPI_Request library, touch_order touched)
      : agreeing_(in, of.rank, of.number_of, of.world_of),
        broadcasts_(in, of),
        made_(made),
        library_(library),
        touched_(touched),
        hosts_(of.hosts) {
    agreeing_.begin_broadcasts(broadcasts_, of);
  }
  bool is_done(session& in) override { return broadcasts_.is_done(in) && is_done_in_library(library_); }
  int finish(session& in) override {
    const int error_of_messages = broadcasts_.finish(in);
    const int error = PMPI_Wait(&library_, MPI_STATUS_IGNORE);
    if (error != MPI_SUCCESS) return error;
    if (error_of_messages == MPI_SUCCESS && agreeing_.is_made()) {
      agreeing_.remember(made_, hosts_);
      communicators::find(made_)->touched = touched_;
    } else {
      agreeing_.give_up(in);
    }
    return error;
  }
  bool asks_library() const override { return true; }

 private:
  agreement_across_hosts agreeing_;
  collectives::operation broadcasts_;  // destroyed before what it writes to
  MPI_Comm made_;
  MPI_Request library_;
  touch_order touched_;
  std::shared_ptr<const communicator_hosts> hosts_;
};

void add_members(session& in, MPI_Comm handle, std::span<const int> world_ranks) {
  std::vector<std::uint32_t> number_of;
  number_of.reserve(world_ranks.size());
  for (const int each : world_ranks) number_of.push_back(in.number_of(each));
  if (std::ranges::find(number_of, on_another_host) == number_of.end())
    return agree_and_remember(in, handle, std::move(number_of),
                              [&](agreement& agreed) { PMPI_Bcast(&agreed, sizeof agreed, MPI_BYTE, 0, handle); });
  agree_across_hosts(in, handle, std::move(number_of), {world_ranks.begin(), world_ranks.end()});
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

// Frees the group.
std::vector<int> world_ranks_of(const session& in, MPI_Group group) {
  int size = 0;
  PMPI_Group_size(group, &size);
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<int> in_world(ranks.size());
  PMPI_Group_translate_ranks(group, size, ranks.data(), in.world_group(), in_world.data());
  PMPI_Group_free(&group);
  return in_world;
}

// Processes that were started later are in no group of ours. All members see the same, of both groups.
bool are_of_job(const std::vector<int>& world_ranks) {
  return !world_ranks.empty() && std::ranges::find(world_ranks, MPI_UNDEFINED) == world_ranks.end();
}

void add_inter(session& in, MPI_Comm handle) {
  MPI_Group own_group = MPI_GROUP_NULL, remote_group = MPI_GROUP_NULL;
  PMPI_Comm_group(handle, &own_group);
  PMPI_Comm_remote_group(handle, &remote_group);
  const std::vector<int> own = world_ranks_of(in, own_group);
  std::vector<int> remote = world_ranks_of(in, remote_group);
  if (!are_of_job(own) || !are_of_job(remote)) return;
  auto made = std::make_unique<communicator>();
  made->handle = handle;
  PMPI_Comm_rank(handle, &made->rank);
  made->own_group_size = static_cast<int>(own.size());
  for (const int each : remote) made->number_of.push_back(in.number_of(each));
  // One group's first member gives the context to the other group, whose first member tells the rest of the one.
  const bool gives = own[0] < remote[0];
  if (gives && made->rank == 0) {
    const call_guard guard(in);
    made->context = next_context(in);
  }
  const int own_root = made->rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
  for (const bool tells : {gives, !gives})
    PMPI_Bcast(&made->context, sizeof made->context, MPI_BYTE, tells ? own_root : 0, handle);
  if (std::ranges::find(made->number_of, on_another_host) != made->number_of.end()) made->world_of = std::move(remote);
  const call_guard guard(in);
  remember(std::move(made));
}

}  // namespace

communicator* communicators::find_among_all(MPI_Comm handle) {
  const auto found = known.find(abi::word(handle));
  if (found == known.end()) return nullptr;
  return last_ = found->second.get();
}

void communicators::add_predefined(session& in, const bootstrap_exchange& bootstrap) {
  std::vector<int> everybody(static_cast<std::size_t>(in.world_size()));
  std::iota(everybody.begin(), everybody.end(), 0);
  if (in.hosts().are_several()) {
    add_members(in, MPI_COMM_WORLD, everybody);
  } else {
    std::vector<std::uint32_t> numbers;
    for (const int rank : everybody) numbers.push_back(in.number_of(rank));
    agree_and_remember(in, MPI_COMM_WORLD, std::move(numbers),
                       [&](agreement& agreed) { bootstrap.tell(std::as_writable_bytes(std::span(&agreed, 1))); });
  }
  agree_and_remember(in, MPI_COMM_SELF, {in.number_of(in.world_rank())}, [](agreement&) {});
}

void communicators::add(MPI_Comm made) {
  session* const in = session::active();
  if (in == nullptr || made == MPI_COMM_NULL) return;
  int is_inter = 0;
  PMPI_Comm_test_inter(made, &is_inter);
  if (is_inter != 0) return add_inter(*in, made);
  MPI_Group group = MPI_GROUP_NULL;
  PMPI_Comm_group(made, &group);
  const std::vector<int> members = world_ranks_of(*in, group);
  if (are_of_job(members)) add_members(*in, made, members);
}

std::unique_ptr<nonblocking_operation> communicators::begin_duplicate(session& in, communicator& of, MPI_Comm made,
                                                                      MPI_Request library, touch_order touched) {
  if (of.spans_hosts()) return std::make_unique<duplication_across_hosts>(in, of, made, library, touched);
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
