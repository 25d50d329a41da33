// See pair_compute.hpp.
#include "md/parallel/pair_compute.hpp"

#include "md/output/recorder.hpp"
#include "os/clock.hpp"

namespace md {

pair_compute::pair_compute(const tri::group<proxies>& proxies, const tri::element_ref<recorder>& output)
    : proxies_(&proxies.local()),
      output_(output),
      patch_(this_index()[0]),
      other_(the_world->grid().pair(patch_, this_index()[1]).other),
      list_(this_index()[1] == 0, the_world->grid().pair(patch_, this_index()[1]).shift),
      slot_(proxies_->enroll(patch_, {patch_, this_index()[1], 0}, *this)),
      missing_(list_.self() ? 1 : 2) {
  if (!list_.self()) other_slot_ = proxies_->enroll(other_, {patch_, this_index()[1], 1}, *this);
}

void pair_compute::input_arrived(const step_kind& kind) {
  if (--missing_ != 0) return;
  missing_ = list_.self() ? 1 : 2;
  this_element().send<&pair_compute::work>(kind);
}

void pair_compute::work(const step_kind& kind) {
  const world& w = *the_world;
  std::uint64_t start = tri::os::ticks();
  const patch_view a = proxies_->view(patch_);
  const patch_view b = proxies_->view(other_);
  if (kind.build) {
    list_.build(w.kernels(), a, b, w.settings().reach(), w.coefficients(), proxies_->scratch());
    const std::uint64_t built = tri::os::ticks();
    proxies_->spent_on_lists(built - start);
    start = built;
  }
  vec4* const a_forces = proxies_->forces(patch_, slot_);
  vec4* const b_forces = list_.self() ? a_forces : proxies_->forces(other_, other_slot_);
  const pair_sums sums = list_.compute(w.kernels(), a, b, w.coefficients(), kind.sums, a_forces, b_forces);
  proxies_->spent_on_pairs(tri::os::ticks() - start);
  proxies_->finished(patch_);
  if (!list_.self()) proxies_->finished(other_);
  if (kind.sums) {
    contribute(step_value<pair_sums>{kind.step, sums}, tri::ordered(tri::sum), tri::to<&recorder::pair_total>(output_));
  }
}

}  // namespace md
