// Insertions: elements that are inserted before or during a broadcast get it exactly once; elements that messages
// create; placement maps with state, which decide where.
#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "system/cases/cases.hpp"
#include "trireme/placement_map.hpp"

namespace tri::testing {
namespace {

// ---- broadcasts and insertions

struct listener : array_element<listener, index<1>> {
  std::vector<int> heard;
  void hear(int number) { heard.push_back(number); }
  void hear_and_leave(int number) {
    hear(number);
    if (this_index()[0] % 2 == 0) erase_this();
  }
  int one() const { return 1; }
  // In order, none twice, and all from the first on, which is in that range.
  bool has_heard(int earliest, int latest, int last) const {
    const int first = heard.empty() ? last + 1 : heard.front();
    std::vector<int> expected;
    for (int number = first; number <= last; ++number) expected.push_back(number);
    return heard == expected && first >= earliest && first <= latest;
  }
  void go(int pe) { migrate_to(pe); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(heard);
  }
};

void broadcasts_include_insertions() {
  const auto listeners = make_sparse_array<listener>();
  constexpr int rounds = 60;
  int inserted = 0;
  // One program inserts, here and elsewhere, and broadcasts: each element hears what was begun behind its insertion,
  // and before that what had not run on this PE yet. A reduction has run all.
  for (int number = 0; number < rounds; ++number) {
    for (int i = 0; i < 3; ++i, ++inserted) listeners.insert_on((number + i) % pe_count(), index<1>(inserted));
    listeners.broadcast<&listener::hear>(number);
    if (number % 10 == 0) listeners(inserted - 1).send<&listener::go>(number % pe_count());
    if (number % 15 == 0) check_equal(listeners.reduce<&listener::one>(sum).get(), inserted);
  }
  quiescence().get();
  for (int i = 0; i < inserted; ++i) {
    const int round = i / 3;
    const int earliest = round == 0 ? 0 : (round - 1) / 15 * 15 + 1;
    check(listeners(i).call<&listener::has_heard>(earliest, round, rounds - 1).get(),
          "an element did not hear exactly the broadcasts behind its insertion");
  }
  // Elements that leave because of a broadcast that they catch up with.
  const auto leaving = make_sparse_array<listener>();
  for (int i = 0; i < 20; ++i) leaving.insert_on(i % pe_count(), index<1>(i));
  leaving.broadcast<&listener::hear_and_leave>(0);
  check(leaving.reduce<&listener::one>(sum).get() >= 10, "an element that stays was not counted");
  quiescence().get();
  check_equal(leaving.reduce<&listener::one>(sum).get(), 10);
}
const case_entry broadcast_case{"broadcasts_include_insertions", &broadcasts_include_insertions};

// A tree that grows by a level in each round.
struct vertex : array_element<vertex, index<1>> {
  int reached = 0;
  int grow(int level) {
    ++reached;
    const int own = this_index()[0];
    if (own >> level != 1) return 1;
    for (const int child : {2 * own, 2 * own + 1}) this_array().insert_on(child % pe_count(), index<1>(child));
    return 1;
  }
  int times_reached() const { return reached; }
};

// Neither does a reduction wait for them.
void broadcasts_do_not_reach_what_they_insert() {
  const auto tree = make_sparse_array<vertex>();
  tree.insert(index<1>(1));
  int vertices = 1;
  int reached = 0;
  for (int level = 0; level < 7; ++level) {
    if (level % 2 == 0)
      check_equal(tree.reduce<&vertex::grow>(sum, level).get(), vertices);
    else
      tree.broadcast<&vertex::grow>(level);
    reached += vertices;
    check_equal(tree.reduce<&vertex::times_reached>(sum).get(), reached);
    vertices = 2 * vertices + 1;
  }
}
const case_entry growth_case{"broadcasts_do_not_reach_what_they_insert", &broadcasts_do_not_reach_what_they_insert};

struct contributor : array_element<contributor, index<1>> {
  void take_part(const callback<int>& to) { contribute(1, sum, to); }
};

void crash_contribution_of_a_late_element() {
  const auto contributors = make_sparse_array<contributor>();
  for (int number = 0; number < 3; ++number) {
    for (int i = 0; i < pe_count(); ++i) contributors.insert_on(i, index<1>(number * pe_count() + i));
    quiescence().get();
    future<int> all;
    contributors.broadcast<&contributor::take_part>(callback<int>(all.get_promise()));
    check_equal(all.get(), pe_count());
  }
}
const case_entry late_case{"crash_contribution_of_a_late_element", &crash_contribution_of_a_late_element};

struct inserter : group_member<inserter> {
  int broadcasts_begun = 0;
  void insert_some(array<listener> listeners, int count, int begun) {
    for (int i = 0; i < count; ++i)
      listeners.insert_on((i * 3 + this_pe()) % pe_count(), index<1>(this_pe() * count + i));
    broadcasts_begun = begun;
  }
};

// All PEs insert while broadcasts and reductions are under way.
void broadcasts_run_beside_insertions() {
  const auto listeners = make_sparse_array<listener>();
  const auto inserters = make_group<inserter>();
  constexpr int each = 20;
  inserters.broadcast<&inserter::insert_some>(listeners, each, 0);
  std::vector<future<int>> counts;
  for (int number = 0; number < 200; ++number) {
    listeners.broadcast<&listener::hear>(number);
    if (number % 20 == 0) counts.push_back(listeners.reduce<&listener::one>(sum));
  }
  int before = 0;
  for (future<int>& count : counts) {
    const int now = count.get();
    check(now >= before && now <= each * pe_count(), "a reduction counted an element twice, or lost one");
    before = now;
  }
  quiescence().get();
  for (int number = 200; number < 500; ++number) listeners.broadcast<&listener::hear>(number);  // history goes
  check_equal(listeners.reduce<&listener::one>(sum).get(), each * pe_count());
  check(listeners.reduce<&listener::has_heard>(logical_and, 0, 200, 499).get(),
        "an element missed a broadcast or heard one twice");
}
const case_entry beside_case{"broadcasts_run_beside_insertions", &broadcasts_run_beside_insertions};

// ---- creation on demand

struct word_count : array_element<word_count, index<2>> {
  int seen = 0;
  int began_on = this_pe();
  void count() { ++seen; }
  int count_and_get() { return ++seen; }
  int place() const { return began_on; }
  void leave() { erase_this(); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(seen, began_on);
  }
};
struct counter_of_words : group_member<counter_of_words> {
  void count(array<word_count> words, int rounds) {
    for (int i = 0; i < rounds; ++i) words(i % 7, i % 3).send<&word_count::count>();
  }
  void begin(array<word_count> words) { words(1000 + this_pe(), 0).send<&word_count::count>(); }
};

void messages_create_elements(on_demand where) {
  const auto words = make_sparse_array<word_count>(where);
  const auto counters = make_group<counter_of_words>();
  constexpr int rounds = 420;  // 20 for each of 21 elements
  counters.broadcast<&counter_of_words::count>(words, rounds);
  quiescence().get();
  for (int i = 0; i < 7; ++i)
    for (int j = 0; j < 3; ++j) check_equal(words(i, j).call<&word_count::count_and_get>().get(), 20 * pe_count() + 1);
  check_equal(words.reduce<&word_count::place>(gather).get().size(), std::size_t{21});
  check_equal(words(100, 5).call<&word_count::count_and_get>().get(), 1);  // a call creates, too
  words(100, 5).send<&word_count::leave>();
  quiescence().get();
  check_throws<remote_error>([&] { words(100, 5).call<&word_count::count_and_get>().get(); }, "was deleted");
}
void messages_create_missing_elements() {
  messages_create_elements(create_at_home);
  messages_create_elements(create_at_sender);
  const auto by_sum = placed_by<index<2>>([](const index<2>& where, int pes) { return (where[0] + where[1]) % pes; });
  const auto at_home = make_sparse_array<word_count>(create_at_home, by_sum);
  check_equal(at_home(3, 4).call<&word_count::place>().get(), 7 % pe_count());
  const auto at_sender = make_sparse_array<word_count>(create_at_sender, by_sum);
  make_group<counter_of_words>().broadcast<&counter_of_words::begin>(at_sender);
  quiescence().get();
  for (int pe = 0; pe < pe_count(); ++pe) check_equal(at_sender(1000 + pe, 0).call<&word_count::place>().get(), pe);
}
const case_entry on_demand_case{"messages_create_missing_elements", &messages_create_missing_elements};

// ---- maps with state

struct spread {
  std::vector<int> weights;  // of each PE
  int operator()(const index<1>& where, int) const {
    int sum_so_far = 0;
    for (std::size_t pe = 0; pe < weights.size(); ++pe)
      if (where[0] < (sum_so_far += weights[pe])) return static_cast<int>(pe);
    return 0;
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(weights);
  }
};
struct placed : array_element<placed, index<1>> {
  std::pair<int, int> where() const { return {this_index()[0], this_pe()}; }
};

void placement_maps_have_state() {
  spread map;
  int elements = 0;
  for (int pe = 0; pe < pe_count(); ++pe) {
    map.weights.push_back(pe == 1 ? 0 : 1 + 3 * pe);
    elements += map.weights.back();
  }
  const placement where = make_placement_map<index<1>>(map);
  for (int times = 0; times < 2; ++times) {
    const auto all = make_array<placed>({elements}, where);
    for (const auto& [number, pe] : all.reduce<&placed::where>(gather).get()) check_equal(pe, map(number, pe_count()));
  }
  const auto sparse = make_sparse_array<placed>(create_at_home, where);
  for (int i = 0; i < elements; ++i) check_equal(sparse(i).call<&placed::where>().get().second, map(i, pe_count()));
}
const case_entry placement_map_case{"placement_maps_have_state", &placement_maps_have_state};

void crash_placement_map_beyond_the_pes() {
  const auto where = placed_by<index<1>>([](const index<1>&, int pes) { return pes; });
  const auto sparse = make_sparse_array<placed>(where);
  sparse(5).send<&placed::where>();
  after(std::chrono::seconds(5)).get();
}
const case_entry beyond_case{"crash_placement_map_beyond_the_pes", &crash_placement_map_beyond_the_pes};

}  // namespace
}  // namespace tri::testing
