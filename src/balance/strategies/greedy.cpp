// Of all objects that may move, as if they were nowhere yet.
#include "balance/strategies/fill.hpp"
#include "balance/strategies/strategies.hpp"

namespace tri::balancing {

decided_moves decide_greedy(const snapshot& of, const strategy_options& options) {
  placement placed(of);
  std::vector<std::uint32_t> objects;
  std::vector<std::int32_t> present;
  for (std::uint32_t object = 0; object < of.objects.size(); ++object) {
    present.push_back(of.objects[object].pe);
    if (!of.objects[object].is_migratable) continue;
    objects.push_back(object);
    placed.bins().put(object, load_bins::no_bin);
  }
  fill_greedily(placed.bins(), std::move(objects), pes_by_place(of), present, options.progress);
  return placed.moves();
}

decided_moves decide_refine(const snapshot& of, const strategy_options& options) {
  placement placed(of);
  refine(placed.bins(), pes_by_place(of), options.tolerance);
  return placed.moves();
}

}  // namespace tri::balancing
