// One subtree as its piece builds it: chunks of nodes and bodies, and the buckets, which are the leaves in their order.
#pragma once

#include <vector>

#include "gravity/tree/morton.hpp"
#include "gravity/tree/tree_node.hpp"

namespace gravity {

struct tree_settings {
  double theta = 0.6;
  int bucket = 16;       ///< most bodies of a leaf, but at the last level of keys
  int fetch_levels = 2;  ///< levels of nodes in a chunk
};

struct chunk {
  std::vector<tree_node> nodes;
  std::vector<source> bodies;
};

/// The bodies of a leaf: walked for together.
struct bucket {
  std::size_t first = 0;  ///< among the sorted bodies that the subtree was built from
  std::size_t last = 0;
  box bounds;
  std::uint32_t chunk = 0;           ///< whose bodies they are
  std::uint32_t place_in_chunk = 0;  ///< of the first
};

struct subtree {
  std::vector<chunk> chunks;
  std::vector<bucket> buckets;
  summary root;
  bool is_leaf = false;
  std::uint32_t children = 0;  ///< of the root; the first nodes of chunk 0
};

/// The subtree of a cell at `level`. `keys` and `bodies` are those of its bodies, in the order of keys; at least one.
subtree build_subtree(std::span<const std::uint64_t> keys, std::span<const source> bodies, int level,
                      const tree_settings& settings);

/// Cuts a range of sorted keys, all in one cell of `level`, into those of its eight children: where each child begins,
/// and the end.
std::array<std::size_t, 9> divide(std::span<const std::uint64_t> keys, int level);

}  // namespace gravity
