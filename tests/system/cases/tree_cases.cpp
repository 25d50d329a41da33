// Those who hand messages on: the inner vertices of the trees of multicasts and broadcasts spread over the PEs and the
// hosts (Mei 2012, M61). Counted where they hand on; on one host nobody does.
#include <algorithm>
#include <numeric>

#include "sched/remote/host_records.hpp"
#include "sched/remote/host_tree.hpp"
#include "system/cases/cases.hpp"
#include "trireme/detail/objects/inner_vertices.hpp"

namespace tri::testing {
namespace {

using figures = std::vector<std::uint64_t>;
constexpr std::uint64_t trees = 10;

struct witness : group_member<witness> {
  /// What ran before may have left the counts uneven: they count what a PE has handed on, not what still waits for it.
  int forget_choices() {
    const sched::runtime& job = sched::this_pe().job();
    for (int i = 0; job.own_host().chosen != nullptr && i < job.pes() + job.hosts(); ++i)
      job.own_host().chosen[i].store(0, std::memory_order_relaxed);  // nobody multicasts meanwhile
    return 1;
  }
  std::uint64_t multicasts_forwarded() { return sched::this_pe().counters().multicasts_forwarded.read(); }
  std::uint64_t relayed() {
    const sched::pe& here = sched::this_pe();
    return here.local_number() == 0 ? here.job().process_record_of(here.job().process())->relayed.read() : 0;
  }
};

figures difference(const figures& before, const figures& after) {
  figures times;
  for (std::size_t i = 0; i < before.size(); ++i) times.push_back(after[i] - before[i]);
  return times;
}
std::uint64_t sum_of(const figures& times) { return std::accumulate(times.begin(), times.end(), std::uint64_t{0}); }

void check_spread(const figures& times, std::size_t candidates, const std::string& what) {
  const std::uint64_t limit = (sum_of(times) + candidates - 1) / candidates + 1;  // the mean, rounded up, and one
  check(*std::ranges::max_element(times) <= limit,
        fmt::format("{}: one of [{}] is above the limit of {}", what, fmt::join(times, " "), limit));
}

struct hearer : array_element<hearer, index<1>> {
  int heard = 0;
  void hear() { ++heard; }
  int how_often() { return heard; }
};
struct caster : array_element<caster, index<1>> {
  int cast(const section<hearer>& to) {
    to.multicast<&hearer::hear>();
    return 1;
  }
};

/// How many PEs hand on a multicast of PE 0 to members on all PEs.
std::uint64_t inner_vertices_of_all() {
  const sched::runtime& job = sched::this_pe().job();
  std::uint64_t count = 0;
  for (int host = 0; host < job.hosts(); ++host) {
    const int processes = job.processes_of_host(host);
    if (host == job.host() || processes * job.pes_per_process() == 1) continue;
    count += 1 + (job.pes_per_process() > 1 ? static_cast<std::uint64_t>(processes) - 1 : 0);
  }
  if (count != 0 || job.hosts() == 1) return count;
  std::vector<std::size_t> places;  // one PE on each host
  objects::add_inner_places(0, static_cast<std::size_t>(job.hosts()) - 1, places);
  return places.size();
}

void multicasts_are_handed_on_by_all_pes_in_turn() {
  const int n = pe_count();
  auto witnesses = make_group<witness>();
  auto hearers = make_array<hearer>({n}, round_robin());
  auto casters = make_array<caster>({static_cast<int>(trees)}, round_robin());
  const auto everybody_but = [&](int missing) {
    std::vector<index<1>> members;
    for (int i = 0; i < n; ++i)
      if (i != missing) members.push_back({i});
    return hearers.select(members);
  };
  quiescence().get();
  check_equal(witnesses.reduce<&witness::forget_choices>(sum).get(), n);
  // One tree after the other: a host counts the trees that others send when they come, so of many at once it may give
  // more to a PE that has not begun with its own.
  const auto count = [&](auto&& one_tree, bool at_once = false) {
    const figures before = witnesses.reduce<&witness::multicasts_forwarded>(gather).get();
    for (int i = 0; i < static_cast<int>(trees); ++i) {
      one_tree(i);
      if (!at_once) quiescence().get();
    }
    quiescence().get();
    return difference(before, witnesses.reduce<&witness::multicasts_forwarded>(gather).get());
  };
  const auto other_pes = static_cast<std::size_t>(n - sched::this_pe().job().pes_of_host());

  const auto all = everybody_but(-1);
  const figures one_section = count([&](int) { all.multicast<&hearer::hear>(); });
  check_equal(sum_of(one_section), trees * inner_vertices_of_all());
  const figures at_once = count([&](int) { all.multicast<&hearer::hear>(); }, true);
  check_equal(sum_of(at_once), trees * inner_vertices_of_all());
  if (other_pes == 0) return;
  check_spread(one_section, other_pes, "trees of one section");
  if (n > 2)
    check_spread(count([&](int tree) { everybody_but(tree % n).multicast<&hearer::hear>(); }), other_pes,
                 "trees of several sections");
  const figures many_senders = count([&](int tree) { casters(tree).call<&caster::cast>(all).get(); });
  if (inner_vertices_of_all() != 0) check(sum_of(many_senders) != 0, "nobody handed a multicast on");
  check_spread(many_senders, static_cast<std::size_t>(n), "trees of several senders");
  const std::vector<int> heard = hearers.reduce<&hearer::how_often>(gather).get();
  for (int i = 0; i < n; ++i) {
    int expected = 3 * static_cast<int>(trees);
    for (int tree = 0; tree < static_cast<int>(trees) && n > 2; ++tree) expected += tree % n != i ? 1 : 0;
    check_equal(heard[static_cast<std::size_t>(i)], expected);
  }
}
const case_entry multicasts_spread_case{"multicasts_are_handed_on_by_all_pes_in_turn",
                                        &multicasts_are_handed_on_by_all_pes_in_turn};

struct quiet : group_member<quiet> {
  int heard = 0;
  void hear() { ++heard; }
  int how_often() { return heard; }
};

void broadcasts_are_handed_on_by_all_hosts_in_turn() {
  const int hosts = sched::this_pe().job().hosts();
  auto witnesses = make_group<witness>();
  auto all = make_group<quiet>();
  const figures before = witnesses.reduce<&witness::relayed>(gather).get();
  for (std::uint64_t i = 0; i < trees; ++i) all.broadcast<&quiet::hear>();
  quiescence().get();  // broadcasts of two collections keep no order between them
  // Whoever is asked has handed the question on before; so it counts as one more tree, as the question before did not.
  const figures times = difference(before, witnesses.reduce<&witness::relayed>(gather).get());
  const int handed_on = std::max(hosts - 1 - sched::host_tree::most_children, 0);
  check_equal(sum_of(times), (trees + 1) * static_cast<std::uint64_t>(handed_on));
  check_equal(all.reduce<&quiet::how_often>(sum).get(), static_cast<int>(trees) * pe_count());
  if (handed_on == 0) return;
  const auto inner = static_cast<std::uint64_t>(sched::host_tree::inner_vertices(hosts));
  const auto others = static_cast<std::uint64_t>(hosts) - 1;
  const std::uint64_t limit = ((trees + 1) * inner + others - 1) / others + 1;
  check(*std::ranges::max_element(times) <=
            limit * static_cast<std::uint64_t>(std::min(handed_on, sched::host_tree::most_children)),
        fmt::format("one of [{}] is an inner vertex more than {} times", fmt::join(times, " "), limit));
}
const case_entry broadcasts_spread_case{"broadcasts_are_handed_on_by_all_hosts_in_turn",
                                        &broadcasts_are_handed_on_by_all_hosts_in_turn};

}  // namespace
}  // namespace tri::testing
