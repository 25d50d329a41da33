// See pair_compute.hpp.
#include "md/parallel/pair_compute.hpp"

#include "md/output/recorder.hpp"
#include "md/parallel/movable.hpp"
#include "os/clock.hpp"

namespace md {

pair_compute::pair_compute()
    : patch_(this_index()[0]),
      other_(the_world->grid().pair(patch_, this_index()[1]).other),
      list_(this_index()[1] == 0, the_world->grid().pair(patch_, this_index()[1]).shift),
      missing_(list_.self() ? 1 : 2) {}

pair_compute::pair_compute(const tri::group<proxies>& proxies, const tri::element_ref<recorder>& output)
    : pair_compute() {
  group_ = proxies;
  output_ = output;
  enroll();
}

int pair_compute::enroll() {
  proxies_ = &group_.local();
  slot_ = proxies_->enroll(patch_, {patch_, this_index()[1], 0}, *this);
  if (!list_.self()) other_slot_ = proxies_->enroll(other_, {patch_, this_index()[1], 1}, *this);
  return 1;
}

int pair_compute::allow_moves(bool may_move) {
  may_move_ = may_move;
  return 1;
}

void pair_compute::scatter(std::int64_t round) { migrate_to(scattered_pe(round, 0, number())); }

place_of_pair pair_compute::where() const { return {patch_ * pair_kinds + this_index()[1], tri::this_pe()}; }

void pair_compute::describe_load(tri::load_description& load) {
  // Between the middles of both patches, as the first one sees them.
  const patch_grid& grid = the_world->grid();
  const int3& direction = half_shell[static_cast<std::size_t>(this_index()[1])];
  vec3 place = grid.middle(patch_);
  for (std::size_t d = 0; d < 3; ++d) place[d] += 0.5 * direction[d] * grid.width()[d];
  describe_object(load, place, may_move_);
}

void pair_compute::input_arrived(const step_kind& kind) {
  if (--missing_ != 0) return;
  missing_ = list_.self() ? 1 : 2;
  if (list_.empty() && !kind.build) {
    finish(kind, {});  // most pairs around a droplet have nothing to do, not even a message
  } else {
    this_element().send<&pair_compute::work>(kind);
  }
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
  finish(kind, sums);
}

void pair_compute::finish(const step_kind& kind, const pair_sums& sums) {
  proxies_->finished(patch_);
  if (!list_.self()) proxies_->finished(other_);
  if (kind.sums) {
    contribute(step_value<pair_sums>{kind.step, sums}, tri::ordered(tri::sum), tri::to<&recorder::pair_total>(output_));
  }
}

}  // namespace md
