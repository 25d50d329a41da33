// See serial_driver.hpp.
#include "md/serial_driver.hpp"

#include <algorithm>

#include "md/electrostatics/ewald_parameters.hpp"

namespace md {

patch_grid make_grid(const box& box, const run_settings& settings) {
  int3 counts = settings.patches;
  if (counts == int3{}) {
    counts = patch_grid::counts_for(box, settings.patch_size > 0.0 ? settings.patch_size : 2.0 * settings.reach());
  }
  return {box, counts, settings.reach()};
}

serial_driver::serial_driver(const atom_system& system, const run_settings& settings, const kernel_set& kernels)
    : frame_{system.box, system.masses, system.types, {}},
      settings_(settings),
      kernels_(&kernels),
      grid_(make_grid(system.box, settings)),
      table_(system.types, settings.cutoff, settings.charges),
      clock_(settings) {
  make_electrostatics(system);
  distribute(system.atoms);
  settle_and_build();
  compute_forces(true);
}

serial_driver::serial_driver(const restart_state& state, const run_settings& settings, const kernel_set& kernels)
    : frame_{state.system.box, state.system.masses, state.system.types, {}},
      settings_(settings),
      kernels_(&kernels),
      grid_(make_grid(state.system.box, settings)),
      table_(state.system.types, settings.cutoff, settings.charges),
      clock_(settings, state.steps_since_build),
      step_(state.step) {
  // Lists and the order of the atoms come from where the atoms were at the last build; then they go where they are now.
  std::vector<atom_record> held = state.system.atoms;
  for (std::size_t i = 0; i < held.size(); ++i) held[i].position = state.held_positions[i];
  make_electrostatics(state.system);
  distribute(held);
  settle_and_build();
  const auto by_id = [](const atom_record& atom, std::int64_t id) { return atom.id < id; };
  for (patch& p : patches_) {
    for (std::size_t i = 0; i < p.size(); ++i) {
      p.move(i, std::lower_bound(state.system.atoms.begin(), state.system.atoms.end(), p.ids()[i], by_id)->position);
    }
  }
  compute_forces(true);
}

void serial_driver::make_electrostatics(const atom_system& system) {
  if (settings_.charges.method != electrostatics::pme) return;
  constant_sums_ = constant_sums(system.box, totals_of(system), settings_.charges);
  pme_ = std::make_unique<pme_solver>(system.box, settings_.charges, charges_of(system.types));
}

void serial_driver::distribute(const std::vector<atom_record>& atoms) {
  atom_count_ = atoms.size();
  patches_.resize(static_cast<std::size_t>(grid_.size()));
  for (atom_record atom : atoms) {
    frame_.box.wrap(atom.position, atom.image);
    patches_[static_cast<std::size_t>(grid_.owner(atom.position))].arrive(atom);
  }
  for (int a = 0; a < grid_.size(); ++a) {
    for (int kind = 0; kind < pair_kinds; ++kind) {
      const patch_pair pair = grid_.pair(a, kind);
      pairs_.push_back({a, pair.other, pair_list(kind == 0, pair.shift), {}, {}, {}});
    }
  }
}

void serial_driver::exchange() {
  std::vector<departure> travellers;
  for (int p = 0; p < grid_.size(); ++p) {
    std::vector<departure> gone = patches_[static_cast<std::size_t>(p)].leave(frame_.box, grid_, p);
    travellers.insert(travellers.end(), gone.begin(), gone.end());
  }
  for (const departure& d : travellers) patches_[static_cast<std::size_t>(d.patch)].arrive(d.atom);
}

void serial_driver::settle_and_build() {
  for (int p = 0; p < grid_.size(); ++p) {
    patches_[static_cast<std::size_t>(p)].settle(grid_.low_corner(p), grid_.width());
  }
  for (pair_work& work : pairs_) {
    const patch_view a = patches_[static_cast<std::size_t>(work.a)].view();
    const patch_view b = patches_[static_cast<std::size_t>(work.b)].view();
    work.list.build(*kernels_, a, b, settings_.reach(), table_, scratch_);
    work.a_forces.resize(a.atoms + padding_atoms);
    if (!work.list.self()) work.b_forces.resize(b.atoms + padding_atoms);
  }
  ++list_builds_;
}

void serial_driver::compute_forces(bool sums_wanted) {
  for (pair_work& work : pairs_) {
    work.sums = {};
    if (work.list.empty()) continue;
    vec4* const b_forces = work.list.self() ? work.a_forces.data() : work.b_forces.data();
    work.sums = work.list.compute(*kernels_, patches_[static_cast<std::size_t>(work.a)].view(),
                                  patches_[static_cast<std::size_t>(work.b)].view(), table_, sums_wanted,
                                  work.a_forces.data(), b_forces);
  }
  if (pme_) {
    std::vector<std::span<const vec4>> positions;
    for (const patch& p : patches_) positions.push_back(p.positions());
    reciprocal_sums_ = pme_->compute(positions, sums_wanted);
  }
  std::array<force_contribution, contributions_per_patch + 1> contributions{};
  for (int p = 0; p < grid_.size(); ++p) {
    std::size_t next = 0;
    atom_span all{};
    for (const contribution_source& source : grid_.contributions(p)) {
      const pair_work& work = pairs_[static_cast<std::size_t>(source.patch * pair_kinds + source.kind)];
      const std::span<const atom_span> spans = work.list.touched(source.side);
      contributions[next++] = {source.side == 0 ? work.a_forces.data() : work.b_forces.data(), spans.data(),
                               spans.size()};
    }
    if (pme_) {
      const std::span<const vec4> forces = pme_->forces(static_cast<std::size_t>(p));
      all.end = static_cast<std::uint32_t>(forces.size());
      contributions[next++] = {forces.data(), &all, 1};
    }
    patches_[static_cast<std::size_t>(p)].sum_forces(*kernels_, {contributions.data(), next});
  }
}

bool serial_driver::rebuild_wanted() {
  if (!clock_.due()) return false;
  if (!clock_.checks_displacement()) return true;
  double largest = 0.0;
  for (const patch& p : patches_) largest = std::max(largest, p.displacement_squared());
  return clock_.too_far(largest);
}

void serial_driver::advance(bool sums_wanted) {
  ++step_;
  for (patch& p : patches_) p.first_half_step(settings_.dt, frame_.masses);
  if (rebuild_wanted()) {
    exchange();
    settle_and_build();
    clock_.built();
  }
  compute_forces(sums_wanted);
  for (patch& p : patches_) p.second_half_step(settings_.dt, frame_.masses);
}

thermo_row serial_driver::thermo() const {
  double mass_velocity_squared = 0.0;
  pair_sums sums;
  for (const patch& p : patches_) mass_velocity_squared += p.mass_velocity_squared(frame_.masses);
  for (const pair_work& work : pairs_) sums += work.sums;
  if (pme_) {
    sums += reciprocal_sums_;
    sums += constant_sums_;
  }
  return make_thermo_row(step_, mass_velocity_squared, sums, atom_count_, frame_.box.volume());
}

std::size_t serial_driver::listed_pairs() const {
  std::size_t count = 0;
  for (const pair_work& work : pairs_) count += work.list.pairs();
  return count;
}

std::vector<atom_record> serial_driver::atoms() const {
  std::vector<atom_record> result;
  result.reserve(atom_count_);
  for (const patch& p : patches_) {
    for (std::size_t i = 0; i < p.size(); ++i) {
      result.push_back(p.record(i));
      frame_.box.wrap(result.back().position, result.back().image);
    }
  }
  std::sort(result.begin(), result.end(), [](const atom_record& a, const atom_record& b) { return a.id < b.id; });
  return result;
}

std::vector<vec3> serial_driver::forces() const {
  std::vector<std::pair<std::int64_t, vec3>> found;
  for (const patch& p : patches_) {
    for (std::size_t i = 0; i < p.size(); ++i) {
      const vec4& f = p.forces()[i];
      found.push_back({p.ids()[i], {f.x, f.y, f.z}});
    }
  }
  std::sort(found.begin(), found.end());
  std::vector<vec3> result;
  for (const auto& [id, force] : found) result.push_back(force);
  return result;
}

restart_state serial_driver::restart() const {
  restart_state state{frame_, settings_, std::string(kernels_->name), step_, clock_.steps_since_build(), {}};
  state.settings.patches = grid_.counts();
  for (const patch& p : patches_) state.add(p);
  state.sort();
  return state;
}

}  // namespace md
