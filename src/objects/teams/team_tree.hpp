// The trees along which the collectives of a team go. Members are put in order host by host; a host is a binomial tree
// of its members, and the hosts are one of their first members. So one message of each host goes up, at most
// log2(hosts) come from below, and every subtree is a range of that order: to concatenate the values of subtrees keeps
// it. With another root, hosts and the members of its host are counted from it, around. A pure function of the members'
// hosts, the same on all members.
#pragma once

#include <vector>

#include "trireme/detail/objects/local_team.hpp"

namespace tri::objects {

class team_tree {
 public:
  /// The hosts of the members, by rank; any numbers.
  explicit team_tree(const std::vector<int>& host_of_rank);

  int size() const { return static_cast<int>(order_.size()); }
  int hosts() const { return static_cast<int>(first_of_host_.size()) - 1; }
  team_place place(int rank, int root) const;
  /// Positions count in the order of the tree with that root.
  int rank_at(int root, int position) const;
  /// Position and rank are the same in the tree of root 0.
  bool is_in_order_of_ranks() const;

 private:
  struct vertex {
    int host;    // counted from that of the root
    int member;  // of the host, on the host of the root counted from it
  };
  int host_of_position(int position) const;
  int members_of(int host) const;
  vertex vertex_of(int rank, int root) const;
  int rank_of(const vertex& of, int root) const;
  /// Members of the hosts before that one, in the order that begins at the root.
  int members_before(int host, int root_host) const;

  std::vector<int> order_;          // ranks, host by host
  std::vector<int> position_of_;    // by rank
  std::vector<int> first_of_host_;  // positions; one more, the end
};

}  // namespace tri::objects
