#include "coll/algorithms.hpp"

#include <fmt/format.h>

#include <array>
#include <stdexcept>
#include <string>

#include "coll/generators/generators.hpp"

namespace tri::coll {
namespace {

constexpr auto every = participation::every_rank;
constexpr auto leaders = participation::leaders;
constexpr auto flat = participation::flat;

void broadcast_directly(plan_builder& to, int senders) { tree_broadcast(to, senders, false); }
void broadcast_staged(plan_builder& to, int senders) { tree_broadcast(to, senders, true); }
void reduce_by_trees(plan_builder& to, int senders) { tree_reduce(to, senders, false); }
void reduce_in_parts(plan_builder& to, int senders) { tree_reduce(to, senders, true); }
template <void (*write)(plan_builder&)>
void classic(plan_builder& to, int) {
  write(to);
}

constexpr std::array table{
    algorithm{"multi_object", collective::broadcast, every, false, false,
              "tree of radix P+1 over hosts; ranks copy out of the buffer of the root or leader", broadcast_directly},
    algorithm{"multi_object_staged", collective::broadcast, every, false, false,
              "the same through scratch: no rank waits for its readers", broadcast_staged},
    algorithm{"multi_object_chain", collective::broadcast, every, false, false,
              "a chain of hosts passes on pieces, P at once; for many bytes", chain_broadcast},
    algorithm{"single_leader", collective::broadcast, leaders, false, false, "binomial tree over hosts",
              broadcast_directly},
    algorithm{"single_leader_chain", collective::broadcast, leaders, false, false, "leaders pass on pieces",
              chain_broadcast},
    algorithm{"binomial", collective::broadcast, flat, false, false, "binomial tree over ranks", broadcast_directly},

    algorithm{"multi_object", collective::scatter, every, false, false, "tree of radix P+1 over hosts", tree_scatter},
    algorithm{"single_leader", collective::scatter, leaders, false, false, "binomial tree over hosts", tree_scatter},
    algorithm{"binomial", collective::scatter, flat, false, false, "binomial tree over ranks", tree_scatter},

    algorithm{"multi_object", collective::gather, every, false, false, "tree of radix P+1 over hosts", tree_gather},
    algorithm{"single_leader", collective::gather, leaders, false, false, "binomial tree over hosts", tree_gather},
    algorithm{"binomial", collective::gather, flat, false, false, "binomial tree over ranks", tree_gather},

    algorithm{"multi_object_bruck", collective::allgather, every, false, false, "rounds of radix P+1; for small blocks",
              bruck_allgather},
    algorithm{"multi_object_ring", collective::allgather, every, false, false,
              "P rings over hosts beside copies inside them; for large blocks", ring_allgather},
    algorithm{"single_leader_bruck", collective::allgather, leaders, false, false, "rounds of radix 2 by leaders",
              bruck_allgather},
    algorithm{"single_leader_ring", collective::allgather, leaders, false, false, "ring of leaders", ring_allgather},
    algorithm{"bruck", collective::allgather, flat, false, false, "rounds of radix 2 by ranks", bruck_allgather},
    algorithm{"ring", collective::allgather, flat, false, false, "ring of ranks", ring_allgather},

    algorithm{"multi_object", collective::reduce, every, false, false,
              "tree of radix P+1 over hosts, binomial trees inside; for few bytes", reduce_by_trees},
    algorithm{"multi_object_parts", collective::reduce, every, false, false,
              "the same; inside a host each rank combines a part of the elements", reduce_in_parts},
    algorithm{"single_leader", collective::reduce, leaders, false, false, "binomial tree over hosts", reduce_by_trees},
    algorithm{"binomial", collective::reduce, flat, false, false, "binomial tree over ranks", reduce_by_trees},

    algorithm{"multi_object_bruck", collective::allreduce, every, true, false,
              "rounds of radix P+1; for few bytes and commutative operations", bruck_allreduce},
    algorithm{"multi_object_gathered", collective::allreduce, every, false, false,
              "rounds of radix P+1 gather the sums of hosts; the same bits on all ranks", gathered_allreduce},
    algorithm{"multi_object_tree", collective::allreduce, every, false, false,
              "tree of radix P+1 to the first host and back; the same bits on all ranks", tree_allreduce},
    algorithm{"multi_object_ring", collective::allreduce, every, false, false,
              "hosts fold a part each, then P rings; for many bytes", scattered_allreduce},
    algorithm{"single_leader_bruck", collective::allreduce, leaders, true, false, "rounds of radix 2 by leaders",
              bruck_allreduce},
    algorithm{"single_leader_ring", collective::allreduce, leaders, false, false,
              "leaders fold a part each, then a ring", scattered_allreduce},
    algorithm{"recursive_doubling", collective::allreduce, flat, false, false, "pairs at distances 1, 2, 4, ...",
              classic<recursive_doubling_allreduce>},
    algorithm{"rabenseifner", collective::allreduce, flat, false, false,
              "halving of the vector between pairs, then doubling", classic<rabenseifner_allreduce>},
    algorithm{"ring", collective::allreduce, flat, true, false, "parts go around all ranks twice",
              classic<ring_allreduce>},

    algorithm{"multi_object", collective::reduce_scatter, every, false, false,
              "hosts exchange partial sums directly, P ranks at once", direct_reduce_scatter},
    algorithm{"single_leader", collective::reduce_scatter, leaders, false, false, "the same by leaders",
              direct_reduce_scatter},
    algorithm{"pairwise", collective::reduce_scatter, flat, false, false, "all pairs of ranks exchange directly",
              direct_reduce_scatter},

    algorithm{"multi_object", collective::alltoall, every, false, false,
              "one message for each pair of hosts, P ranks at once", aggregated_alltoall},
    algorithm{"single_leader", collective::alltoall, leaders, false, false, "the same by leaders", aggregated_alltoall},
    algorithm{"pairwise", collective::alltoall, flat, false, true, "all pairs of ranks exchange directly",
              classic<pairwise_alltoall>},

    algorithm{"multi_object", collective::scan, every, false, false, "prefixes of hosts in rounds of radix P+1",
              prefix_scan},
    algorithm{"single_leader", collective::scan, leaders, false, false, "prefixes of hosts in rounds of radix 2",
              prefix_scan},
    algorithm{"hillis_steele", collective::scan, flat, false, false, "prefixes of ranks in rounds of radix 2",
              prefix_scan},

    algorithm{"multi_object", collective::exscan, every, false, false, "prefixes of hosts in rounds of radix P+1",
              prefix_scan},
    algorithm{"single_leader", collective::exscan, leaders, false, false, "prefixes of hosts in rounds of radix 2",
              prefix_scan},
    algorithm{"hillis_steele", collective::exscan, flat, false, false, "prefixes of ranks in rounds of radix 2",
              prefix_scan},

    algorithm{"multi_object", collective::barrier, every, false, false, "rounds of radix P+1 over hosts",
              dissemination_barrier},
    algorithm{"single_leader", collective::barrier, leaders, false, false, "rounds of radix 2 over hosts",
              dissemination_barrier},
    algorithm{"dissemination", collective::barrier, flat, false, false, "rounds of radix 2 over ranks",
              dissemination_barrier},
};

bool moves_nothing(const request& asked) {
  if (asked.what == collective::barrier) return false;
  return (asked.blocks.is_uniform() ? asked.vector_bytes() : asked.all_bytes()) == 0;
}

}  // namespace

std::span<const algorithm> all_algorithms() { return table; }

std::vector<const algorithm*> algorithms_for(const request& asked) {
  std::vector<const algorithm*> found;
  for (const algorithm& each : table)
    if (each.suits(asked)) found.push_back(&each);
  return found;
}

const algorithm& algorithm_of(const request& asked, std::string_view name) {
  std::string names;
  for (const algorithm& each : table) {
    if (each.what != asked.what) continue;
    if (each.name != name) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", each.name);
      continue;
    }
    if (!each.suits(asked))
      throw std::invalid_argument(each.commutative_only && !asked.commutative
                                      ? fmt::format("{} of {} is only for commutative operations, and this one is not",
                                                    name, name_of(asked.what))
                                      : fmt::format("{} of {} does not work in place", name, name_of(asked.what)));
    return each;
  }
  throw std::invalid_argument(
      fmt::format("there is no algorithm '{}' of {}; there are {}", name, name_of(asked.what), names));
}

namespace {

// Writes the steps of the rank; `use` gets the builder.
template <class Use>
auto written(const algorithm& by, const request& asked, int rank, bool keeps_steps, Use&& use) {
  const bool is_flat = by.participants == participation::flat;
  const shape ranks = is_flat ? shape::uniform(asked.hosts.ranks(), 1) : shape();
  plan_builder builder(asked, is_flat ? ranks : asked.hosts, rank, keeps_steps);
  if (!moves_nothing(asked))
    by.write(builder, by.participants == participation::every_rank ? asked.hosts.least_ranks() : 1);
  return use(builder);
}

}  // namespace

plan generate(const algorithm& by, const request& asked, int rank) {
  return written(by, asked, rank, true, [](plan_builder& builder) { return builder.finish(); });
}

std::uint64_t count_steps(const algorithm& by, const request& asked, int rank) {
  return written(by, asked, rank, false, [](const plan_builder& builder) { return builder.steps(); });
}

std::vector<plan> generate_all(const algorithm& by, const request& asked) {
  std::vector<plan> plans;
  plans.reserve(static_cast<std::size_t>(asked.hosts.ranks()));
  for (int rank = 0; rank < asked.hosts.ranks(); ++rank) plans.push_back(generate(by, asked, rank));
  return plans;
}

}  // namespace tri::coll
