// Walks of the tree: which nodes must be opened for a box of bodies, and the force on the bodies of a bucket.
//
// Both use the same criterion with a box. It is monotone in the box, so what a walk for the box of a whole subtree has
// opened is all that the walks for its buckets need. A piece therefore first fetches for a subtree, and then finds
// forces without waiting, always in the order of the tree: the sums have the same bits wherever nodes come from.
#pragma once

#include <vector>

#include "gravity/tree/pull_kernel.hpp"
#include "gravity/tree/subtree.hpp"

namespace gravity {

inline constexpr std::uint32_t in_top_tree = 0xffffffff;

/// A node, and the chunk in which it is; or the top tree, in place of a subtree.
struct node_place {
  const tree_node* node = nullptr;
  std::uint32_t subtree = in_top_tree;
  std::uint32_t chunk = 0;
};

inline bool must_open(const tree_node& node, const box& target) {
  return !(target.distance_squared(node.field.centre) > node.open_squared);
}

/// Where the children or bodies of a node are.
struct content_place {
  std::uint32_t subtree;  ///< or in_top_tree
  std::uint32_t chunk;
  bool bodies;  ///< or nodes
};
inline content_place content_of(const node_place& at) {
  switch (at.node->kind) {
    case node_kind::subtree:
    case node_kind::subtree_leaf:
      return {at.node->first, 0, at.node->kind == node_kind::subtree_leaf};
    case node_kind::cut:
      return {at.subtree, at.node->first, false};
    case node_kind::inner:
    case node_kind::leaf:
      break;
  }
  return {at.subtree, at.chunk, at.node->kind == node_kind::leaf};
}
/// Of the nodes or bodies of the chunk, the first that belongs to the node.
inline std::uint32_t first_in_content(const tree_node& node) {
  return node.kind == node_kind::inner || node.kind == node_kind::leaf ? node.first : 0;
}

/// Opens all that must be opened for a box, in any order. `Tree` has
///   const tree_node* top() const;                     the root
///   const tree_node* children(const node_place&);     of a node, null while they are on their way
///   bool bodies_present(const node_place&);           the bodies of a leaf
/// Where something is on its way, the tree remembers the place, and the walk is continued there when it has arrived.
template <class Tree>
void open_for(const box& target, const node_place& from, Tree& tree) {
  std::vector<node_place> open = {from};
  while (!open.empty()) {
    const node_place at = open.back();
    open.pop_back();
    if (!must_open(*at.node, target)) continue;
    const content_place content = content_of(at);
    if (content.bodies) {
      static_cast<void>(tree.bodies_present(at));
      continue;
    }
    const tree_node* const children = tree.children(at);
    if (children == nullptr) continue;
    for (std::uint32_t child = 0; child < at.node->count; ++child)
      open.push_back({children + child, content.subtree, content.chunk});
  }
}

struct interaction_counts {
  std::uint64_t multipoles = 0;  ///< body and multipole
  std::uint64_t bodies = 0;      ///< body and body, itself not counted

  interaction_counts& operator+=(const interaction_counts& more) {
    multipoles += more.multipoles;
    bodies += more.bodies;
    return *this;
  }
};

/// Finds the forces on buckets, one after the other; keeps its memory.
class force_walk {
 public:
  force_walk(const pull_kernels& kernels, double softening)
      : kernels_(&kernels), softening_squared_(softening * softening) {}

  /// Sets acceleration and potential of the bodies of a bucket of subtree `subtree`, which counts in the bodies `own`.
  /// `Tree` has top() and children() as for open_for, and
  ///   const source* bodies(const node_place&);          of a leaf: the first of its chunk
  /// None of them is null: throws std::logic_error when one is.
  template <class Tree>
  void find_forces(const bucket& of, std::uint32_t subtree, std::span<const source> own, Tree& tree,
                   std::span<vec3> accelerations, std::span<double> potentials) {
    collect(of, subtree, tree);
    pull(of, own, accelerations, potentials);
  }
  const interaction_counts& counts() const { return counts_; }

 private:
  template <class Tree>
  void collect(const bucket& of, std::uint32_t subtree, Tree& tree) {
    far_.clear();
    near_.clear();
    stack_.assign(1, {tree.top()});
    while (!stack_.empty()) {
      const node_place at = stack_.back();
      stack_.pop_back();
      if (!must_open(*at.node, of.bounds)) {
        far_.push_back(&at.node->field);
        continue;
      }
      const content_place content = content_of(at);
      if (content.bodies) {
        const source* const bodies = tree.bodies(at);
        if (bodies == nullptr) throw_absent();
        const std::uint32_t first = first_in_content(*at.node);
        const bool is_own = content.subtree == subtree && content.chunk == of.chunk && first == of.place_in_chunk;
        near_.push_back({{bodies + first, at.node->count}, is_own});
        continue;
      }
      const tree_node* const children = tree.children(at);
      if (children == nullptr) throw_absent();
      // The last on the stack is the next: from the first child to the last.
      for (std::uint32_t child = at.node->count; child-- > 0;)
        stack_.push_back({children + child, content.subtree, content.chunk});
    }
  }
  void pull(const bucket& of, std::span<const source> own, std::span<vec3> accelerations, std::span<double> potentials);
  [[noreturn]] static void throw_absent();

  /// The bodies of one leaf.
  struct leaf {
    std::span<const source> bodies;
    bool is_own;
  };

  const pull_kernels* kernels_;
  double softening_squared_;
  interaction_counts counts_;
  std::vector<node_place> stack_;
  std::vector<const multipole*> far_;
  std::vector<leaf> near_;
};

}  // namespace gravity
