// A compute object: the forces between two patches, named (patch, kind) as in patch_grid.hpp. It reads positions and
// writes forces through the proxies of its PE and is run, as a message of its own, once both patches have arrived.
#pragma once

#include "md/parallel/proxies.hpp"

namespace md {

class recorder;

/// On which PE a pair is, with its number patch * pair_kinds + kind.
struct place_of_pair {
  std::int32_t pair = 0;
  std::int32_t pe = 0;
};

class pair_compute : public tri::array_element<pair_compute, tri::index<2>> {
 public:
  /// Of a pair that arrives from another process. Lists do not travel: balancings are followed by list builds.
  pair_compute();
  pair_compute(const tri::group<proxies>& proxies, const tri::element_ref<recorder>& output);
  /// Entry method: one step's lists and forces.
  void work(const step_kind& kind);
  /// Entry method: entries of the list now.
  std::int64_t listed_pairs() const { return static_cast<std::int64_t>(list_.pairs()); }

  // Entry methods of a balancing.
  int allow_moves(bool may_move);
  void scatter(std::int64_t round);
  place_of_pair where() const;
  /// Registers with the proxies of this PE. Returns 1.
  int enroll();
  void describe_load(tri::load_description& load);
  template <class Archive>
  void serialize(Archive& archive) {
    archive(group_, output_, may_move_);
  }

  // For the proxies of this PE.
  /// A patch of this pair has sent its positions.
  void input_arrived(const step_kind& kind);
  std::span<const atom_span> touched(int side) const { return list_.touched(side); }

 private:
  /// The forces are written.
  void finish(const step_kind& kind, const pair_sums& sums);

  tri::group<proxies> group_;
  proxies* proxies_ = nullptr;  ///< of this PE, from enroll on
  tri::element_ref<recorder> output_;
  bool may_move_ = false;
  int patch_;
  int other_;
  pair_list list_;
  std::size_t slot_ = 0;
  std::size_t other_slot_ = 0;
  int missing_;
};

}  // namespace md
