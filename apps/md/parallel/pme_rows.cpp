// See pme_rows.hpp.
#include "md/parallel/pme_rows.hpp"

#include "md/output/recorder.hpp"
#include "md/parallel/movable.hpp"
#include "md/parallel/pme_slab.hpp"
#include "os/clock.hpp"

namespace md {

pme_rows::pme_rows()
    : rows_(the_world->long_range().transforms(), the_world->box(), the_world->settings().charges,
            the_world->long_range().rows(this_index()[0])),
      buffers_(static_cast<std::size_t>(the_world->long_range().slab_objects())) {}

pme_rows::pme_rows(const tri::group<proxies>& proxies, const tri::array<pme_slab>& slabs,
                   const tri::element_ref<recorder>& output)
    : pme_rows() {
  proxies_ = proxies;
  slabs_ = slabs;
  output_ = output;
}

int pme_rows::allow_moves(bool may_move) {
  may_move_ = may_move;
  return 1;
}

void pme_rows::scatter(std::int64_t round) { migrate_to(scattered_pe(round, 3, number())); }

// Modes are nowhere in space.
void pme_rows::describe_load(tri::load_description& load) {
  const box& all = the_world->box();
  describe_object(
      load, {all.low[0] + 0.5 * all.length(0), all.low[1] + 0.5 * all.length(1), all.low[2] + 0.5 * all.length(2)},
      may_move_);
}

void pme_rows::modes(const step_kind& kind, int from, tri::buffer<complex> modes) {
  rows_.set_planes(the_world->long_range().planes(from), modes.data());
  buffers_[static_cast<std::size_t>(from)] = std::move(modes);
  if (++arrived_ != the_world->long_range().slab_objects()) return;
  arrived_ = 0;
  convolve(kind);
}

void pme_rows::convolve(const step_kind& kind) {
  const std::uint64_t start = tri::os::ticks();
  const std::vector<pair_sums> sums = rows_.convolve(kind.sums);
  for (int slab = 0; slab < the_world->long_range().slab_objects(); ++slab) {
    tri::buffer<complex>& values = buffers_[static_cast<std::size_t>(slab)];
    rows_.copy_planes(the_world->long_range().planes(slab), values.data());
    slabs_(slab).send<&pme_slab::potential>(kind.step, this_index()[0], std::move(values));
  }
  if (kind.sums) {
    output_.send<&recorder::reciprocal_sums>(kind.step, rows_.rows().first, tri::buffer<pair_sums>::copy_of(sums));
  }
  proxies_.local().spent_on_mesh(tri::os::ticks() - start);
}

}  // namespace md
