// A piece of the tree as an object: the bodies of a run of subtrees, their motion, and the forces on them.
//
// The main program calls all pieces phase by phase; a piece waits inside a phase for bodies that come from other pieces
// and for remote nodes. Between two phases of a step nothing is under way, so there a piece can migrate.
#pragma once

#include <vector>

#include "gravity/parallel/node_cache.hpp"

namespace gravity {

/// A subtree in memory that others may read: arrays by chunk.
struct shared_subtree {
  std::vector<tri::shared_buffer<tree_node>> nodes;
  std::vector<tri::shared_buffer<source>> bodies;
  std::vector<bucket> buckets;
  summary root;
};

/// Sums over the bodies of one subtree, in their order.
struct subtree_sums {
  double kinetic = 0.0;
  double potential = 0.0;
  vec3 momentum{};
  double momentum_of_all = 0.0;  ///< the sum of all bodies' momenta without their directions
  interaction_counts interactions;
};

/// How a force that the tree gave differs from that of direct summation.
struct force_error {
  double relative = 0.0;  ///< to that of direct summation
  double absolute = 0.0;
};

class piece : public tri::array_element<piece, tri::index<1>> {
 public:
  explicit piece(const tri::group<node_cache>& caches) : caches_(caches) {}
  piece() = default;  ///< for one that migrates

  // Entry methods: the phases of a step, in this order.
  /// Some of the input.
  int load(const tri::buffer<body>& bodies);
  /// Half of the change of velocity, then the motion. Returns the box of the bodies. With 0 and 0 only the box.
  box drift(double kick, double time_step);
  /// Sorts the bodies by their keys in this cube when `sort` is set; counts them in cells.
  std::vector<std::uint64_t> count(const root_cube& cube, const count_request& request, bool sort);
  /// Sends bodies where they belong, waits for its own, and builds its subtrees.
  tri::task<std::vector<subtree_root>> exchange(std::int64_t step, decomposition now);
  /// Forces, then the second half of the change of velocity. Returns the sums of each subtree.
  tri::task<std::vector<subtree_sums>> find_forces(double kick);

  // Entry methods for others.
  /// Bodies that belong here now.
  void arrive(std::int64_t step, const tri::buffer<body>& bodies);
  /// An agent needs the nodes or bodies of a chunk.
  void request(std::uint32_t subtree, std::uint32_t chunk, bool bodies, int pe);
  /// Its own: goes on with the next subtree, after what others wait for.
  void next(std::int64_t) {}
  std::vector<body> bodies() const { return bodies_; }
  /// Compares the last forces with direct summation over all bodies, which are in the order of their ids.
  std::vector<force_error> compare_forces(const tri::shared_buffer<source>& all) const;

  /// Between steps: the tree is built anew.
  template <class Archive>
  void serialize(Archive& archive) {
    archive(caches_, bodies_, accelerations_, potentials_, interactions_);
  }
  /// For balancing: where the piece is, and, if loads are counted, its interactions since the last time.
  void describe_load(tri::load_description& load);

  // For the cache of this PE.
  const std::vector<shared_subtree>& subtrees() const { return subtrees_; }
  std::uint32_t first_subtree() const { return first_subtree_; }

 private:
  void send_bodies(std::int64_t step, const decomposition& now);
  void sort(const root_cube& cube);
  std::vector<subtree_root> build(const decomposition& now);
  void find_forces_of(std::size_t subtree, force_walk& walk);
  subtree_sums sums_of(std::size_t subtree) const;
  std::span<const body> bodies_of(std::size_t subtree) const {
    return {bodies_.data() + starts_[subtree], starts_[subtree + 1] - starts_[subtree]};
  }

  tri::group<node_cache> caches_;
  std::vector<body> bodies_;
  std::vector<std::uint64_t> keys_;  ///< of the bodies, sorted
  std::vector<source> sources_;      ///< of the bodies
  std::vector<vec3> accelerations_;  ///< of the bodies
  std::vector<double> potentials_;   ///< of the bodies
  std::vector<shared_subtree> subtrees_;
  std::vector<std::size_t> starts_;  ///< where the bodies of each subtree begin, and the end
  std::uint32_t first_subtree_ = 0;
  std::uint64_t interactions_ = 0;  ///< since the last balancing
};

}  // namespace gravity
