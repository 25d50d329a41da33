// Level by level: hosts, NUMA nodes, PEs.
#include <gtest/gtest.h>

#include "balance/made_snapshot.hpp"
#include "small_snapshots.hpp"
#include "trireme/balance_strategy.hpp"

namespace tri::balancing {
namespace {

// How many moves leave the host, and how many only the NUMA node.
struct crossings {
  int hosts = 0, numa_nodes = 0;
};
crossings crossings_of(const snapshot& of, const std::vector<move>& moves) {
  crossings count;
  for (const move& each : moves) {
    const pe_load& from = of.pes[static_cast<std::size_t>(each.from)];
    const pe_load& to = of.pes[static_cast<std::size_t>(each.to)];
    if (from.host != to.host)
      ++count.hosts;
    else if (from.numa_node != to.numa_node)
      ++count.numa_nodes;
  }
  return count;
}

// Each of two hosts has work enough for its PEs, all on one of them.
TEST(topology, what_can_be_solved_inside_hosts_stays_there) {
  snapshot of = one_host({std::vector<std::int64_t>(8, 10), {}, {}, {}, std::vector<std::int64_t>(8, 10), {}, {}, {}});
  for (std::size_t pe = 0; pe < 8; ++pe) {
    of.pes[pe].host = static_cast<std::int32_t>(pe / 4);
    of.pes[pe].numa_node = static_cast<std::int32_t>(pe / 2 % 2);
  }
  const outcome done = balance(of, find_strategy("topology"));
  EXPECT_DOUBLE_EQ(done.after.longest_ns, 20.0);
  EXPECT_EQ(crossings_of(of, done.moves).hosts, 0);
  EXPECT_EQ(crossings_of(of, done.moves).numa_nodes, 8) << "half of each host's objects";
}

TEST(topology, only_the_surplus_of_a_host_leaves_it) {
  snapshot of = one_host({std::vector<std::int64_t>(6, 10), std::vector<std::int64_t>(6, 10), {10, 10}, {10, 10}});
  of.pes[2].host = of.pes[3].host = 1;
  const outcome done = balance(of, find_strategy("topology"));
  EXPECT_DOUBLE_EQ(done.after.longest_ns, 40.0);
  EXPECT_EQ(crossings_of(of, done.moves).hosts, 4);
}

TEST(topology, fewer_objects_cross_than_after_greedy) {
  const snapshot of = make_snapshot(wish_from("random,objects=4000,pes=64,hosts=8,numa=2,seed=6"));
  const outcome greedy = balance(of, find_strategy("greedy")), done = balance(of, find_strategy("topology"));
  EXPECT_LT(10 * crossings_of(of, done.moves).hosts, crossings_of(of, greedy.moves).hosts);
}

}  // namespace
}  // namespace tri::balancing
