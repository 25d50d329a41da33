// What the protocols between hosts cost any one host, counted: messages to and from its neighbours in a tree, however
// many hosts there are.
#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>

#include "objects/collection_manager.hpp"
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
  std::uint64_t reduction_parts() { return figures() == nullptr ? 0 : figures()->reduction_parts.read(); }
  int one() { return 1; }
  task<int> one_later() {
    co_await after(std::chrono::microseconds(10 * pe_count()));
    co_return 1;
  }
  std::uint64_t held_for_creations() { return figures() == nullptr ? 0 : figures()->held_for_creations.read(); }
  std::uint64_t creations() { return figures() == nullptr ? 0 : figures()->creations.read(); }
  std::uint64_t low_water_marks() { return figures() == nullptr ? 0 : figures()->low_water_marks.read(); }
  std::uint64_t team_messages() { return figures() == nullptr ? 0 : figures()->team_messages.read(); }
  task<int> collectives_of_world(int rounds) {
    const team world = team::world();
    for (int i = 0; i < rounds; ++i) {
      co_await world.barrier();
      const int root = (i * 7) % world.size();
      check_equal(co_await world.broadcast(world.rank(), root), root);
      const auto reduced = co_await world.reduce(1, sum, root);
      check_equal(reduced.value_or(world.size()), world.size());
      check_equal(co_await world.allreduce(1, sum), world.size());
      check_equal(co_await world.scan(1, sum), world.rank() + 1);
    }
    co_return 1;
  }
  std::uint64_t counting_rounds() { return figures() == nullptr ? 0 : figures()->counting_rounds.read(); }
};

// By calls: the parts of a reduction that reads the figures would be counted by some hosts and not by others.
template <auto Figure>
std::vector<std::uint64_t> figures_of(const array<observer>& observers) {
  std::vector<future<std::uint64_t>> figures;
  for (int pe = 0; pe < pe_count(); ++pe) figures.push_back(observers(pe).call<Figure>());
  std::vector<std::uint64_t> values;
  for (auto& figure : figures) values.push_back(figure.get());
  return values;
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

struct hearing : array_element<hearing, index<1>> {
  void hear() {}
  std::uint64_t history() { return static_cast<const objects::collection_manager&>(home()).history(); }
};

// Two messages for each edge and each step, and the history is dropped on every PE.
void low_water_marks_go_to_neighbours() {
  constexpr std::uint64_t steps = 12, step = objects::subtree_marks::step;
  const auto observers = make_group<observer>();
  auto all = make_array<hearing>({pe_count()}, round_robin());
  quiescence().get();
  const auto before = figures_of<&observer::low_water_marks>(observers);
  for (std::uint64_t i = 0; i < steps; ++i) {
    for (std::uint64_t each = 0; each < step; ++each) all.broadcast<&hearing::hear>();
    quiescence().get();
  }
  const std::uint64_t most = most_of(before, figures_of<&observer::low_water_marks>(observers));
  const std::uint64_t limit = steps * most_of_one_exchange();
  check(most <= limit, fmt::format("low-water marks: {} messages at one host, of at most {}", most, limit));
  const bool is_one_host = sched::this_pe().job().hosts() == 1;
  check(is_one_host == (most == 0), fmt::format("low-water marks: {} messages at one host", most));
  const auto kept = all.reduce<&hearing::history>(gather).get();
  check(pe_count() == 1 || *std::ranges::max_element(kept) <= 5 * step, fmt::format("kept: {}", fmt::join(kept, " ")));
}
const case_entry low_water_marks_case{"low_water_marks_go_to_neighbours", &low_water_marks_go_to_neighbours};

// The creation, its acknowledgements and the notification that it is globally visible: three for each edge.
void creations_go_to_neighbours() {
  constexpr std::uint64_t made = 3;
  const auto observers = make_group<observer>();
  quiescence().get();
  const auto before = figures_of<&observer::creations>(observers);
  for (std::uint64_t i = 0; i < made; ++i) make_array<hearing>({pe_count()});
  quiescence().get();
  const std::uint64_t most = most_of(before, figures_of<&observer::creations>(observers));
  const std::uint64_t limit = made * most_of_one_exchange() / 2 * 3;
  check(most <= limit, fmt::format("creations: {} messages at one host, of at most {}", most, limit));
  const auto hosts = static_cast<std::uint64_t>(sched::this_pe().job().hosts());
  const auto at_root = std::min<std::uint64_t>(sched::host_tree::most_children, hosts - 1) * made * 3;
  check(most >= at_root, fmt::format("creations: {} messages at one host, of at least {}", most, at_root));
}
const case_entry creations_case{"creations_go_to_neighbours", &creations_go_to_neighbours};

// The parts of a broadcast's reduction are combined on the way: no host takes more than those of its children.
void reductions_go_to_neighbours() {
  constexpr std::uint64_t rounds = 5;
  const auto observers = make_group<observer>();
  quiescence().get();
  const auto before = figures_of<&observer::reduction_parts>(observers);
  for (std::uint64_t i = 0; i < rounds; ++i) {
    check_equal(observers.reduce<&observer::one>(sum).get(), pe_count());
    check_equal(observers.reduce<&observer::one>(immediately(sum)).get(), pe_count());
    check_equal(observers.reduce<&observer::one_later>(sum).get(), pe_count());
  }
  const std::uint64_t most = most_of(before, figures_of<&observer::reduction_parts>(observers));
  const std::uint64_t limit = 3 * rounds * most_of_one_exchange() / 2;
  check(most <= limit, fmt::format("reductions: {} messages at one host, of at most {}", most, limit));
}
const case_entry reductions_case{"reductions_go_to_neighbours", &reductions_go_to_neighbours};

// Up to three hosts create without a pause while messages go round all PEs.
struct busy : group_member<busy> {
  int pings = 0;
  void create(int times) {
    last = make_array<hearing>({pe_count()});
    if (times > 1) this_array()(this_pe()).send<&busy::create>(times - 1);
  }
  void ping(int times) {
    ++pings;
    if (times > 1) this_array()((this_pe() + 1) % pe_count()).send<&busy::ping>(times - 1);
  }
  int count() { return pings; }
  array<hearing> last;
};

void messages_pass_creations() {
  constexpr int creations = 100, pings = 50;
  const auto observers = make_group<observer>();
  auto all = make_group<busy>();
  quiescence().get();
  const auto before = figures_of<&observer::held_for_creations>(observers);
  for (int maker = 0; maker < 3; ++maker) all(maker * pe_count() / 3).send<&busy::create>(creations);
  for (int pe = 0; pe < pe_count(); ++pe) all(pe).send<&busy::ping>(pings);
  quiescence().get();
  const auto after = figures_of<&observer::held_for_creations>(observers);
  check_equal(most_of(before, after), std::uint64_t{0});
  check_equal(all.reduce<&busy::count>(sum).get(), pings * pe_count());
}
const case_entry messages_pass_case{"messages_pass_creations", &messages_pass_creations};

struct giving : array_element<giving, index<1>> {
  void give(callback<int> target) { contribute(1, sum, target); }
  int one() { return 1; }
};

struct counter : nodegroup_member<counter> {
  std::atomic<int> heard{0};
  void hear() { ++heard; }
  int how_often() { return heard; }
};

// The same for those whose root is not the first host.
void contributions_go_to_neighbours() {
  constexpr int rounds = 5;
  const auto observers = make_group<observer>();
  const auto all = make_array<giving>({2 * pe_count()}, round_robin());
  const auto section = all.select([] {
    std::vector<index<1>> some;
    for (int i = 0; i < pe_count(); ++i) some.push_back({i});  // one on each PE
    return some;
  }());
  const auto counters = make_nodegroup<counter>();
  quiescence().get();
  const auto check_most = [&](const char* what, auto&& one_round) {
    const auto before = figures_of<&observer::reduction_parts>(observers);
    for (int i = 0; i < rounds; ++i) one_round();
    const std::uint64_t most = most_of(before, figures_of<&observer::reduction_parts>(observers));
    const std::uint64_t limit = rounds * (most_of_one_exchange() / 2);
    check(most <= limit, fmt::format("{}: {} messages at one host, of at most {}", what, most, limit));
    check(sched::this_pe().job().hosts() == 1 || most > 0, fmt::format("{}: nothing was counted", what));
  };
  check_most("contributions", [&] {
    future<int> done;
    all.broadcast<&giving::give>(callback<int>(done.get_promise()));
    check_equal(done.get(), 2 * pe_count());
  });
  check_most("sections", [&] { check_equal(section.reduce<&giving::one>(sum).get(), pe_count()); });
  check_most("node groups", [&] {
    counters.broadcast<&counter::hear>();
    counters.reduce<&counter::how_often>(sum).get();
  });
  quiescence().get();
  check_equal(counters.reduce<&counter::how_often>(sum).get(), rounds * process_count());
}
const case_entry contributions_case{"contributions_go_to_neighbours", &contributions_go_to_neighbours};

// Each has at most one parent and log2(hosts) children, to each of which goes one message, and from each of which one
// comes.
void teams_go_to_neighbours() {
  constexpr int rounds = 5;
  const auto observers = make_group<observer>();
  const auto before = figures_of<&observer::team_messages>(observers);
  check_equal(observers.reduce<&observer::collectives_of_world>(sum, rounds).get(), pe_count());
  const std::uint64_t most = most_of(before, figures_of<&observer::team_messages>(observers));
  const auto hosts = static_cast<std::uint64_t>(sched::this_pe().job().hosts());
  const std::uint64_t neighbours = hosts == 1 ? 0 : static_cast<std::uint64_t>(std::bit_width(hosts - 1));
  constexpr std::uint64_t exchanges = 8;  // barrier, allreduce and scan go both ways
  check(most <= rounds * exchanges * neighbours,
        fmt::format("teams: {} messages at one host, of at most {}", most, rounds * exchanges * neighbours));
  check(hosts == 1 || most >= rounds * exchanges / 2, fmt::format("teams: only {} messages at one host", most));
}
const case_entry teams_case{"teams_go_to_neighbours", &teams_go_to_neighbours};

}  // namespace
}  // namespace tri::testing
