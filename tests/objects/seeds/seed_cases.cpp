// Objects that are made without a place: each begins once, wherever that is, and gets its messages in order.
#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "objects/collection_manager.hpp"
#include "sched/remote/host_records.hpp"
#include "system/cases/cases.hpp"

namespace tri::testing {
namespace {

constexpr std::array all_strategies{seed_strategy::here, seed_strategy::random, seed_strategy::neighbour,
                                    seed_strategy::stealing};

std::uint64_t begun_on(int pe) { return sched::this_pe().job().record_of(pe)->counters.seeds_begun.read(); }

// What has begun on a PE.
struct begun_here : group_member<begun_here> {
  std::int64_t count = 0;
  std::int64_t sum = 0;
  std::vector<int> order;
  std::int64_t all() { return count; }
  std::int64_t total() { return sum; }
  int is_busy() { return count > 0 ? 1 : 0; }
  int remembered() {
    const auto* const singles = objects::pe_objects::of(sched::this_pe()).find_local_collection(0);
    return static_cast<int>(static_cast<const objects::collection_manager*>(singles)->location_entries());
  }
  void clear() {
    count = sum = 0;
    order.clear();
  }
};
// Before any seed begins: those of other PEs would not wait for the broadcast.
void clear_all(const group<begun_here>& where) {
  where.broadcast<&begun_here::clear>();
  quiescence().get();
}

// A tree of which every node has a number; its words are long enough that they are not inside the envelope.
struct tree_node : object<tree_node> {
  tree_node(group<begun_here> where, seed_strategy how, int number, int nodes, std::string words) {
    auto& here = where.local();
    ++here.count;
    here.sum += number;
    check_equal(words, word_of(number));
    for (const int child : {2 * number + 1, 2 * number + 2})
      if (child < nodes) make_object<tree_node>(how, where, how, child, nodes, word_of(child));
    erase_this();
  }
  static std::string word_of(int number) { return "the words of node " + std::to_string(number); }
};
void seeds_of_a_tree() {
  constexpr int nodes = 2000;
  const auto where = make_group<begun_here>();
  for (const seed_strategy how : all_strategies) {
    clear_all(where);
    make_object<tree_node>(how, where, how, 0, nodes, tree_node::word_of(0));
    quiescence().get();
    check_equal(where.reduce<&begun_here::all>(sum).get(), std::int64_t{nodes});
    check_equal(where.reduce<&begun_here::total>(sum).get(), std::int64_t{nodes} * (nodes - 1) / 2);
    if (how == seed_strategy::here) check_equal(where.local().count, nodes);
  }
}
const case_entry tree_case{"seeds_of_a_tree", &seeds_of_a_tree};

// Without a turn of the PE that makes them, seeds begin on other PEs of the host.
struct plain_object : object<plain_object> {
  explicit plain_object(double value) : value_(value) {}
  double value() const { return value_; }
  int where() { return this_pe(); }
  double value_;
};
int first_other_pe_that_began(const std::vector<std::uint64_t>& before) {
  for (;;)
    for (std::size_t pe = 0; pe < before.size(); ++pe)
      if (static_cast<int>(pe) != this_pe() && begun_on(static_cast<int>(pe)) > before[pe]) return static_cast<int>(pe);
}
std::vector<std::uint64_t> begun_on_this_host() {
  std::vector<std::uint64_t> counts;
  for (int pe = 0; pe < sched::this_pe().job().pes_of_host(); ++pe) counts.push_back(begun_on(pe));
  return counts;
}
void idle_pes_of_the_host_take_seeds() {
  if (sched::this_pe().job().pes_of_host() == 1) return;
  for (const bool ordered : {false, true}) {
    for (int round = 0; round < 20; ++round) {
      const std::vector<std::uint64_t> before = begun_on_this_host();
      const auto made = ordered ? make_object<plain_object>(
                                      seed_options{.strategy = seed_strategy::stealing, .urgency = round}, 0.5 + round)
                                : make_object<plain_object>(seed_strategy::stealing, 0.5 + round);
      const int pe = first_other_pe_that_began(before);
      auto answer = made.call<&plain_object::value>();
      check_equal(made.call<&plain_object::where>().get(), pe);
      check_equal(answer.get(), 0.5 + round);
    }
  }
}
const case_entry stealing_case{"idle_pes_of_the_host_take_seeds", &idle_pes_of_the_host_take_seeds};

// Those that began elsewhere and have gone are remembered as neighbours where they were made, and nowhere else.
struct short_lived : object<short_lived> {
  short_lived() { erase_this(); }
};
void seeds_that_were_taken_leave_little_behind() {
  if (sched::this_pe().job().pes_of_host() == 1) return;
  const auto where = make_group<begun_here>();
  const auto remembered = [&] {
    quiescence().get();
    return where.reduce<&begun_here::remembered>(sum).get();
  };
  const int before = remembered();
  for (int i = 0; i < 300; ++i) {
    const std::vector<std::uint64_t> counts = begun_on_this_host();
    make_object<short_lived>(seed_strategy::stealing);
    first_other_pe_that_began(counts);
    if (i % 10 == 0) quiescence().get();
  }
  const int left = remembered() - before;
  check(left <= 2, fmt::format("300 objects that began elsewhere and are gone are remembered in {} places", left));
}
const case_entry memory_case{"seeds_that_were_taken_leave_little_behind", &seeds_that_were_taken_leave_little_behind};

// Again and again until every host has begun some: PEs that starve ask those of other hosts.
void all_hosts_get_seeds() {
  const auto where = make_group<begun_here>();
  const auto& job = sched::this_pe().job();
  std::vector<bool> has(static_cast<std::size_t>(job.hosts()));
  while (std::find(has.begin(), has.end(), false) != has.end()) {
    clear_all(where);
    make_object<tree_node>(seed_strategy::stealing, where, seed_strategy::stealing, 0, 500, tree_node::word_of(0));
    quiescence().get();
    check_equal(where.reduce<&begun_here::all>(sum).get(), std::int64_t{500});
    for (int pe = 0; pe < pe_count(); ++pe)
      if (where[pe].call<&begun_here::is_busy>().get() != 0) has[static_cast<std::size_t>(job.host_of(pe))] = true;
  }
}
const case_entry hosts_case{"all_hosts_get_seeds", &all_hosts_get_seeds};

// Messages of several senders to objects that may not have begun, or begin somewhere else just then.
struct listener : object<listener> {
  group<begun_here> where;
  std::vector<int> next;
  listener(group<begun_here> counts, int senders) : where(counts), next(static_cast<std::size_t>(senders), 0) {}
  void hear(int sender, int number, bool is_last) {
    check_equal(number, next[static_cast<std::size_t>(sender)]++);
    if (!is_last) return;
    where.local().sum += number;
    if (std::all_of(next.begin(), next.end(), [&](int count) { return count == number + 1; })) {
      ++where.local().count;
      erase_this();
    }
  }
  void go(int pe) { migrate_to(pe); }
  listener() = default;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(where, next);
  }
};
struct talker : group_member<talker> {
  void talk(element_ref<listener> to, int messages) {
    for (int i = 0; i < messages; ++i) to.send<&listener::hear>(this_pe(), i, i + 1 == messages);
  }
};
void messages_wait_for_seeds() {
  const auto where = make_group<begun_here>();
  const auto talkers = make_group<talker>();
  constexpr int messages = 12;
  std::mt19937 random(7);
  for (const seed_strategy how : all_strategies) {
    clear_all(where);
    constexpr int objects = 40;
    for (int i = 0; i < objects; ++i) {
      const auto made = make_object<listener>(how, where, pe_count());
      if (i % 3 == 0) made.send<&listener::go>(static_cast<int>(random() % static_cast<unsigned>(pe_count())));
      talkers.broadcast<&talker::talk>(made, messages);
      if (i % 8 == 7) quiescence().get();
    }
    quiescence().get();
    check_equal(where.reduce<&begun_here::all>(sum).get(), std::int64_t{objects});
    check_equal(where.reduce<&begun_here::total>(sum).get(), std::int64_t{objects} * pe_count() * (messages - 1));
  }
}
const case_entry messages_case{"messages_wait_for_seeds", &messages_wait_for_seeds};

// What an object asks for in its constructor, wherever that runs: to be deleted, to move, a result for a coroutine.
struct busy_at_once : object<busy_at_once> {
  group<begun_here> where;
  busy_at_once() = default;
  busy_at_once(group<begun_here> counts, int what) : where(counts) {
    if (what == 0) {
      ++where.local().count;
      erase_this();
    } else if (what == 1) {
      migrate_to((this_pe() + 1) % pe_count());
      if (pe_count() == 1) on_migrated();
    } else {
      this_object().send<&busy_at_once::ask>(what);
    }
  }
  void on_migrated() {
    ++where.local().count;
    erase_this();
  }
  task<> ask(int what) {
    const auto friendly = make_object<plain_object>(static_cast<double>(what));
    const double value = co_await friendly.call<&plain_object::value>();
    where.local().count += value == what ? 1 : 0;
    erase_this();
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(where);
  }
};
void seeds_that_are_busy_at_once() {
  const auto where = make_group<begun_here>();
  for (const seed_strategy how : all_strategies)
    for (int i = 0; i < 90; ++i) make_object<busy_at_once>(how, where, i % 3);
  quiescence().get();
  check_equal(where.reduce<&begun_here::all>(sum).get(), std::int64_t{90 * all_strategies.size()});
}
const case_entry busy_case{"seeds_that_are_busy_at_once", &seeds_that_are_busy_at_once};

// Arguments that cannot leave the process.
struct owner_of_memory : object<owner_of_memory> {
  owner_of_memory(group<begun_here> where, std::unique_ptr<local_only<int>> number) {
    where.local().sum += number->value;
    erase_this();
  }
};
void seeds_that_stay_in_their_process() {
  const auto where = make_group<begun_here>();
  for (const seed_strategy how : all_strategies)
    for (int i = 0; i < 25; ++i)
      make_object<owner_of_memory>(how, where, std::make_unique<local_only<int>>(local_only<int>{i}));
  quiescence().get();
  check_equal(where.reduce<&begun_here::total>(sum).get(), std::int64_t{300 * all_strategies.size()});
}
const case_entry staying_case{"seeds_that_stay_in_their_process", &seeds_that_stay_in_their_process};

// On a PE alone: the newest first; with a priority the smallest first, but for the few that others could have taken.
struct in_order : object<in_order> {
  in_order(group<begun_here> where, int number) {
    where.local().order.push_back(number);
    erase_this();
  }
};
void seeds_begin_in_order() {
  if (pe_count() > 1) return;
  const auto where = make_group<begun_here>();
  constexpr int seeds = 300;  // more than the first ring holds
  for (int i = 0; i < seeds; ++i) make_object<in_order>(seed_strategy::stealing, where, i);
  quiescence().get();
  std::vector<int> began = where.local().order;
  std::reverse(began.begin(), began.end());
  check_equal(began.size(), std::size_t{seeds});
  check(std::is_sorted(began.begin(), began.end()), "not the newest first");

  where.local().order.clear();
  std::vector<int> urgencies(seeds);
  for (int i = 0; i < seeds; ++i) urgencies[static_cast<std::size_t>(i)] = i;
  std::shuffle(urgencies.begin(), urgencies.end(), std::mt19937(3));
  for (const int urgency : urgencies) make_object<in_order>(seed_options{.urgency = urgency}, where, urgency);
  quiescence().get();
  constexpr int could_be_taken = 4;
  began = where.local().order;
  check_equal(began.size(), std::size_t{seeds});
  check(std::is_sorted(began.begin() + could_be_taken, began.end()), "not the smallest priority first");
  check(!std::is_sorted(urgencies.begin() + could_be_taken, urgencies.end()), "they came in order");
}
const case_entry order_case{"seeds_begin_in_order", &seeds_begin_in_order};

}  // namespace
}  // namespace tri::testing
