// See pme_solver.hpp.
#include "md/electrostatics/pme_solver.hpp"

namespace md {

pme_solver::pme_solver(const box& box, const electrostatics_settings& settings, std::vector<double> charges)
    : mesh_(box, settings),
      charges_(std::move(charges)),
      transforms_(settings.mesh),
      slab_(transforms_, {0, settings.mesh[2]}),
      rows_(transforms_, box, settings, {0, settings.mesh[1]}),
      modes_(transforms_.modes_x() * static_cast<std::size_t>(settings.mesh[1]) *
             static_cast<std::size_t>(settings.mesh[2])) {}

pair_sums pme_solver::compute(const std::vector<std::span<const vec4>>& positions, bool sums_wanted) {
  blocks_.clear();
  forces_.resize(positions.size());
  slab_.clear();
  for (const std::span<const vec4>& each : positions) {
    blocks_.push_back(touched_block(mesh_, each));
    values_.resize(blocks_.back().points());
    spread_charges(mesh_, each, charges_, blocks_.back(), values_.data());
    slab_.add(blocks_.back(), values_.data());
  }
  slab_.forward();
  slab_.copy_rows(rows_.rows(), modes_.data());
  rows_.set_planes(slab_.planes(), modes_.data());
  const std::vector<pair_sums> sums = rows_.convolve(sums_wanted);
  rows_.copy_planes(slab_.planes(), modes_.data());
  slab_.set_rows(rows_.rows(), modes_.data());
  slab_.backward();
  for (std::size_t p = 0; p < positions.size(); ++p) {
    values_.resize(blocks_[p].points());
    slab_.extract(blocks_[p], values_.data());
    forces_[p].resize(positions[p].size());
    interpolate_forces(mesh_, positions[p], charges_, blocks_[p], values_.data(), forces_[p].data());
  }
  return total_of_rows(sums);
}

}  // namespace md
