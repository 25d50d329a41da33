// Rows of the charge mesh as an object: gets their modes from all slabs, turns charges into the potential, and sends it
// back. Energy and virial of each row go to the recorder. Steps do not overlap (pme_slab.hpp).
#pragma once

#include <vector>

#include "md/electrostatics/mesh_rows.hpp"
#include "md/parallel/proxies.hpp"

namespace md {

class pme_slab;
class recorder;

class pme_rows : public tri::array_element<pme_rows, tri::index<1>> {
 public:
  /// Of one that arrives from another process; between steps there is nothing to bring.
  pme_rows();
  pme_rows(const tri::group<proxies>& proxies, const tri::array<pme_slab>& slabs,
           const tri::element_ref<recorder>& output);
  /// Entry method: the modes of the planes of one slab.
  void modes(const step_kind& kind, int from, tri::buffer<complex> modes);

  // Entry methods of a balancing.
  int allow_moves(bool may_move);
  void scatter(std::int64_t round);
  void describe_load(tri::load_description& load);
  template <class Archive>
  void serialize(Archive& archive) {
    archive(proxies_, slabs_, output_, may_move_);
  }

 private:
  void convolve(const step_kind& kind);

  tri::group<proxies> proxies_;
  bool may_move_ = false;
  tri::array<pme_slab> slabs_;
  tri::element_ref<recorder> output_;
  mesh_rows rows_;
  std::vector<tri::buffer<complex>> buffers_;  ///< by slab; they come with modes and go with the potential
  int arrived_ = 0;
};

}  // namespace md
