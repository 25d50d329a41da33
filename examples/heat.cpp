// Heat in a plate whose upper edge is hot: Jacobi's method on global arrays, in SPMD style. Each PE computes its own
// tiles; what lies around a tile is read from the array, whichever PE and host has it.
#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "trireme/arrays.hpp"

namespace {

constexpr std::int64_t n = 48;
constexpr int steps = 200;

// The tile and the elements around it, as far as the array goes.
tri::region<2> with_border(const tri::region<2>& tile) {
  return {{std::max<std::int64_t>(tile.first[0] - 1, 0), std::max<std::int64_t>(tile.first[1] - 1, 0)},
          {std::min(tile.last[0] + 1, n), std::min(tile.last[1] + 1, n)}};
}

void step(const tri::global_array<double, 2>& now, const tri::global_array<double, 2>& next) {
  for (const auto tile : next.own_tiles()) {
    const tri::region<2> box = with_border(tile.elements());
    const std::int64_t width = box.extents()[1];
    std::vector<double> old(static_cast<std::size_t>(box.volume()));
    now.get(box, old.data()).get();
    const auto at = [&](std::int64_t i, std::int64_t j) {
      return old[static_cast<std::size_t>((i - box.first[0]) * width + j - box.first[1])];
    };
    const auto [first, last] = std::pair(tile.elements().first, tile.elements().last);
    for (std::int64_t i = first[0]; i < last[0]; ++i)
      for (std::int64_t j = first[1]; j < last[1]; ++j) {
        const bool is_edge = i == 0 || j == 0 || i == n - 1 || j == n - 1;
        tile(i - first[0], j - first[1]) =
            is_edge ? at(i, j) : (at(i - 1, j) + at(i + 1, j) + at(i, j - 1) + at(i, j + 1)) / 4;
      }
  }
}

void plate() {
  tri::global_array<double, 2> now({n, n}), next({n, n});  // one block for each PE
  tri::for_each_own(now, [](const tri::position<2>& at, double& heat) { heat = at[0] == 0 ? 100 : 0; });
  tri::barrier().get();
  for (int i = 0; i < steps; ++i) {
    step(now, next);
    tri::barrier().get();
    std::swap(now, next);
  }
  double own = 0;
  tri::for_each_own(now, [&](const tri::position<2>&, double heat) { own += heat; });
  const double total = tri::team::world().allreduce(own, tri::sum).get();
  if (tri::this_pe() == 0) std::printf("heat of the plate after %d steps: %.6f\n", steps, total);
}

}  // namespace

int main(int argc, char** argv) { return tri::run_everywhere(argc, argv, &plate); }
