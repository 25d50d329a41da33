// Which bodies belong to which piece. The cells of the octree are refined, all pieces counting their bodies in them,
// until none has more than a given number: these are the subtrees. Runs of them in the order of keys go to the pieces.
//
// The subtrees depend on the bodies alone, not on how many pieces there are and which bodies each has now.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gravity/tree/morton.hpp"

namespace gravity {

/// A cell of the octree.
struct cell {
  std::uint64_t first_key = 0;
  std::uint64_t bodies = 0;
  std::int64_t level = 0;
};

/// Cells to be counted in: each is cut `levels` times into eight.
struct count_request {
  std::vector<cell> cells;
  int levels = 0;

  std::size_t counts_per_cell() const { return std::size_t{1} << (3 * levels); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(cells, levels);
  }
};

/// The number of keys in each part of each requested cell. `keys` are sorted.
std::vector<std::uint64_t> count_bodies(std::span<const std::uint64_t> keys, const count_request& request);

/// Refines until no cell has more than `most` bodies, or cannot be cut further.
///
///   state       request() has cells         next
///   refining    those with too many bodies  take(counts of all bodies)
///   done        none                        subtrees()
class cell_refinement {
 public:
  cell_refinement(std::uint64_t bodies, std::uint64_t most);
  bool done() const { return request_.cells.empty(); }
  const count_request& request() const { return request_; }
  /// The counts of count_bodies, summed over all bodies. Throws std::logic_error when there are too few or too many,
  /// and when bodies are missing.
  void take(std::span<const std::uint64_t> counts);
  /// Those with bodies, in the order of keys.
  std::vector<cell> subtrees() const;

 private:
  void refine(const cell& of, std::span<const std::uint64_t> counts);
  void sort_out(const cell& made, std::vector<cell>& too_large);

  std::uint64_t most_;
  std::vector<cell> finished_;
  count_request request_;
};

/// The subtrees and who has them.
struct decomposition {
  root_cube cube;
  std::vector<cell> subtrees;
  std::vector<std::uint32_t> first_of_piece;  ///< one more than pieces: piece p has first_of_piece[p] to [p + 1]

  std::size_t pieces() const { return first_of_piece.size() - 1; }
  std::uint64_t bodies_of(std::size_t piece) const;
  /// The subtree with this key.
  std::size_t subtree_of(std::uint64_t key) const;
  std::size_t piece_of(std::size_t subtree) const;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(cube, subtrees, first_of_piece);
  }
};

/// Runs with about the same number of bodies; pieces may get none.
decomposition deal(const root_cube& cube, std::vector<cell> subtrees, std::size_t pieces);

/// Where the parts of space that pieces have begin, as keys of the cube; and the end.
struct division {
  root_cube cube;
  std::vector<std::uint64_t> first_keys;
};
division division_of(const decomposition& now);
/// A subtree goes to the piece in whose part it begins. `subtrees` are of the same cube.
decomposition deal_as(const division& before, std::vector<cell> subtrees);

}  // namespace gravity
