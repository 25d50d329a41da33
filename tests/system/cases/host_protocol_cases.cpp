// What the protocols between hosts cost any one host, counted: messages to and from its neighbours in a tree, however
// many hosts there are.
#include "sched/remote/host_records.hpp"
#include "sched/remote/host_tree.hpp"
#include "system/cases/cases.hpp"

namespace tri::testing {
namespace {

/// Neighbours of a host in the tree; each edge is used once in each direction.
std::uint64_t most_of_one_exchange() {
  const auto others = static_cast<std::uint64_t>(sched::this_pe().job().hosts()) - 1;
  return 2 * std::min<std::uint64_t>(sched::host_tree::most_children + 1, others);
}

/// One for each process, on its first PE.
struct observer : group_member<observer> {
  static const sched::protocol_figures* figures() {
    const sched::pe& here = sched::this_pe();
    return here.local_number() == 0 ? &here.job().process_record_of(here.job().process())->between_hosts : nullptr;
  }
  std::uint64_t counting() { return figures() == nullptr ? 0 : figures()->counting.read(); }
  std::uint64_t counting_rounds() { return figures() == nullptr ? 0 : figures()->counting_rounds.read(); }
};

template <auto Figure>
std::vector<std::uint64_t> figures_of(const array<observer>& observers) {
  return observers.reduce<Figure>(gather).get();
}

std::uint64_t most_of(const std::vector<std::uint64_t>& before, const std::vector<std::uint64_t>& after) {
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < before.size(); ++i) most = std::max(most, after[i] - before[i]);
  return most;
}

void quiescence_asks_neighbours() {
  const auto observers = make_group<observer>();
  quiescence().get();
  const auto rounds_before = observers.reduce<&observer::counting_rounds>(sum).get();
  const auto before = figures_of<&observer::counting>(observers);
  for (int i = 0; i < 5; ++i) quiescence().get();
  const auto after = figures_of<&observer::counting>(observers);
  const auto rounds = observers.reduce<&observer::counting_rounds>(sum).get() - rounds_before;
  const std::uint64_t most = most_of(before, after);
  check(most <= rounds * most_of_one_exchange(),
        fmt::format("quiescence: {} messages at one host in {} rounds", most, rounds));
  check(sched::this_pe().job().hosts() == 1 || most > 0, "quiescence: nobody was asked");
}
const case_entry quiescence_case{"quiescence_asks_neighbours", &quiescence_asks_neighbours};

}  // namespace
}  // namespace tri::testing
