#include "trireme/balance_strategy.hpp"

using namespace tri::balancing;

namespace {

// Objects in order, each to the PE with the shortest time so far, unless its user data say that it stays.
decided_moves polite(const snapshot& of, const strategy_options&) {
  placement placed(of);
  load_bins& bins = placed.bins();
  for (std::uint32_t object = 0; object < of.objects.size(); ++object) {
    const auto says = of.user_data_of(object);
    if (!of.objects[object].is_migratable || (!says.empty() && says[0] == std::byte{1})) continue;
    std::int32_t best = placed.pe_of(object);
    for (std::int32_t pe = 0; pe < bins.size(); ++pe)
      if (bins.time_with(pe, bins.work_of(object)) < bins.time_of(best)) best = pe;
    bins.put(object, best);
  }
  return placed.moves();
}

const bool added = (add_strategy({"polite", "keeps objects that want to stay", polite}), true);

}  // namespace
