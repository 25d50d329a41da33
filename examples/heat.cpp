// Heat in a plate whose upper edge is hot: Jacobi's method on global arrays, in SPMD style. Each PE computes its own
// tiles; the elements around a tile are in its ghost cells, whichever PE and host has them.
#include <cstdio>
#include <utility>

#include "trireme/arrays.hpp"

namespace {

constexpr std::int64_t n = 48;
constexpr int steps = 200;

void step(const tri::global_array<double, 2>& now, const tri::global_array<double, 2>& next) {
  now.exchange_halo().get();
  for (const auto tile : next.own_tiles()) {
    const auto old = now.tile_at(tile.elements().first);
    for (std::int64_t i = 0; i < tile.extent(0); ++i)
      for (std::int64_t j = 0; j < tile.extent(1); ++j) {
        const std::int64_t row = tile.elements().first[0] + i, column = tile.elements().first[1] + j;
        const bool is_edge = row == 0 || column == 0 || row == n - 1 || column == n - 1;
        tile(i, j) = is_edge ? old(i, j) : (old(i - 1, j) + old(i + 1, j) + old(i, j - 1) + old(i, j + 1)) / 4;
      }
  }
}

void plate() {
  tri::global_array<double, 2> now({n, n}, tri::halo(1)), next({n, n}, tri::halo(1));  // one block for each PE
  tri::for_each_own(now, [](const tri::position<2>& at, double& heat) { heat = at[0] == 0 ? 100 : 0; });
  for (int i = 0; i < steps; ++i) {
    step(now, next);
    std::swap(now, next);
  }
  double own = 0;
  tri::for_each_own(now, [&](const tri::position<2>&, double heat) { own += heat; });
  const double total = tri::team::world().allreduce(own, tri::sum).get();
  if (tri::this_pe() == 0) std::printf("heat of the plate after %d steps: %.6f\n", steps, total);
}

}  // namespace

int main(int argc, char** argv) { return tri::run_everywhere(argc, argv, &plate); }
