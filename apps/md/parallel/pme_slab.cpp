// See pme_slab.hpp.
#include "md/parallel/pme_slab.hpp"

#include <algorithm>

#include "md/parallel/movable.hpp"
#include "md/parallel/patch_object.hpp"
#include "md/parallel/pme_rows.hpp"
#include "os/clock.hpp"

namespace md {

pme_slab::pme_slab()
    : slab_(the_world->long_range().transforms(), the_world->long_range().planes(this_index()[0])),
      patches_(the_world->long_range().patches_near(this_index()[0])),
      inputs_(patches_.size()) {}

pme_slab::pme_slab(const tri::group<proxies>& proxies) : pme_slab() { proxies_ = proxies; }

int pme_slab::allow_moves(bool may_move) {
  may_move_ = may_move;
  return 1;
}

void pme_slab::scatter(std::int64_t round) { migrate_to(scattered_pe(round, 2, number())); }

void pme_slab::describe_load(tri::load_description& load) {
  const charge_mesh& mesh = the_world->long_range().mesh();
  const box& all = the_world->box();
  const double middle = slab_.planes().first + 0.5 * slab_.planes().count;
  describe_object(
      load, {all.low[0] + 0.5 * all.length(0), all.low[1] + 0.5 * all.length(1), all.low[2] + middle / mesh.scale[2]},
      may_move_);
}

int pme_slab::connect(const tri::array<pme_rows>& rows) {
  rows_ = rows;
  return 1;
}

void pme_slab::charges(const tri::element_ref<patch_object>& patch, const step_kind& kind, int number,
                       const mesh_block& block, tri::buffer<double> values) {
  const auto place = std::ranges::lower_bound(patches_, number) - patches_.begin();
  inputs_[static_cast<std::size_t>(place)] = {patch, block, std::move(values)};
  if (++arrived_ != patches_.size()) return;
  arrived_ = 0;
  send_modes(kind);
}

void pme_slab::send_modes(const step_kind& kind) {
  const std::uint64_t start = tri::os::ticks();
  const long_range& mesh = the_world->long_range();
  slab_.clear();
  for (const input& each : inputs_) {
    if (!each.values.empty()) slab_.add(each.block, each.values.data());
  }
  slab_.forward();
  for (int r = 0; r < mesh.row_objects(); ++r) {
    const mesh_range rows = mesh.rows(r);
    tri::buffer<complex> modes(mesh.exchanged(slab_.planes(), rows));
    slab_.copy_rows(rows, modes.data());
    rows_(r).send<&pme_rows::modes>(kind, this_index()[0], std::move(modes));
  }
  proxies_.local().spent_on_mesh(tri::os::ticks() - start);
}

void pme_slab::potential(std::int64_t step, int from, tri::buffer<complex> modes) {
  const long_range& mesh = the_world->long_range();
  slab_.set_rows(mesh.rows(from), modes.data());
  if (++returned_ != mesh.row_objects()) return;
  returned_ = 0;
  send_potential(step);
}

void pme_slab::send_potential(std::int64_t step) {
  const std::uint64_t start = tri::os::ticks();
  slab_.backward();
  for (input& each : inputs_) {
    if (!each.values.empty()) slab_.extract(each.block, each.values.data());
    each.patch.send<&patch_object::potential>(step, this_index()[0], std::move(each.values));
  }
  proxies_.local().spent_on_mesh(tri::os::ticks() - start);
}

}  // namespace md
