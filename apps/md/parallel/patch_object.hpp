// A patch as an object: owns its atoms, lets them move, and exchanges positions for forces with the pairs around it.
//
// The steps of a patch are one coroutine. Patches agree without a common barrier: a patch continues as soon as the
// forces on its own atoms have arrived. Results for the thermo table, frames and restarts go to the recorder and are
// not waited for; only --check needs an answer from all patches, at the steps at which lists may be built.
#pragma once

#include "md/parallel/proxies.hpp"
#include "md/patches/patch.hpp"

namespace md {

class pme_slab;
class recorder;

class patch_object : public tri::array_element<patch_object, tri::index<3>> {
 public:
  /// Of a patch that arrives from another process.
  patch_object();
  /// `slabs`: of the charge mesh; without elements if there is none.
  patch_object(const tri::group<proxies>& proxies, const tri::array<pme_slab>& slabs,
               const tri::element_ref<recorder>& output);

  /// Entry methods of the start. `present`: where the atoms are, if not where they were at the last list build.
  void fill(tri::buffer<atom_record> atoms, tri::buffer<vec3> present);
  /// Lists and forces of the first step. Returns the number of atoms.
  tri::task<std::int64_t> start();
  /// Entry method: runs to the last step and returns `ended`, or stops in a step that builds lists when a balancing is
  /// due, and returns the step. Called again, it goes on from there.
  tri::task<std::int64_t> run();
  static constexpr std::int64_t ended = -1;
  std::int64_t list_builds() const { return list_builds_; }

  // Entry methods of a balancing.
  int allow_moves(bool may_move);
  void scatter(std::int64_t round);
  /// Finds the PEs that compute forces on this patch. Returns 1.
  int connect();
  void describe_load(tri::load_description& load);
  template <class Archive>
  void save(Archive& archive) const {
    archive(proxies_, output_, slabs_, may_move_, step_, clock_.steps_since_build(), stopped_, last_balancing_,
            list_builds_, atoms_.records());
  }
  template <class Archive>
  void load(Archive& archive) {
    std::int32_t steps_since_build = 0;
    std::vector<atom_record> atoms;
    archive(proxies_, output_, slabs_, may_move_, step_, steps_since_build, stopped_, last_balancing_, list_builds_,
            atoms);
    clock_ = reneighbor_clock(world_.settings(), steps_since_build);
    for (const atom_record& atom : atoms) atoms_.arrive(atom);
  }

  // Entry methods for others.
  /// The forces on this patch that the pairs of a PE have found.
  void forces(std::int64_t step, int pe, tri::buffer<vec4> forces);
  /// The atoms that they touch until the next build: for each slot the number of spans, and all the spans.
  void touched(int pe, tri::buffer<std::uint32_t> counts, tri::buffer<atom_span> spans);
  /// The atoms that come from one of the patches around.
  void arrivals(std::int64_t step, const tri::buffer<atom_record>& atoms);
  /// The potential at the points of this patch that are in one slab of the charge mesh.
  void potential(std::int64_t step, int slab, tri::buffer<double> values);
  /// What all patches together decided: whether this step builds lists (1 or 0). With --barrier, also 0 when all have
  /// done the step.
  int decision(std::int64_t step, int build) const { return step == step_ ? build : 0; }

 private:
  /// A PE that computes some of the forces on this patch.
  struct source {
    int pe;
    tri::buffer<vec4> forces;
    tri::buffer<std::uint32_t> span_counts;
    tri::buffer<atom_span> spans;
  };
  source& source_of(int pe);

  bool balancing_due() const;
  tri::task<> exchange_atoms();
  void send_positions(const step_kind& kind);
  void send_charges(const step_kind& kind);
  void interpolate();
  /// Waits for all forces of the step.
  tri::task<> forces_of_step();
  void sum_forces();
  void report_step(bool sums);
  void send_snapshot();

  const world& world_;
  tri::group<proxies> proxies_;
  proxies* own_proxies_ = nullptr;  ///< of this PE, from connect on
  tri::element_ref<recorder> output_;
  int number_;
  patch atoms_;
  std::vector<std::pair<std::int64_t, vec3>> present_;
  reneighbor_clock clock_;
  std::int64_t step_;
  bool may_move_ = false;
  bool stopped_ = false;             ///< in step_, for a balancing
  std::int64_t last_balancing_ = 0;  ///< the step
  std::int64_t list_builds_ = 0;
  std::vector<int> neighbours_;
  std::vector<source> sources_;
  // The charge mesh.
  tri::array<pme_slab> slabs_;
  std::vector<int> near_slabs_;
  std::vector<tri::buffer<double>> parts_;  ///< by place in near_slabs_: memory that goes there and comes back
  mesh_block block_;
  bool charges_sent_ = false;
  std::vector<double> mesh_values_;  ///< charges, then the potential, at the points of the block
  std::vector<vec4> mesh_forces_;
  std::array<std::pair<std::size_t, std::size_t>, contributions_per_patch> slots_{};  ///< source and slot, in order
};

}  // namespace md
