// The tree of a team, for hosts of any sizes and members in any order: every member hangs below the root, subtrees are
// ranges of the order, and a host has one neighbour above and at most log2(hosts) below.
#include "objects/teams/team_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <vector>

namespace tri::objects {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// The ranks of a subtree in the order of its positions, by its children's places.
std::vector<int> ranks_below(const team_tree& tree, int rank, int root) {
  const team_place place = tree.place(rank, root);
  std::vector<int> ranks(at(place.members), -1);
  ranks[0] = rank;
  int next = 1;
  for (const team_place::child& child : place.children) {
    EXPECT_EQ(child.first, next) << "subtrees follow each other";
    EXPECT_EQ(tree.place(child.rank, root).parent, rank);
    const std::vector<int> below = ranks_below(tree, child.rank, root);
    EXPECT_EQ(below.size(), at(child.members));
    std::ranges::copy(below, ranks.begin() + child.first);
    next += child.members;
  }
  EXPECT_EQ(next, place.members);
  return ranks;
}

void expect_right(const std::vector<int>& hosts, int root) {
  const team_tree tree(hosts);
  ASSERT_EQ(tree.size(), static_cast<int>(hosts.size()));
  const std::vector<int> order = ranks_below(tree, root, root);
  EXPECT_TRUE(tree.place(root, root).is_root());
  std::vector<int> sorted = order, all(hosts.size());
  std::ranges::sort(sorted);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(sorted, all);
  for (int position = 0; position < tree.size(); ++position)
    EXPECT_EQ(tree.rank_at(root, position), order[at(position)]) << position;

  std::map<int, std::set<int>> parents, children;  // hosts of a host
  for (int rank = 0; rank < tree.size(); ++rank) {
    const int parent = tree.place(rank, root).parent;
    if (parent < 0 || hosts[at(parent)] == hosts[at(rank)]) continue;
    EXPECT_TRUE(parents[hosts[at(rank)]].insert(rank).second);
    EXPECT_TRUE(children[hosts[at(parent)]].insert(hosts[at(rank)]).second);
  }
  const std::size_t distinct = std::set<int>(hosts.begin(), hosts.end()).size();
  EXPECT_EQ(parents.size(), distinct - 1);
  for (const auto& [host, ranks] : parents) EXPECT_EQ(ranks.size(), 1U) << "one message of a host goes up";
  for (const auto& [host, below] : children)
    EXPECT_LE(below.size(), static_cast<std::size_t>(std::bit_width(distinct - 1)));
}

TEST(team_tree, every_shape_of_four_hosts_and_every_root) {
  for (int a = 0; a <= 3; ++a)
    for (int b = 0; b <= 3; ++b)
      for (int c = 0; c <= 3; ++c)
        for (int d = 1; d <= 3; ++d) {
          std::vector<int> hosts;
          for (const auto& [host, members] : {std::pair(7, a), {2, b}, {5, c}, {3, d}})
            hosts.insert(hosts.end(), at(members), host);
          for (int root = 0; root < static_cast<int>(hosts.size()); ++root) {
            expect_right(hosts, root);
            if (HasFailure()) FAIL() << a << b << c << d << " root " << root;
          }
        }
}

TEST(team_tree, members_of_hosts_mixed_by_chance) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<int> hosts(1 + random() % 80);
    const int different = 1 + static_cast<int>(random() % 20);
    for (int& host : hosts) host = static_cast<int>(random() % static_cast<std::uint64_t>(different));
    expect_right(hosts, static_cast<int>(random() % hosts.size()));
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

TEST(team_tree, the_order_is_that_of_ranks_where_hosts_are_blocks) {
  EXPECT_TRUE(team_tree({4, 4, 1, 1, 1, 9}).is_in_order_of_ranks());
  EXPECT_FALSE(team_tree({4, 1, 4, 1}).is_in_order_of_ranks());
}

TEST(team_tree, a_large_job_is_shallow) {
  std::vector<int> hosts;
  for (int host = 0; host < 64; ++host) hosts.insert(hosts.end(), 16, host);
  const team_tree tree(hosts);
  for (int rank = 0; rank < tree.size(); ++rank) {
    int depth = 0;
    for (int above = rank; above != 5; above = tree.place(above, 5).parent) ++depth;
    ASSERT_LE(depth, 6 + 4);
    ASSERT_LE(tree.place(rank, 5).children.size(), 6U + 4U);
  }
}

}  // namespace
}  // namespace tri::objects
