// The algorithms, each as a function that writes the steps of one rank. `senders` ranks of every host take part in the
// traffic between hosts; the radix of rounds is senders + 1. On a view whose hosts are single ranks (plan_builder.hpp)
// they are the classic algorithms. algorithms.cpp has the table of those that users choose from.
#pragma once

#include "coll/plan_builder.hpp"

namespace tri::coll {

/// Staged: through scratch, so that no rank waits for those that read its data.
void tree_broadcast(plan_builder& to, int senders, bool staged);
/// In pieces, so that all hosts send at the same time: for many bytes.
void chain_broadcast(plan_builder& to, int senders);
void tree_scatter(plan_builder& to, int senders);
void tree_gather(plan_builder& to, int senders);
/// Ordered. In parts: each rank of a host combines a part of the elements; else a binomial tree inside the host.
void tree_reduce(plan_builder& to, int senders, bool in_parts);

void bruck_allgather(plan_builder& to, int senders);
void ring_allgather(plan_builder& to, int senders);
void dissemination_barrier(plan_builder& to, int senders);

/// Folds in cyclic order of hosts: for commutative operations.
void bruck_allreduce(plan_builder& to, int senders);
/// Ordered, and each rank combines the sums of all hosts by itself.
void gathered_allreduce(plan_builder& to, int senders);
/// Ordered: to the first host and back.
void tree_allreduce(plan_builder& to, int senders);
/// Ordered: blocks of hosts are exchanged directly, then a ring.
void scattered_allreduce(plan_builder& to, int senders);
void direct_reduce_scatter(plan_builder& to, int senders);
void prefix_scan(plan_builder& to, int senders);  // scan and exscan, ordered
void aggregated_alltoall(plan_builder& to, int senders);

// Classics for single ranks, which have no equal among the above: the view must be of single ranks.
void recursive_doubling_allreduce(plan_builder& to);  // ordered
void rabenseifner_allreduce(plan_builder& to);        // ordered
void ring_allreduce(plan_builder& to);                // for commutative operations
void pairwise_alltoall(plan_builder& to);

}  // namespace tri::coll
