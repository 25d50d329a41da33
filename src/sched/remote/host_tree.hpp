// The tree by which a message for all hosts goes from host to host. Its shape is that of a heap with four children for
// each vertex. Where a host stands in it changes from tree to tree: those between the root and the leaves have more to
// do, so each tree begins with the hosts that come after the inner vertices of the one before (Mei 2012, M61). A pure
// function: a host that forwards a message finds its children from the host of the root and its rotation. Answers go
// the same way back: a host adds up those of its children and answers its parent.
#pragma once

#include <algorithm>

namespace tri::sched {

class host_tree {
 public:
  static constexpr int most_children = 4;

  /// `rotation` in 0 .. rotations(hosts) - 1: by how many hosts the others are moved. `width`: children of a vertex;
  /// for explorations, whose trees have to be deep with few hosts.
  constexpr host_tree(int hosts, int root, int rotation, int width = most_children)
      : hosts_(hosts), root_(root), rotation_(rotation), width_(width) {}

  static constexpr int rotations(int hosts) { return std::max(hosts - 1, 1); }
  /// Vertices between the root and the leaves.
  static constexpr int inner_vertices(int hosts) {
    return std::max((hosts - 1 + most_children - 1) / most_children - 1, 0);
  }
  /// The rotation of a root's tree with this number: the inner vertices of one tree after the other go round the hosts.
  static constexpr int rotation_of(unsigned number, int hosts) {
    const auto all = static_cast<unsigned long>(rotations(hosts));
    return static_cast<int>(number % all * static_cast<unsigned long>(inner_vertices(hosts)) % all);
  }

  /// To how many hosts `host` hands the message on.
  constexpr int children(int host) const {
    int count = 0;
    for_each_child(host, [&](int) { ++count; });
    return count;
  }
  /// Calls visit(child) for each host to which `host` hands the message on.
  template <class Visit>
  constexpr void for_each_child(int host, Visit&& visit) const {
    const int first = position_of(host) * width_ + 1;
    for (int child = first; child < std::min(first + width_, hosts_); ++child) visit(host_at(child));
  }
  /// From which host it comes to `host`; not for the root.
  constexpr int parent(int host) const {
    const int above = (position_of(host) - 1) / width_;
    return above == 0 ? root_ : host_at(above);
  }

 private:
  // Positions count along the heap; the root has 0.
  constexpr int position_of(int host) const {
    const int after = (host - root_ + hosts_) % hosts_;
    return after == 0 ? 0 : 1 + (after - 1 - rotation_ + hosts_ - 1) % (hosts_ - 1);
  }
  constexpr int host_at(int position) const { return (root_ + 1 + (position - 1 + rotation_) % (hosts_ - 1)) % hosts_; }
  int hosts_;
  int root_;
  int rotation_;
  int width_;
};

}  // namespace tri::sched
