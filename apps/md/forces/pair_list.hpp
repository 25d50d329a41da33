// The work of one compute object: the neighbour list of one pair of patches, and the forces over it.
//
// A list is built when atoms have changed patches and reused until the next build; it holds all pairs within
// cutoff + skin. Owned by one thread at a time. Work memory comes from outside, one per thread, so that thousands of
// lists need not own it.
#pragma once

#include "md/patches/patch.hpp"

namespace md {

/// Work memory of list building; contents mean nothing between calls.
struct list_scratch {
  struct bounds {
    vec3 low;
    vec3 high;
  };
  std::vector<double> x, y, z;
  std::vector<bounds> clusters_a, clusters_b;
  std::vector<std::uint32_t> near_a, near_b;
  std::vector<std::uint32_t> candidates;
  std::vector<std::uint32_t> found;
  std::vector<std::uint8_t> marks;
};

class pair_list {
 public:
  /// `self`: the pair of a patch with itself, without a shift; then a and b are always the same arrays.
  pair_list(bool self, const vec3& shift) : self_(self), shift_(shift) {}

  void build(const kernel_set& kernels, const patch_view& a, const patch_view& b, double reach,
             const coefficient_table& table, list_scratch& scratch);

  /// Writes the forces on those atoms of a and of b that the list touches (see touched). The arrays have padding_atoms
  /// more than the patch has atoms and need no initialisation; for a self pair both are the same array.
  /// Energy and virial are computed, and returned, only when wanted: zeros otherwise.
  pair_sums compute(const kernel_set& kernels, const patch_view& a, const patch_view& b, const coefficient_table& table,
                    bool sums_wanted, vec4* a_forces, vec4* b_forces) const;

  /// The atoms of side 0 (a) or 1 (b) that get a force, from the last build to the next; a self pair has side 0 only.
  std::span<const atom_span> touched(int side) const { return side == 0 ? touched_a_ : touched_b_; }

  bool empty() const { return runs_.empty(); }
  bool self() const { return self_; }
  const vec3& shift() const { return shift_; }
  /// Entries of the list without padding.
  std::size_t pairs() const { return pairs_; }

 private:
  void find_touched(std::size_t a_atoms, std::size_t b_atoms, std::vector<std::uint8_t>& marks);
  void add_runs(std::uint32_t i, const patch_view& a, const patch_view& b, std::span<const std::uint32_t> found,
                const coefficient_table& table, std::uint32_t lanes);

  bool self_;
  vec3 shift_;
  std::vector<neighbour_run> runs_;
  std::vector<std::uint32_t> neighbours_;
  std::vector<atom_span> touched_a_, touched_b_;
  std::size_t pairs_ = 0;
};

}  // namespace md
