// The nodes of the octree: multipole, opening radius, and where the children or bodies are.
//
// The tree is divided where few bodies would be read alone. The *top tree* is on every PE. It ends in *subtrees*, each
// of which belongs to one piece, and a subtree is cut into *chunks* of a few levels: what a cache fetches at once.
#pragma once

#include <cstdint>
#include <span>

#include "gravity/tree/multipole.hpp"

namespace gravity {

enum class node_kind : std::uint32_t {
  inner,         ///< children are nodes `first` to `first + count` of the same chunk, or of the top tree
  cut,           ///< children are all nodes of chunk `first` of the same subtree
  leaf,          ///< bodies `first` to `first + count` of the same chunk
  subtree,       ///< in the top tree: subtree `first`, whose children are the nodes at the start of its chunk 0
  subtree_leaf,  ///< in the top tree: subtree `first`, a single leaf; its bodies are in its chunk 0
};

struct tree_node {
  multipole field;
  double open_squared = 0.0;  ///< the node counts as one multipole for what is further away; see opening_radius
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  node_kind kind = node_kind::leaf;
  std::uint32_t unused = 0;  // no padding: nodes are compared and sent as bytes
};
static_assert(sizeof(tree_node) == 104);

/// The edge of a cell, seen from the centre of mass, must be smaller than the angle `theta`. The edge is taken as
/// 2 / sqrt(3) of the distance from the centre of mass to the furthest corner of the box of the bodies, which is the
/// same for a cell with its centre of mass in the middle. Up to theta 1.1 no cell that a body is in counts as one.
/// theta 0 opens all.
double opening_radius(const summary& of, double theta);

inline tree_node make_node(const summary& of, double theta, node_kind kind, std::uint32_t first, std::uint32_t count) {
  const double radius = opening_radius(of, theta);
  return {of.field, radius * radius, first, count, kind, 0};
}

}  // namespace gravity
