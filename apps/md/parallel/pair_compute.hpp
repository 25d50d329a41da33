// A compute object: the forces between two patches, named (patch, kind) as in patch_grid.hpp. It reads positions and
// writes forces through the proxies of its PE and is run, as a message of its own, once both patches have arrived.
#pragma once

#include "md/parallel/proxies.hpp"

namespace md {

class recorder;

class pair_compute : public tri::array_element<pair_compute, tri::index<2>> {
 public:
  pair_compute(const tri::group<proxies>& proxies, const tri::element_ref<recorder>& output);
  /// Entry method: one step's lists and forces.
  void work(const step_kind& kind);
  /// Entry method: entries of the list now.
  std::int64_t listed_pairs() const { return static_cast<std::int64_t>(list_.pairs()); }

  // For the proxies of this PE.
  /// A patch of this pair has sent its positions.
  void input_arrived(const step_kind& kind);
  std::span<const atom_span> touched(int side) const { return list_.touched(side); }

 private:
  proxies* proxies_;
  tri::element_ref<recorder> output_;
  int patch_;
  int other_;
  pair_list list_;
  std::size_t slot_;
  std::size_t other_slot_ = 0;
  int missing_;
};

}  // namespace md
