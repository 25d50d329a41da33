// The read-only data of a parallel run: published once by the root, one copy per process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "md/electrostatics/long_range.hpp"
#include "md/forces/pair_list.hpp"
#include "md/patches/patch_grid.hpp"
#include "md/patches/work_placement.hpp"
#include "md/settings.hpp"
#include "trireme/objects.hpp"

namespace md {

template <class Archive>
void serialize(Archive& archive, type_parameters& type) {
  archive(type.epsilon, type.sigma, type.charge);
}

template <class Archive>
void serialize(Archive& archive, pair_sums& sums) {
  archive(sums.energy, sums.virial);
}

/// Which steps of a run produce output: decided before the run, so that every patch knows without asking.
struct output_plan {
  std::int64_t first = 0;  ///< the step that the run starts from
  std::int64_t last = 0;
  std::int64_t thermo_every = 0;   ///< 0: first and last only
  std::int64_t dump_every = 0;     ///< 0: no trajectory
  std::int64_t restart_every = 0;  ///< 0: after the last step only
  bool writes_restart = false;
  bool continued = false;  ///< from a restart: the frame of the first step is in the trajectory already

  bool thermo(std::int64_t step) const { return step == first || step == last || is_multiple(step, thermo_every); }
  bool frame(std::int64_t step) const {
    if (step == first) return dump_every != 0 && !continued;
    return is_multiple(step, dump_every);
  }
  bool restart(std::int64_t step) const {
    return writes_restart && (step == last || (step != first && is_multiple(step, restart_every)));
  }

 private:
  static bool is_multiple(std::int64_t step, std::int64_t every) { return every != 0 && step % every == 0; }
};

/// The part of the world that is plain data.
struct world_facts {
  md::box box;
  run_settings settings;
  output_plan plan;
  std::array<char, 16> kernels{};
  std::int32_t steps_since_build = 0;  ///< at the first step
  bool shows_progress = false;
  bool barrier = false;            ///< patches wait for each other after every step
  std::int64_t balance_every = 0;  ///< steps between balancings, at the next list build; 0: none
  std::int64_t balance_first = 0;  ///< steps before the first one
  std::int32_t mesh_objects = 1;   ///< slabs and rows of the charge mesh
  pair_sums constant_sums;         ///< of the charges, whatever the positions
};

class world {
 public:
  world() = default;
  world(const world_facts& facts, std::vector<double> masses, std::vector<type_parameters> types,
        work_placement placement)
      : facts_(facts), masses_(std::move(masses)), types_(std::move(types)), placement_(std::move(placement)) {
    derive();
  }

  const md::box& box() const { return facts_.box; }
  const run_settings& settings() const { return facts_.settings; }
  const output_plan& plan() const { return facts_.plan; }
  std::int32_t steps_since_build() const { return facts_.steps_since_build; }
  bool shows_progress() const { return facts_.shows_progress; }
  const std::vector<double>& masses() const { return masses_; }
  const std::vector<type_parameters>& types() const { return types_; }
  const patch_grid& grid() const { return grid_; }
  const coefficient_table& coefficients() const { return coefficients_; }
  const kernel_set& kernels() const { return *kernels_; }
  bool barrier() const { return facts_.barrier; }
  std::int64_t balance_every() const { return facts_.balance_every; }
  std::int64_t balance_first() const { return facts_.balance_first; }
  const pair_sums& constant_sums() const { return facts_.constant_sums; }
  /// By type.
  const std::vector<double>& charges() const { return charges_; }
  bool has_long_range() const { return long_range_ != nullptr; }
  /// With particle-mesh Ewald only.
  const md::long_range& long_range() const { return *long_range_; }

  int patch_pe(int patch) const { return placement_.patch_pe[static_cast<std::size_t>(patch)]; }
  int pair_pe(int patch, int kind) const {
    return placement_.pair_pe[static_cast<std::size_t>(patch * pair_kinds + kind)];
  }
  const std::vector<std::int32_t>& pair_places() const { return placement_.pair_pe; }
  /// Patches are an array over (z, y, x), so that an element's number is the grid's number of the patch.
  tri::index<3> patch_index(int patch) const {
    const int3 at = grid_.coordinates(patch);
    return {at[2], at[1], at[0]};
  }

  template <class Archive>
  void save(Archive& archive) const {
    archive(facts_, masses_, types_, placement_.patch_pe, placement_.pair_pe);
  }
  template <class Archive>
  void load(Archive& archive) {
    archive(facts_, masses_, types_, placement_.patch_pe, placement_.pair_pe);
    derive();
  }

 private:
  void derive();

  world_facts facts_;
  std::vector<double> masses_;
  std::vector<type_parameters> types_;
  work_placement placement_;
  patch_grid grid_;
  coefficient_table coefficients_;
  std::vector<double> charges_;
  std::shared_ptr<const md::long_range> long_range_;
  const kernel_set* kernels_ = nullptr;
};

extern tri::read_only<world> the_world;

/// The work of a step.
struct step_kind {
  std::int64_t step = 0;
  bool build = false;  ///< patches have changed their atoms: neighbour lists are rebuilt
  bool sums = false;   ///< energy and virial are wanted
};

}  // namespace md
