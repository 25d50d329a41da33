// The grid of patches that the box is divided into, and their neighbours.
//
// Every patch is at least `reach` (cutoff + skin) wide, so that the partners of an atom are in its own patch and the 26
// around it. Patch pairs are counted once by the half-shell rule: patch p owns 14 pairs, kind 0 (with itself) and kinds
// 1..13 (with the neighbour in direction `half_shell[kind]`). A pair is identified by (patch, kind), never by its two
// patches: with one or two patches in a direction the same two patches meet through several periodic images, and the
// shift distinguishes them.
#pragma once

#include <span>

#include "md/system/box.hpp"

namespace md {

inline constexpr int pair_kinds = 14;
/// Force contributions that a patch receives: side A of its own 14 pairs and side B of 13 pairs of others.
inline constexpr int contributions_per_patch = 27;

/// Direction of the second patch, by pair kind. Kind 0 is the patch itself.
inline constexpr std::array<int3, pair_kinds> half_shell = {{{0, 0, 0},
                                                             {1, 0, 0},
                                                             {-1, 1, 0},
                                                             {0, 1, 0},
                                                             {1, 1, 0},
                                                             {-1, -1, 1},
                                                             {0, -1, 1},
                                                             {1, -1, 1},
                                                             {-1, 0, 1},
                                                             {0, 0, 1},
                                                             {1, 0, 1},
                                                             {-1, 1, 1},
                                                             {0, 1, 1},
                                                             {1, 1, 1}}};

/// The second patch of a pair and the shift to add to its positions as the first patch sees them.
struct patch_pair {
  int other;
  vec3 shift;
};

/// Where one contribution comes from: side 0 (A) or 1 (B) of pair (patch, kind).
struct contribution_source {
  int patch;
  int kind;
  int side;
};

class patch_grid {
 public:
  patch_grid() = default;
  /// Throws std::invalid_argument, with the largest allowed count, if a patch would be narrower than `reach`.
  patch_grid(const md::box& box, const int3& counts, double reach);

  /// As many patches per direction as fit when each is at least `patch_size` wide.
  static int3 counts_for(const md::box& box, double patch_size);

  int size() const { return counts_[0] * counts_[1] * counts_[2]; }
  const int3& counts() const { return counts_; }
  int index(const int3& at) const { return (at[2] * counts_[1] + at[1]) * counts_[0] + at[0]; }
  int3 coordinates(int patch) const;
  /// The patch that owns a wrapped position.
  int owner(const vec3& position) const;
  vec3 low_corner(int patch) const;
  vec3 width() const { return width_; }
  vec3 middle(int patch) const;

  patch_pair pair(int patch, int kind) const;
  /// The contributions of a patch in the one order in which they are added: kinds 0..13 as side A, 1..13 as side B.
  std::array<contribution_source, contributions_per_patch> contributions(int patch) const;
  /// Whether `other` is the patch itself or one of the (up to) 26 around it.
  bool adjacent(int patch, int other) const;
  /// The (up to) 26 other patches around a patch, each once.
  std::vector<int> neighbours(int patch) const;

 private:
  int wrapped_index(const int3& at) const;

  md::box box_;
  int3 counts_{};
  vec3 width_{};
};

}  // namespace md
