// The top of the octree: from the root down to the subtrees. It is small, and every PE has it.
#pragma once

#include <vector>

#include "gravity/tree/decomposition.hpp"
#include "gravity/tree/tree_node.hpp"

namespace gravity {

/// What a piece says of one of its subtrees.
struct subtree_root {
  summary all;
  std::uint32_t children = 0;
  std::uint32_t is_leaf = 0;
};

/// `roots` belong to the subtrees of `of`, in their order. Node 0 is the root.
std::vector<tree_node> build_top_tree(const decomposition& of, std::span<const subtree_root> roots, double theta);

}  // namespace gravity
