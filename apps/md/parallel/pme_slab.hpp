// A slab of the charge mesh as an object: patches send it their charges, it transforms them in x and y, exchanges modes
// with the rows, and sends the potential back. No coroutine, so that it may move between steps.
//
// Steps do not overlap: a patch sends the charges of the next step only after this slab has answered the last one.
#pragma once

#include <vector>

#include "md/electrostatics/mesh_slab.hpp"
#include "md/parallel/proxies.hpp"

namespace md {

class pme_rows;

class pme_slab : public tri::array_element<pme_slab, tri::index<1>> {
 public:
  /// Of one that arrives from another process; between steps there is nothing to bring.
  pme_slab();
  explicit pme_slab(const tri::group<proxies>& proxies);

  // Entry methods.
  /// At the start. Returns 1.
  int connect(const tri::array<pme_rows>& rows);
  /// The charges of a patch at the points of `block` that are in this slab; none if the patch has no atom near it. The
  /// buffer goes back with the potential, an empty one too: it lets the patch go on.
  void charges(const tri::element_ref<patch_object>& patch, const step_kind& kind, int number, const mesh_block& block,
               tri::buffer<double> values);
  /// The potential, as modes, of the rows of one object.
  void potential(std::int64_t step, int from, tri::buffer<complex> modes);

  // Entry methods of a balancing.
  int allow_moves(bool may_move);
  void scatter(std::int64_t round);
  void describe_load(tri::load_description& load);
  template <class Archive>
  void serialize(Archive& archive) {
    archive(proxies_, rows_, may_move_);
  }

 private:
  struct input {
    tri::element_ref<patch_object> patch;
    mesh_block block;
    tri::buffer<double> values;
  };
  void send_modes(const step_kind& kind);
  void send_potential(std::int64_t step);

  tri::group<proxies> proxies_;
  bool may_move_ = false;
  tri::array<pme_rows> rows_;
  mesh_slab slab_;
  std::vector<int> patches_;   ///< that may have charges here, in order
  std::vector<input> inputs_;  ///< by place in patches_
  std::size_t arrived_ = 0;
  int returned_ = 0;
};

}  // namespace md
