// What crosses between hosts, counted: of a broadcast, a multicast and a reduction one message to each host that takes
// part, and one back, wherever the elements are and have been. On one host the counts are 0.
#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "config/configuration.hpp"
#include "sched/remote/host_records.hpp"
#include "sched/remote/host_tree.hpp"
#include "system/cases/cases.hpp"

namespace tri::testing {
namespace {

struct counting : group_member<counting> {
  int heard = 0;
  void hear(const std::string& text) { heard += static_cast<int>(text.size()); }
  std::uint64_t handed_to_the_wire() {
    const sched::pe& here = sched::this_pe();
    const std::uint64_t relayed = here.job().process_record_of(here.job().process())->relayed.read();
    return here.counters().sent_to_hosts.read() + (here.local_number() == 0 ? relayed : 0);
  }
  int sum_heard() { return heard; }
};

/// Counts what the whole job hands to the wire while something is done.
class crossings {
 public:
  crossings() : pes_(make_group<counting>()) {
    handed();
    const std::uint64_t first = handed();
    to_ask_ = handed() - first;
    check_equal(to_ask_, 2 * other_hosts());
  }
  static std::uint64_t other_hosts() { return static_cast<std::uint64_t>(sched::this_pe().job().hosts()) - 1; }
  const array<counting>& pes() const { return pes_; }
  template <class Work>
  std::uint64_t of(Work&& work) {
    const std::uint64_t before = handed();
    work();
    return handed() - before - to_ask_;
  }

 private:
  std::uint64_t handed() { return pes_.reduce<&counting::handed_to_the_wire>(sum).get(); }
  array<counting> pes_;
  std::uint64_t to_ask_;
};

void trees_cross_to_each_host_once() {
  crossings count;
  constexpr int broadcasts = 5;
  const std::string text(100, 'x');
  check_equal(count.of([&] {
    for (int i = 0; i < broadcasts; ++i) count.pes().broadcast<&counting::hear>(text);
  }),
              broadcasts * crossings::other_hosts());
  check_equal(count.pes().reduce<&counting::sum_heard>(sum).get(), broadcasts * 100 * pe_count());
}
const case_entry trees_cross_once_case{"trees_cross_to_each_host_once", &trees_cross_to_each_host_once};

struct resident : array_element<resident, index<1>> {
  int heard = 0;
  void hear(const std::string& text) { heard += static_cast<int>(text.size()); }
  int how_much() { return heard; }
  void give(callback<int> target) { contribute(1, sum, target); }
  void give_at_once(callback<int> target) { contribute(1, immediately(sum), target); }
  void give_in(section_name of, callback<int> target) { contribute(of, 1, sum, target); }
  void count_in(std::uint64_t word) { ++std::atomic_ref(*reinterpret_cast<std::uint64_t*>(word)); }
  // Keeps its PE until the others of its host, elements `first` and so on, have contributed.
  void lead(section_name of, int first, int count, callback<int> target) {
    buffer<std::uint64_t> word(1, 0);  // which the processes of the host share
    for (int i = first; i < first + count; ++i)
      if (i != this_index()[0]) {
        this_array()(i).send<&resident::give_in>(of, target);
        this_array()(i).send<&resident::count_in>(reinterpret_cast<std::uint64_t>(word.data()));
      }
    while (std::atomic_ref(word[0]) + 1 < static_cast<std::uint64_t>(count)) std::this_thread::yield();
    contribute(of, 1, sum, target);
  }
  void go(int pe) { migrate_to(pe); }
  int where() { return this_pe(); }
  task<int> later() {
    co_await after(std::chrono::microseconds(10 * this_index()[0]));
    co_return 1;
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(heard);
  }
};

int host_of(int pe) { return sched::this_pe().job().host_of(pe); }

/// The hosts of elements, but for one.
std::uint64_t hosts_of(const std::vector<int>& places, int but) {
  std::set<int> hosts;
  for (const int pe : places) hosts.insert(host_of(pe));
  hosts.erase(but);
  return hosts.size();
}

/// Places for elements to move to: next door (some leave their host, others stay), all of a host on one PE, a few PEs.
std::vector<std::vector<int>> moves(int elements) {
  const sched::runtime& job = sched::this_pe().job();
  std::vector<std::vector<int>> all(3);
  for (int i = 0; i < elements; ++i) {
    all[0].push_back((i + 1) % pe_count());
    all[1].push_back(job.first_pe_of(job.host_of(i % pe_count())));
    all[2].push_back(i % 2 == 0 ? pe_count() - 1 : pe_count() / 2);
  }
  return all;
}

void move_to(const array<resident>& all, const std::vector<int>& places) {
  for (int i = 0; i < static_cast<int>(places.size()); ++i)
    all(i).send<&resident::go>(places[static_cast<std::size_t>(i)]);
  quiescence().get();
}

void sections_cross_to_each_host_once() {
  crossings count;
  const int n = 4 * pe_count();
  auto all = make_array<resident>({n}, round_robin());
  const std::string text(100, 'x');
  int expected_to_hear = 0;
  std::vector<index<1>> everybody, at_the_end;
  for (int i = 0; i < n; ++i) {
    everybody.push_back({i});
    if (host_of(i % pe_count()) == host_of(pe_count() - 1)) at_the_end.push_back({i});
  }
  const auto measure = [&](const std::vector<index<1>>& members) {
    const auto some = all.select(members);
    const auto places = some.reduce<&resident::where>(gather).get();
    const std::uint64_t others = hosts_of(places, host_of(0));
    constexpr int multicasts = 5;
    int heard = 0;
    check_equal(count.of([&] {
      for (int i = 0; i < multicasts; ++i) some.multicast<&resident::hear>(text);
      heard = some.reduce<&resident::how_much>(sum).get();
    }),
                (multicasts + 2) * others);
    expected_to_hear += multicasts * 100 * static_cast<int>(members.size());
    if (members.size() == everybody.size()) check_equal(heard, expected_to_hear);
    check_equal(some.reduce<&resident::where>(gather).get().size(), members.size());
  };
  quiescence().get();  // the array exists everywhere
  measure(everybody);
  measure(at_the_end);
  for (const auto& places : moves(n)) {
    move_to(all, places);
    // The first ones after a move follow their members, each exactly once, and learn where they are.
    const auto some = all.select(everybody);
    some.multicast<&resident::hear>(text);
    expected_to_hear += 100 * n;
    check(some.reduce<&resident::where>(gather).get() == places, "members are not where they moved");
    quiescence().get();
    check_equal(all.reduce<&resident::how_much>(sum).get(), expected_to_hear);
    measure(everybody);
    measure(at_the_end);
  }
  // The same when only reductions meet members that have moved.
  move_to(all, std::vector<int>(static_cast<std::size_t>(n), pe_count() - 1));
  check_equal(all.select(everybody).reduce<&resident::how_much>(sum).get(), expected_to_hear);
  quiescence().get();
  measure(everybody);
}
const case_entry sections_cross_once_case{"sections_cross_to_each_host_once", &sections_cross_to_each_host_once};

// What comes to the collector of a host before its turn leaves together. To be sure of that it is kept busy until all
// others of its host have contributed.
void sections_contribute_once_from_each_host() {
  const sched::runtime& job = sched::this_pe().job();
  if (job.hosts() == 1 || job.pes_of_host() == 1 || job.values().shuffle != 0) return;  // turns are drawn then
  crossings count;
  auto all = make_array<resident>({pe_count()}, round_robin());
  std::vector<index<1>> everybody;
  for (int i = 0; i < pe_count(); ++i) everybody.push_back({i});
  quiescence().get();
  for (int round = 0; round < 5; ++round) {
    const auto part = all.select(everybody);
    const int root = objects::root_pe_of_section(sched::this_pe(), part.name());
    const std::uint64_t crossed = count.of([&] {
      future<int> done;
      for (int host = 0; host < job.hosts(); ++host) {
        const int first = job.first_pe_of(host), pes = job.processes_of_host(host) * pes_per_process();
        const int collector = first + static_cast<int>(part.name().id % static_cast<std::uint64_t>(pes));
        all(collector).send<&resident::lead>(part.name(), first, pes, callback<int>(done.get_promise()));
      }
      check_equal(done.get(), pe_count());
    });
    // An order for each other host, a sum of each, and the result.
    check_equal(crossed, 2 * crossings::other_hosts() + (host_of(root) != host_of(0) ? 1 : 0));
  }
}
const case_entry sections_contribute_once_case{"sections_contribute_once_from_each_host",
                                               &sections_contribute_once_from_each_host};

/// The hosts that send a sum to another one: those in whose subtree there is an element.
std::uint64_t hosts_with_elements_below(const std::vector<int>& places, int root, std::uint32_t collection) {
  const int hosts = sched::this_pe().job().hosts(), root_host = host_of(root);
  const sched::host_tree tree(hosts, root_host, sched::host_tree::rotation_of(collection, hosts));
  std::set<int> senders;
  for (const int pe : places)
    for (int host = host_of(pe); host != root_host; host = tree.parent(host)) senders.insert(host);
  return senders.size();
}

void give_and_count(crossings& count, const array<resident>& all) {
  constexpr int rounds = 3;  // few enough that the PEs do not tell each other how many broadcasts they have had
  const auto places = all.reduce<&resident::where>(gather).get();
  const int root = objects::pe_objects::of(sched::this_pe()).find_local_collection(all.id())->contribution_root_pe();
  const std::uint64_t parts = hosts_with_elements_below(places, root, all.id());
  const std::uint64_t result = host_of(root) != host_of(0) ? 1 : 0;
  const auto crossed = [&]<auto Give>() {
    return count.of([&] {
      std::vector<future<int>> done(rounds);
      for (auto& each : done) all.broadcast<Give>(callback<int>(each.get_promise()));
      for (auto& each : done) check_equal(each.get(), static_cast<int>(places.size()));
    });
  };
  const std::uint64_t expected = rounds * (crossings::other_hosts() + parts + result);
  check_equal(crossed.operator()<&resident::give>(), expected);
  check_equal(crossed.operator()<&resident::give_at_once>(), expected);
}

void contributions_cross_once_from_each_host() {
  crossings count;
  const int n = 4 * pe_count();
  std::set<int> roots;
  for (int turn = 0; turn < 2 * pe_count(); ++turn) {  // the PE where they meet changes with the array's number
    auto dense = make_array<resident>({n}, turn % 2 == 0 ? round_robin() : block());
    auto sparse = make_sparse_array<resident>();
    for (int i = 0; i < n; ++i) sparse.insert_on(i % pe_count(), {i});
    quiescence().get();
    for (const auto& all : {dense, sparse}) {
      roots.insert(
          host_of(objects::pe_objects::of(sched::this_pe()).find_local_collection(all.id())->contribution_root_pe()));
      give_and_count(count, all);
      for (const auto& places : moves(n)) {
        move_to(all, places);
        give_and_count(count, all);
      }
    }
  }
  if (sched::this_pe().job().hosts() > 1) check(roots.size() > 1 || !roots.contains(0), "all met on the first host");
}
const case_entry contributions_cross_once_case{"contributions_cross_once_from_each_host",
                                               &contributions_cross_once_from_each_host};

struct listener : array_element<listener, index<1>> {
  int last = -1, heard = 0;
  bool disordered = false;
  void hear(int number) {
    disordered |= number <= last;
    last = number;
    ++heard;
  }
  int told() { return disordered ? -1'000'000 : heard; }
};

// Multicasts of one sender to sections of different members, some of them alone in their process or on their host, come
// to those who get several in the order of sending, though each goes its own way (nobody moves).
void multicasts_of_one_sender_stay_in_order() {
  const int n = pe_count(), rounds = 200;
  auto all = make_array<listener>({n}, round_robin());
  std::vector<section<listener>> sections;
  std::vector<int> members(static_cast<std::size_t>(n), 0);
  const auto add = [&](const auto& is_member) {
    std::vector<index<1>> chosen;
    for (int i = 0; i < n; ++i)
      if (is_member(i)) chosen.push_back({i}), ++members[static_cast<std::size_t>(i)];
    if (!chosen.empty()) sections.push_back(all.select(chosen));
  };
  add([](int) { return true; });
  for (int alone = 0; alone < n; ++alone) add([&](int i) { return i == alone; });
  add([](int i) { return i % 2 == 1; });
  quiescence().get();
  int number = 0;
  for (int round = 0; round < rounds; ++round)
    for (const auto& each : sections) each.multicast<&listener::hear>(number++);
  quiescence().get();
  for (int i = 0; i < n; ++i)
    check_equal(all(i).call<&listener::told>().get(), rounds * members[static_cast<std::size_t>(i)]);
}
const case_entry ordered_multicasts_case{"multicasts_of_one_sender_stay_in_order",
                                         &multicasts_of_one_sender_stay_in_order};

// Not run with the others: a contribution that stays away, so that what the others of its host gave does not cross.
void crash_silent_contribution() {
  auto all = make_array<resident>({pe_count()}, round_robin());
  while (host_of(objects::pe_objects::of(sched::this_pe()).find_local_collection(all.id())->contribution_root_pe()) ==
         host_of(0))
    all = make_array<resident>({pe_count()}, round_robin());
  future<int> never;
  for (int i = 0; i < pe_count(); ++i)
    if (i != 1) all(i).send<&resident::give>(callback<int>(never.get_promise()));
  never.get();
}
const case_entry silent_contribution_case{"crash_silent_contribution", &crash_silent_contribution};

void results_of_coroutines_cross_once_from_each_host() {
  crossings count;
  const int n = 4 * pe_count();
  auto all = make_array<resident>({n}, round_robin());
  check_equal(all.reduce<&resident::later>(sum).get(), n);
  check_equal(count.of([&] { check_equal(all.reduce<&resident::later>(sum).get(), n); }), 2 * crossings::other_hosts());
}
const case_entry coroutines_cross_once_case{"results_of_coroutines_cross_once_from_each_host",
                                            &results_of_coroutines_cross_once_from_each_host};

}  // namespace
}  // namespace tri::testing
