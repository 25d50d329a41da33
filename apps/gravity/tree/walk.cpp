// See walk.hpp.
#include "gravity/tree/walk.hpp"

#include <stdexcept>

namespace gravity {

void force_walk::pull(const bucket& of, std::span<const source> own, std::span<vec3> accelerations,
                      std::span<double> potentials) {
  for (std::size_t first = of.first; first < of.last; first += lanes_per_block) {
    const std::size_t used = std::min(lanes_per_block, of.last - first);
    lane_block block;
    for (std::size_t l = 0; l < lanes_per_block; ++l) {
      const source& at = own[first + std::min(l, used - 1)];  // unused lanes: like the last
      block.x[l] = at.x;
      block.y[l] = at.y;
      block.z[l] = at.z;
    }
    kernels_->multipoles(block, used, far_, softening_squared_);
    counts_.multipoles += used * far_.size();
    for (const leaf& each : near_) {
      if (each.is_own) {
        const auto lane_0 = static_cast<std::ptrdiff_t>(first - of.first);
        kernels_->own_bodies(block, used, each.bodies, lane_0, softening_squared_);
      } else {
        kernels_->bodies(block, used, each.bodies, softening_squared_);
      }
      counts_.bodies += used * (each.bodies.size() - (each.is_own ? 1 : 0));
    }
    for (std::size_t l = 0; l < used; ++l) {
      accelerations[first + l] = {block.ax[l], block.ay[l], block.az[l]};
      potentials[first + l] = block.potential[l];
    }
  }
}

void force_walk::throw_absent() {
  throw std::logic_error("gravity: a walk for forces needs a node that the walk before it has not fetched");
}

}  // namespace gravity
