// Whoever is told of a collection can use it at once, by whatever way it heard: the creation comes first on every PE of
// every host.
#include "config/configuration.hpp"
#include "system/cases/cases.hpp"

namespace tri::testing {
namespace {

struct kept_by_pe : group_member<kept_by_pe> {
  int maker;
  explicit kept_by_pe(int pe) : maker(pe) {}
};
struct kept_by_process : nodegroup_member<kept_by_process> {
  int maker;
  explicit kept_by_process(int pe) : maker(pe) {}
};
struct cell : array_element<cell, index<1>> {
  int touched = 0;
  void touch() { ++touched; }
  int how_often() { return touched; }
};

struct newly_made {
  group<kept_by_pe> members;
  nodegroup<kept_by_process> nodes;
  array<cell> cells;
  mailbox box;
  int maker = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(members, nodes, cells, box, maker);
  }
};

constexpr int cells_of_a_pe = 2;

struct told : group_member<told> {
  int heard = 0;

  void make_and_tell() {
    const int pes = sched::this_pe().job().pes();
    const int here = sched::this_pe().number();
    const newly_made made{make_group<kept_by_pe>(here), make_nodegroup<kept_by_process>(here),
                          make_array<cell>({pes * cells_of_a_pe}), make_mailbox(), here};
    for (int pe = pes - 1; pe >= 0; --pe) this_array()(pe).send<&told::use>(made, 2);
  }
  /// Told by the maker, and by others at up to `hops` hops from it.
  void use(const newly_made& made, int hops) {
    ++heard;
    check_equal(made.members.local().maker, made.maker);
    check_equal(made.nodes.local().maker, made.maker);
    check_equal(made.cells.local_elements().size(), std::size_t{cells_of_a_pe});
    const int pes = sched::this_pe().job().pes();
    const int here = sched::this_pe().number();
    check(!made.box.probe().has_value(), "nothing was sent to this mailbox");  // throws where it does not exist
    made.cells.broadcast<&cell::touch>();
    made.cells.select({index<1>(0), index<1>(pes * cells_of_a_pe - 1)}).multicast<&cell::touch>();
    if (hops > 0) this_array()((here + pes / 2 + hops) % pes).send<&told::use>(made, hops - 1);
  }
  int how_often() { return heard; }
};

void made_before_heard_of() {
  const int pes = sched::this_pe().job().pes();
  const auto all = make_group<told>();
  constexpr int rounds = 5;
  for (int round = 0; round < rounds; ++round) all.broadcast<&told::make_and_tell>();
  quiescence().get();
  check_equal(all.reduce<&told::how_often>(tri::sum).get(), rounds * pes * pes * 3);
}
const case_entry made_before_heard_of_case{"made_before_heard_of", &made_before_heard_of};

// Nothing but creations on all PEs at once, each of which has to be known everywhere before the next one of its host.
struct maker : group_member<maker> {
  void make(int count) {
    for (int i = 0; i < count; ++i) last = make_array<cell>({sched::this_pe().job().pes()});
  }
  int touch_last() {
    last.broadcast<&cell::touch>();
    return 1;
  }
  int touches() {
    int sum_here = 0;
    for (cell* each : last.local_elements()) sum_here += each->touched;
    return sum_here;
  }
  array<cell> last;
};

void many_creations_at_once() {
  const int pes = sched::this_pe().job().pes();
  const auto makers = make_group<maker>();
  makers.broadcast<&maker::make>(20);
  check_equal(makers.reduce<&maker::touch_last>(tri::sum).get(), pes);
  quiescence().get();
  check_equal(makers.reduce<&maker::touches>(tri::sum).get(), pes);
}
const case_entry many_creations_at_once_case{"many_creations_at_once", &many_creations_at_once};

}  // namespace
}  // namespace tri::testing
