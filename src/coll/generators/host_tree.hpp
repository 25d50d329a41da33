// A tree over hosts of a radix senders + 1: a host that stands for a range of hosts splits it into that many equal
// ranges and keeps its own; `senders` of its ranks pass the others on at the same time. With one sender it is the
// binomial tree. Ranges are contiguous, whichever host is the head, so that their blocks are one range of bytes too,
// and contributions are combined in order. Depth: ceil(log_{senders+1} hosts).
//
// Source: the scatter of PiP-MColl (Ouyang 2022, ch. 4), there for N a power of the radix and the head host 0.
#pragma once

#include <cstdint>
#include <vector>

namespace tri::coll {

struct tree_edge {
  std::uint32_t level = 0;  // 0 is the split of all hosts
  int parent = 0;           // hosts
  int child = 0;            // head of the range
  int sender = 0;           // which rank of the parent's host
  int first = 0;            // the range of hosts that the child stands for
  int last = 0;
};

struct tree_position {
  std::uint32_t levels = 0;
  bool has_parent = false;
  tree_edge parent;
  std::vector<tree_edge> children;  // by level
};

tree_position position_in_tree(int hosts, int head, int host, int senders);

/// ceil(log_radix n): rounds that reach n hosts.
std::uint32_t rounds_of_radix(int hosts, int radix);

}  // namespace tri::coll
