#include "mpi/coll/hosts/collectives_across_hosts.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "mpi/coll/collectives.hpp"
#include "mpi/coll/element_operation.hpp"
#include "mpi/rma/accumulation.hpp"

namespace tri::mpi::collectives::across_hosts {
namespace {

// Of all ranks together: leaders have scratch for about as much, and buffers that others cannot access are staged.
constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;
// Trees send whole vectors several times.
constexpr std::uint64_t most_bytes_in_trees = std::uint64_t{32} << 10;
// A broadcast along a chain has a round for each host more than a tree, but its root sends all bytes once only. With 50
// us between hosts and 2.5 GB/s the cost model has them equal at 18 to 28 KiB for each host.
constexpr std::uint64_t least_bytes_in_chain_of_host = std::uint64_t{32} << 10;
constexpr std::uint64_t least_bytes_staged = std::uint64_t{8} << 10;  // a broadcast that waits for its readers instead
constexpr std::uint64_t most_bytes_in_rounds = std::uint64_t{16} << 10;  // of all hosts together
constexpr std::uint64_t least_bytes_in_parts = std::uint64_t{2} << 10;
// Gathers and scatters of few bytes: one message to or from the root for each rank. None of them waits for others of
// its host, and those that only send do not wait at all.
constexpr std::uint64_t most_bytes_sent_directly = std::uint64_t{4} << 10;
constexpr std::uint64_t most_ranks_of_root = 64;
constexpr std::uint64_t most_bytes_of_pair = std::uint64_t{16} << 10;  // of ranks, in an all-to-all

std::uint64_t ranks_of(const communicator& comm) { return static_cast<std::uint64_t>(comm.size()); }

bool fits(std::uint64_t bytes) { return bytes <= most_bytes; }

packed_buffer packed(const elements& of) {
  const buffer_type& type = datatypes::find(of.type);
  return type.is_plain || of.count == 0 ? packed_buffer() : packed_buffer{of.count, type};
}

planned_request of_bytes(coll::collective what, const char* algorithm, const elements& from, const elements& to,
                         std::uint64_t block, int root = 0) {
  planned_request made;
  made.what = what;
  made.algorithm = algorithm;
  made.from = from.address;
  made.to = to.address;
  made.blocks = coll::block_layout::uniform(block);
  made.root = root;
  if (from.address != MPI_IN_PLACE) made.packed_from = packed(from);
  if (to.address != MPI_IN_PLACE) made.packed_to = packed(to);
  return made;
}

coll::block_layout vector_of(const elements& of) {
  return coll::block_layout::uniform(static_cast<std::uint64_t>(of.count));
}

// Ranks that are not numbered host by host are combined in another order.
bool may_reorder(const communicator& comm, MPI_Op operation) {
  return comm.hosts->are_in_order || is_commutative(operation);
}

// Where costs were measured they decide between two algorithms, else the rule of the caller does.
const char* cheaper(const communicator& comm, const char* first, const char* second, coll::collective what,
                    std::uint64_t bytes, bool takes_first) {
  if (const std::optional<coll::cost_parameters>& costs = session::active()->collective_costs()) {
    if (!comm.choice) comm.choice = std::make_shared<coll::algorithm_choice>(comm.hosts->shape, *costs);
    takes_first = comm.choice->prefers(first, second, what, bytes).value_or(takes_first);
  }
  return takes_first ? first : second;
}

const char* allgather_of(const communicator& comm, std::uint64_t all_bytes) {
  return cheaper(comm, "multi_object_bruck", "multi_object_ring", coll::collective::allgather,
                 all_bytes / ranks_of(comm), all_bytes <= 2 * most_bytes_in_trees);
}

bool is_sent_directly(const communicator& comm, std::uint64_t block) {
  return block <= most_bytes_sent_directly && ranks_of(comm) <= most_ranks_of_root;
}

// Parts that lie anywhere, as one element of a type that is made for them.
elements as_one_element(const parts& all, int ranks, packed_buffer& packed) {
  std::vector<int> counts;
  std::vector<MPI_Aint> places;
  std::vector<MPI_Datatype> types;
  auto* const start = static_cast<std::byte*>(all.of(0).address);
  for (int rank = 0; rank < ranks; ++rank) {
    const elements part = all.of(rank);
    counts.push_back(static_cast<int>(part.count));
    places.push_back(static_cast<std::byte*>(part.address) - start);
    types.push_back(part.type);
  }
  MPI_Datatype made = MPI_DATATYPE_NULL;
  PMPI_Type_create_struct(ranks, counts.data(), places.data(), types.data(), &made);
  PMPI_Type_commit(&made);
  packed = {1, datatypes::find(made), std::shared_ptr<void>(nullptr, [made](void*) mutable {
              datatypes::forget(made);
              PMPI_Type_free(&made);
            })};
  return {start, 1, made};
}

// The block of a rank in the row of all.
elements block_at(const elements& whole, int rank, int ranks) {
  const MPI_Count count = whole.count / ranks;
  MPI_Aint lower = 0, extent = 0;
  PMPI_Type_get_extent(whole.type, &lower, &extent);
  return {static_cast<std::byte*>(whole.address) + rank * count * extent, count, whole.type};
}

}  // namespace

plan barrier() { return of_bytes(coll::collective::barrier, "multi_object", {}, {}, 0); }

plan broadcast(const communicator& comm, const elements& data, int root) {
  const std::uint64_t bytes = bytes_of(data);
  if (!fits(bytes)) return {};
  const bool is_root = comm.rank == root;
  const bool is_long = bytes > least_bytes_in_chain_of_host * static_cast<std::uint64_t>(comm.hosts->shape.hosts());
  const char* const algorithm = is_long ? "multi_object_chain"
                                        : cheaper(comm, "multi_object_staged", "multi_object",
                                                  coll::collective::broadcast, bytes, bytes < least_bytes_staged);
  return of_bytes(coll::collective::broadcast, algorithm, is_root ? data : elements{}, is_root ? elements{} : data,
                  bytes, root);
}

// Of many bytes all ranks get the sum, and those that are not the root drop it: a tree would send whole vectors.
plan reduce(const communicator& comm, const void* from, const elements& to, MPI_Op operation, int root) {
  const std::uint64_t bytes = bytes_of(to);
  if (!fits(bytes) || !element_form::of(to.type) || !may_reorder(comm, operation)) return {};
  if (bytes > most_bytes_in_trees) {
    planned_request made = planned_request::of_elements(coll::collective::allreduce, "multi_object_ring", from,
                                                        to.address, vector_of(to), to.type, operation);
    made.drops_output = comm.rank != root;
    made.all_alike = false;
    return made;
  }
  const char* const algorithm = cheaper(comm, "multi_object", "multi_object_parts", coll::collective::reduce, bytes,
                                        bytes < least_bytes_in_parts);
  return planned_request::of_elements(coll::collective::reduce, algorithm, from, to.address, vector_of(to), to.type,
                                      operation, root);
}

// All give every rank the same bits.
plan allreduce(const communicator& comm, const void* from, const elements& to, MPI_Op operation) {
  const std::uint64_t bytes = bytes_of(to);
  if (!fits(bytes) || !element_form::of(to.type) || !may_reorder(comm, operation)) return {};
  const bool is_short = bytes * static_cast<std::uint64_t>(comm.hosts->shape.hosts()) <= most_bytes_in_rounds;
  const char* const algorithm =
      cheaper(comm, "multi_object_gathered", "multi_object_ring", coll::collective::allreduce, bytes, is_short);
  return planned_request::of_elements(coll::collective::allreduce, algorithm, from, to.address, vector_of(to), to.type,
                                      operation);
}

plan scan(const communicator& comm, const void* from, const elements& to, MPI_Op operation, bool is_exclusive) {
  const std::uint64_t bytes = bytes_of(to);
  if (!fits(bytes) || !element_form::of(to.type) || !comm.hosts->are_in_order) return {};
  return scan_in_parts(from, to, operation, is_exclusive);
}

plan reduce_scatter(const communicator& comm, const void* from, void* to, std::span<const std::uint64_t> counts,
                    MPI_Datatype type, MPI_Op operation) {
  const std::uint64_t all = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  const buffer_type& of_type = datatypes::find(type);
  if (!fits(all * of_type.bytes) || !element_form::of(type) || !comm.hosts->are_in_order) return {};
  return scattered_sum_in_parts(from, to, counts, type, operation);
}

plan gather(const communicator& comm, const elements& mine, const elements& whole, int root) {
  const elements own = mine.address == MPI_IN_PLACE ? block_at(whole, comm.rank, comm.size()) : mine;
  const std::uint64_t block = bytes_of(own);
  if (!fits(block * ranks_of(comm)) || block > most_bytes_in_trees || is_sent_directly(comm, block) ||
      !comm.hosts->are_in_order)
    return {};
  return of_bytes(coll::collective::gather, "multi_object", own, whole, block, root);
}

plan scatter(const communicator& comm, const elements& whole, const elements& mine, int root) {
  const elements own = mine.address == MPI_IN_PLACE ? block_at(whole, comm.rank, comm.size()) : mine;
  const std::uint64_t block = bytes_of(own);
  if (!fits(block * ranks_of(comm)) || block > most_bytes_in_trees || is_sent_directly(comm, block) ||
      !comm.hosts->are_in_order)
    return {};
  return of_bytes(coll::collective::scatter, "multi_object", whole, own, block, root);
}

plan allgather(const communicator& comm, const elements& mine, const elements& whole) {
  const elements own = mine.address == MPI_IN_PLACE ? block_at(whole, comm.rank, comm.size()) : mine;
  const std::uint64_t block = bytes_of(own);
  const std::uint64_t all = block * ranks_of(comm);
  if (!fits(all) || !comm.hosts->are_in_order) return {};
  return of_bytes(coll::collective::allgather, allgather_of(comm, all), own, whole, block);
}

plan allgather(const communicator& comm, const elements& mine, const parts& everybodys) {
  std::vector<std::uint64_t> bytes;
  bool are_in_a_row = true;
  const auto* next = static_cast<const std::byte*>(everybodys.of(0).address);
  for (int rank = 0; rank < comm.size(); ++rank) {
    const elements part = everybodys.of(rank);
    bytes.push_back(bytes_of(part));
    are_in_a_row = are_in_a_row && part.address == next && datatypes::find(part.type).is_plain;
    next += bytes.back();
  }
  const std::uint64_t all = std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
  if (!fits(all) || !comm.hosts->are_in_order) return {};
  packed_buffer packed;
  elements whole{everybodys.of(0).address, static_cast<MPI_Count>(all), MPI_BYTE};
  if (!are_in_a_row) whole = as_one_element(everybodys, comm.size(), packed);
  planned_request made = of_bytes(coll::collective::allgather, allgather_of(comm, all),
                                  mine.address == MPI_IN_PLACE ? everybodys.of(comm.rank) : mine, {}, 0);
  made.blocks = coll::block_layout::of_table(bytes);
  made.to = whole.address;
  made.packed_to = packed;
  return made;
}

plan alltoall(const communicator& comm, const elements& from, const elements& to) {
  const coll::shape& shape = comm.hosts->shape;
  const std::uint64_t block = bytes_of(from) / ranks_of(comm);
  int most_mates = 0;
  for (int host = 0; host < shape.hosts(); ++host) most_mates = std::max(most_mates, shape.ranks_of(host));
  // A leader has what all ranks of its host send and receive.
  if (!fits(2 * bytes_of(from) * static_cast<std::uint64_t>(most_mates)) || block > most_bytes_of_pair ||
      !comm.hosts->are_in_order)
    return {};
  return of_bytes(coll::collective::alltoall, "multi_object", from, to, block);
}

int run(session& in, communicator& comm, const completion& how, const plan& chosen) {
  return chosen ? run_planned(in, comm, how, *chosen) : pass_through;
}

}  // namespace tri::mpi::collectives::across_hosts
