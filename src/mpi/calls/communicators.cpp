#include "mpi/calls/communicators.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <unordered_map>

#include "mpi/calls/abi.hpp"
#include "mpi/calls/session.hpp"

namespace tri::mpi {
namespace {

std::unordered_map<std::uint64_t, std::unique_ptr<communicator>> known;
communicator* last = nullptr;
std::uint32_t contexts_given = 0;

// The first member of a new communicator gives it a number that nobody else gives: its own rank in the upper half.
std::uint64_t next_context(const session& in) {
  return (static_cast<std::uint64_t>(in.world_rank()) + 1) << 32 | (++contexts_given << 1);
}

constexpr std::uint64_t world_context = 2;
constexpr std::uint64_t self_context = 4;  // nobody else sees it

communicator& remember(MPI_Comm handle, std::uint64_t context) {
  auto made = std::make_unique<communicator>();
  made->handle = handle;
  made->context = context;
  PMPI_Comm_rank(handle, &made->rank);
  communicator& result = *made;
  known[abi::word(handle)] = std::move(made);
  last = nullptr;
  return result;
}

}  // namespace

communicator* communicators::find(MPI_Comm handle) {
  if (last != nullptr && last->handle == handle) return last;
  const auto found = known.find(abi::word(handle));
  if (found == known.end()) return nullptr;
  return last = found->second.get();
}

void communicators::add_predefined(session& in) {
  communicator& world = remember(MPI_COMM_WORLD, world_context);
  for (int rank = 0; rank < in.world_size(); ++rank) world.number_of.push_back(in.number_of(rank));
  communicator& self = remember(MPI_COMM_SELF, self_context);
  self.number_of.push_back(in.number_of(in.world_rank()));
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
  std::uint64_t context = next_context(*in);
  PMPI_Bcast(&context, 1, MPI_UINT64_T, 0, made);
  communicator& added = remember(made, context);
  for (const int rank : in_world) added.number_of.push_back(in->number_of(rank));
}

void communicators::forget(MPI_Comm handle) {
  known.erase(abi::word(handle));
  last = nullptr;
}

}  // namespace tri::mpi
