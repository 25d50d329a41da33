#include "mpi/coll/hosts/entry_barriers.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <vector>

#include "mpi/coll/collectives.hpp"
#include "mpi/comm/error_handlers.hpp"

namespace tri::mpi::entry_barriers {
namespace {

using collectives::operation;
using collectives::operation_identity;

operation_identity identity_of(message_channel channel, int tag) { return {.tag = tag, .channel = channel}; }

// Calls on a window or a file and operations on its communicator have no common order, so its barriers have tags that
// nothing else has: less than 0, as tags of programs are not.
struct members {
  communicator* comm = nullptr;  // held: it may be freed before
  int number = 0;
  std::vector<std::unique_ptr<operation>> posts;  // of a window; until they have left

  operation_identity barrier() const { return identity_of(message_channel::entry_barrier, -1 - 2 * number); }
  operation_identity target_posts() const { return identity_of(message_channel::entry_barrier, -2 - 2 * number); }
};
constexpr std::uint64_t most_numbers = std::uint64_t{1} << 20;

std::map<MPI_Win, members> windows;
std::map<MPI_File, members> files;

session* of_several_hosts() {
  session* const in = session::active();
  return in != nullptr && in->hosts().are_several() ? in : nullptr;
}

template <class Handle>
void add_to(std::map<Handle, members>& all, Handle made, MPI_Comm comm, int number) {
  session* const in = of_several_hosts();
  if (in == nullptr) return;
  const call_guard guard(*in);
  communicator* const known = communicators::find(comm);
  if (known == nullptr || known->size() == 1) return;
  communicators::hold(*known);
  all[made] = {known, number, {}};
}

template <class Handle>
int barrier_of(std::map<Handle, members>& all, Handle handle) {
  session* const in = of_several_hosts();
  if (in == nullptr) return MPI_SUCCESS;
  const call_guard guard(*in);
  const auto found = all.find(handle);
  if (found == all.end()) return MPI_SUCCESS;
  return collectives::barrier_by_messages(*in, *found->second.comm, found->second.barrier());
}

template <class Handle>
void remove_from(std::map<Handle, members>& all, Handle handle) {
  session* const in = of_several_hosts();
  if (in == nullptr) return;
  const call_guard guard(*in);
  const auto found = all.find(handle);
  if (found == all.end()) return;
  found->second.posts.clear();
  communicators::release(*found->second.comm);
  all.erase(found);
}

// Empty where one of them is no member of `all`, which is freed: then the library reports it.
std::vector<int> ranks_among(MPI_Group group, MPI_Group all) {
  int size = 0;
  if (group != MPI_GROUP_NULL) PMPI_Group_size(group, &size);
  std::vector<int> in_group(static_cast<std::size_t>(size)), ranks(in_group.size());
  std::iota(in_group.begin(), in_group.end(), 0);
  if (size > 0) PMPI_Group_translate_ranks(group, size, in_group.data(), all, ranks.data());
  PMPI_Group_free(&all);
  const bool are_members =
      std::ranges::none_of(ranks, [](int each) { return each == MPI_UNDEFINED || each == MPI_PROC_NULL; });
  return are_members ? ranks : std::vector<int>{};
}
// Either waits for the other one.
int of_leaders(session& in, MPI_Comm peers, int other, int tag) {
  const call_guard guard(in);
  communicator* const known = communicators::find_any(peers);
  if (known == nullptr || other < 0 || other >= known->size() || tag < 0) return MPI_SUCCESS;
  operation leaders(in, *known, identity_of(message_channel::leaders, tag));
  leaders.begin_receive({}, other);
  leaders.begin_send({}, other);
  return report(peers, leaders.wait());
}

std::vector<int> ranks_on_window(MPI_Group group, MPI_Win window) {
  MPI_Group all = MPI_GROUP_NULL;
  PMPI_Win_get_group(window, &all);
  return ranks_among(group, all);
}

}  // namespace

int of_members(session& in, communicator& comm) {
  const int error = collectives::barrier(in, comm);
  return error == MPI_SUCCESS ? pass_through : error;
}

int of_members(MPI_Comm comm) {
  session* const in = of_several_hosts();
  if (in == nullptr) return MPI_SUCCESS;
  const call_guard guard(*in);
  communicator* const known = communicators::find_any(comm);
  if (known == nullptr) return MPI_SUCCESS;
  const int error = of_members(*in, *known);
  return error == pass_through ? MPI_SUCCESS : report(comm, error);
}

int of_group(MPI_Comm comm, MPI_Group group, int tag) {
  session* const in = of_several_hosts();
  if (in == nullptr || group == MPI_GROUP_NULL || tag < 0) return MPI_SUCCESS;
  const call_guard guard(*in);
  communicator* const known = communicators::find(comm);
  if (known == nullptr) return MPI_SUCCESS;
  MPI_Group all = MPI_GROUP_NULL;
  PMPI_Comm_group(comm, &all);
  const std::vector<int> ranks = ranks_among(group, all);
  if (std::ranges::find(ranks, known->rank) == ranks.end()) return MPI_SUCCESS;
  return report(comm,
                collectives::barrier_by_messages(*in, *known, identity_of(message_channel::entry_barrier, tag), ranks));
}

// After the first barrier of each group its leader knows that all are there; after the second one all know that the
// leaders have met.
int of_two_groups(MPI_Comm local, int leader, MPI_Comm peers, int remote_leader, int tag) {
  session* const in = of_several_hosts();
  if (in == nullptr) return MPI_SUCCESS;
  if (const int error = of_members(local); error != MPI_SUCCESS) return error;
  int rank = -1;
  if (local != MPI_COMM_NULL) PMPI_Comm_rank(local, &rank);
  if (rank >= 0 && rank == leader)
    if (const int error = of_leaders(*in, peers, remote_leader, tag); error != MPI_SUCCESS) return error;
  return of_members(local);
}

int of_two_groups_of_world(MPI_Group local, int leader, MPI_Group remote, int remote_leader, int tag) {
  session* const in = of_several_hosts();
  if (in == nullptr) return MPI_SUCCESS;
  if (const int error = of_group(MPI_COMM_WORLD, local, tag); error != MPI_SUCCESS) return error;
  int rank = -1;
  if (local != MPI_GROUP_NULL) PMPI_Group_rank(local, &rank);
  if (rank >= 0 && rank == leader && remote != MPI_GROUP_NULL) {
    int there = MPI_UNDEFINED;
    PMPI_Group_translate_ranks(remote, 1, &remote_leader, in->world_group(), &there);
    if (const int error = of_leaders(*in, MPI_COMM_WORLD, there, tag); error != MPI_SUCCESS) return error;
  }
  return of_group(MPI_COMM_WORLD, local, tag);
}

int take_number(MPI_Comm comm) {
  session* const in = of_several_hosts();
  if (in == nullptr) return 0;
  const call_guard guard(*in);
  communicator* const known = communicators::find(comm);
  return known != nullptr ? static_cast<int>(known->entry_barriers++ % most_numbers) : 0;
}
void add(MPI_Win window, MPI_Comm comm, int number) { add_to(windows, window, comm, number); }
void add(MPI_File file, MPI_Comm comm, int number) { add_to(files, file, comm, number); }
int of_window(MPI_Win window) { return barrier_of(windows, window); }
int of_file(MPI_File file) { return barrier_of(files, file); }
void remove(MPI_Win window) { remove_from(windows, window); }
void remove(MPI_File file) { remove_from(files, file); }

int posted(MPI_Win window, MPI_Group origins) {
  session* const in = of_several_hosts();
  if (in == nullptr) return MPI_SUCCESS;
  const call_guard guard(*in);
  const auto found = windows.find(window);
  if (found == windows.end()) return MPI_SUCCESS;
  members& on = found->second;
  std::erase_if(on.posts, [&](const auto& each) { return each->is_done(*in); });
  operation& post = *on.posts.emplace_back(std::make_unique<operation>(*in, *on.comm, on.target_posts()));
  for (const int each : ranks_on_window(origins, window)) post.begin_send({}, each);
  return MPI_SUCCESS;
}

int wait_for_posts(MPI_Win window, MPI_Group targets) {
  session* const in = of_several_hosts();
  if (in == nullptr) return MPI_SUCCESS;
  const call_guard guard(*in);
  const auto found = windows.find(window);
  if (found == windows.end()) return MPI_SUCCESS;
  operation posts(*in, *found->second.comm, found->second.target_posts());
  for (const int each : ranks_on_window(targets, window)) posts.begin_receive({}, each);
  return posts.wait();
}

}  // namespace tri::mpi::entry_barriers
