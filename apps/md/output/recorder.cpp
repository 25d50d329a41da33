// See recorder.hpp.
#include "md/output/recorder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "md/electrostatics/mesh_rows.hpp"
#include "md/parallel/movable.hpp"
#include "md/parallel/patch_object.hpp"
#include "os/clock.hpp"

namespace md {

recorder::recorder(output_files files) : files_(std::move(files)) {}

void recorder::describe_load(tri::load_description& load) { describe_object(load, the_world->box().low, false); }

void recorder::open_files() {
  if (!files_.trajectory.empty()) {
    trajectory_.emplace(files_.trajectory, files_.format, the_world->plan().continued);
  }
}

int recorder::connect(const tri::array<patch_object>& patches, std::int64_t atoms) {
  patches_ = patches;
  atom_count_ = static_cast<std::size_t>(atoms);
  return 1;
}

void recorder::kinetic_total(const step_value<double>& total) {
  rows_[total.step].mass_velocity_squared = total.value;
  print_complete_rows();
}

void recorder::pair_total(const step_value<pair_sums>& total) {
  rows_[total.step].pairs = total.value;
  print_complete_rows();
}

void recorder::reciprocal_sums(std::int64_t step, int first_row, const tri::buffer<pair_sums>& sums) {
  thermo_parts& parts = rows_[step];
  parts.mesh_rows.resize(static_cast<std::size_t>(the_world->long_range().mesh().points[1]));
  std::ranges::copy(sums, parts.mesh_rows.begin() + first_row);
  parts.rows_there += sums.size();
  print_complete_rows();
}

void recorder::print_complete_rows() {
  while (!rows_.empty()) {
    const auto& [step, parts] = *rows_.begin();
    if (!parts.mass_velocity_squared || !parts.pairs) return;
    pair_sums sums = *parts.pairs;
    if (the_world->has_long_range()) {
      if (parts.rows_there != static_cast<std::size_t>(the_world->long_range().mesh().points[1])) return;
      sums += total_of_rows(parts.mesh_rows);
      sums += the_world->constant_sums();
    }
    erase_progress();
    if (step == the_world->plan().first) fmt::print("{}\n", thermo_header());
    const thermo_row row =
        make_thermo_row(step, *parts.mass_velocity_squared, sums, atom_count_, the_world->box().volume());
    fmt::print("{}\n", format_thermo(row, files_.thermo_digits));
    std::fflush(stdout);
    rows_.erase(rows_.begin());
  }
}

void recorder::snapshot(std::int64_t step, std::int32_t steps_since_build, const tri::buffer<atom_record>& atoms,
                        const tri::buffer<vec3>& held) {
  snapshot_parts& parts = snapshots_[step];
  parts.steps_since_build = steps_since_build;
  parts.atoms.insert(parts.atoms.end(), atoms.begin(), atoms.end());
  parts.held.insert(parts.held.end(), held.begin(), held.end());
  ++parts.patches;
  // Patches report their steps in order, so the earliest one is complete first.
  while (!snapshots_.empty() && snapshots_.begin()->second.patches == the_world->grid().size()) {
    auto& [complete_step, complete] = *snapshots_.begin();
    if (the_world->plan().frame(complete_step)) write_frame(complete_step, complete.atoms);
    if (the_world->plan().restart(complete_step)) write_restart_file(complete_step, complete);
    snapshots_.erase(snapshots_.begin());
  }
}

void recorder::write_frame(std::int64_t step, const std::vector<atom_record>& atoms) {
  std::vector<atom_record> sorted = atoms;
  for (atom_record& atom : sorted) the_world->box().wrap(atom.position, atom.image);
  std::ranges::sort(sorted, {}, &atom_record::id);
  trajectory_->write(step, the_world->box(), sorted);
}

void recorder::write_restart_file(std::int64_t step, snapshot_parts& parts) {
  const world& w = *the_world;
  restart_state state{{w.box(), w.masses(), w.types(), std::move(parts.atoms)},
                      w.settings(),
                      std::string(w.kernels().name),
                      step,
                      parts.steps_since_build,
                      std::move(parts.held)};
  state.sort();
  write_restart(files_.restart, state);
}

void recorder::displacement(const step_maximum& largest) {
  const reneighbor_clock clock(the_world->settings());
  answer_patches(largest.step, clock.too_far(largest.value) ? 1 : 0);
}

void recorder::step_ended(const step_maximum& step) { answer_patches(step.step, 0); }

void recorder::answer_patches(std::int64_t step, int answer) {
  for (int p = 0; p < the_world->grid().size(); ++p) {
    patches_[the_world->patch_index(p)].send<&patch_object::decision>(step, answer);
  }
}

void recorder::progress(std::int64_t step) {
  constexpr std::int64_t interval_ns = 100'000'000;
  const std::int64_t now = tri::os::now_ns();
  if (now - progress_shown_ns_ < interval_ns && step != the_world->plan().last) return;
  progress_shown_ns_ = now;
  progress_line_ = true;
  const output_plan& plan = the_world->plan();
  fmt::print(stderr, "\rstep {} of {} ({} %)\033[K", step, plan.last,
             100 * (step - plan.first) / std::max<std::int64_t>(1, plan.last - plan.first));
  std::fflush(stderr);
}

void recorder::erase_progress() {
  if (!progress_line_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  progress_line_ = false;
}

int recorder::finish() {
  erase_progress();
  return 1;
}

}  // namespace md
