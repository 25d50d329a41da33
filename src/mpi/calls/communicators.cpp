#include "mpi/calls/communicators.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <unordered_map>

#include "mpi/calls/abi.hpp"
#include "mpi/calls/session.hpp"
#include "mpi/engine/meeting_place.hpp"

namespace tri::mpi {
namespace {

std::unordered_map<std::uint64_t, std::unique_ptr<communicator>> known;
std::vector<std::unique_ptr<communicator>> freed;  // whose requests are still in use
communicator* last = nullptr;
std::uint32_t contexts_given = 0;

// The first member of a new communicator gives it a number that nobody else gives: its own rank in the upper half.
std::uint64_t next_context(const session& in) {
  return (static_cast<std::uint64_t>(in.world_rank()) + 1) << 32 | (++contexts_given << 1);
}

// What the first member tells the others.
struct agreement {
  std::uint64_t context = 0;
  std::uint64_t meeting = 0;  // an address
};

// Collective over the members.
void agree_and_remember(session& in, MPI_Comm handle, std::vector<std::uint32_t> number_of) {
  auto made = std::make_unique<communicator>();
  made->handle = handle;
  made->number_of = std::move(number_of);
  PMPI_Comm_rank(handle, &made->rank);
  agreement agreed;
  if (made->rank == 0) {
    const call_guard guard(in);
    const auto members = static_cast<std::uint32_t>(made->size());
    try {
      void* const memory = in.ranks().blocks().allocate(meeting_place::size_for(members));
      agreed = {next_context(in), reinterpret_cast<std::uint64_t>(meeting_place::create(memory, members))};
    } catch (const arena::arena_exhausted&) {  // then the communicator is the library's, for all of them
    }
  }
  PMPI_Bcast(&agreed, sizeof agreed, MPI_BYTE, 0, handle);
  if (agreed.meeting == 0) return;
  made->context = agreed.context;
  made->meeting = reinterpret_cast<meeting_place*>(agreed.meeting);
  const call_guard guard(in);
  known[abi::word(handle)] = std::move(made);
  last = nullptr;
}

}  // namespace

communicator* communicators::find(MPI_Comm handle) {
  if (last != nullptr && last->handle == handle) return last;
  const auto found = known.find(abi::word(handle));
  if (found == known.end()) return nullptr;
  return last = found->second.get();
}

void communicators::add_predefined(session& in) {
  std::vector<std::uint32_t> everybody;
  everybody.reserve(static_cast<std::size_t>(in.world_size()));
  for (int rank = 0; rank < in.world_size(); ++rank) everybody.push_back(in.number_of(rank));
  agree_and_remember(in, MPI_COMM_WORLD, everybody);
  agree_and_remember(in, MPI_COMM_SELF, {in.number_of(in.world_rank())});
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
  agree_and_remember(*in, made, std::move(number_of));
}

void communicators::forget(MPI_Comm handle) {
  const auto found = known.find(abi::word(handle));
  if (found == known.end()) return;
  meeting_place* const meeting = found->second->meeting;
  if (meeting->leave_for_good()) session::active()->ranks().blocks().release(meeting);
  if (found->second->users > 0) {
    found->second->is_freed = true;
    freed.push_back(std::move(found->second));
  }
  known.erase(found);
  last = nullptr;
}

void communicators::let_go(communicator& comm) {
  if (--comm.users == 0 && comm.is_freed)
    std::erase_if(freed, [&](const std::unique_ptr<communicator>& each) { return each.get() == &comm; });
}

}  // namespace tri::mpi
