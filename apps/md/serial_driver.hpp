// A whole simulation in one thread: a plain loop over patches and pairs. It is the sequential reference that every
// parallel run must equal bit for bit, and it shows the order in which a step uses the library.
#pragma once

#include <memory>

#include "md/electrostatics/pme_solver.hpp"
#include "md/files/restart.hpp"
#include "md/forces/pair_list.hpp"
#include "md/output/thermo.hpp"
#include "md/settings.hpp"
#include "md/system/atoms.hpp"

namespace md {

class serial_driver {
 public:
  /// Distributes the atoms over patches, builds the lists and computes the forces of the first step.
  serial_driver(const atom_system& system, const run_settings& settings, const kernel_set& kernels);
  /// Continues a run bit-identically, if settings and kernels are those it was started with.
  serial_driver(const restart_state& state, const run_settings& settings, const kernel_set& kernels);

  /// One time step; with sums, thermo() is valid for the step afterwards.
  void advance(bool sums_wanted);
  /// Of the present step. After the constructor, or after a step with sums.
  thermo_row thermo() const;

  std::int64_t step() const { return step_; }
  std::size_t atom_count() const { return atom_count_; }
  const patch_grid& grid() const { return grid_; }
  std::int64_t list_builds() const { return list_builds_; }
  std::size_t listed_pairs() const;
  /// All atoms sorted by id, wrapped into the box.
  std::vector<atom_record> atoms() const;
  /// Force on every atom, in the order of atoms().
  std::vector<vec3> forces() const;
  restart_state restart() const;

 private:
  struct pair_work {
    int a;
    int b;
    pair_list list;
    std::vector<vec4> a_forces;
    std::vector<vec4> b_forces;
    pair_sums sums;
  };

  void make_electrostatics(const atom_system& system);
  void distribute(const std::vector<atom_record>& atoms);
  void exchange();
  void settle_and_build();
  void compute_forces(bool sums_wanted);
  bool rebuild_wanted();

  atom_system frame_;  ///< without atoms
  run_settings settings_;
  const kernel_set* kernels_;
  patch_grid grid_;
  coefficient_table table_;
  std::unique_ptr<pme_solver> pme_;  ///< none without it
  pair_sums constant_sums_;          ///< of the charges, whatever the positions
  pair_sums reciprocal_sums_;
  reneighbor_clock clock_;
  std::vector<patch> patches_;
  std::vector<pair_work> pairs_;  ///< pair (patch, kind) is at patch * pair_kinds + kind
  list_scratch scratch_;
  std::size_t atom_count_ = 0;
  std::int64_t step_ = 0;
  std::int64_t list_builds_ = 0;
};

/// The grid given by the settings.
patch_grid make_grid(const box& box, const run_settings& settings);

}  // namespace md
