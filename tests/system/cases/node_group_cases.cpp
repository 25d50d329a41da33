// Methods of node groups: some exclude each other, some are coroutines; messages to them have priorities.
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "system/cases/cases.hpp"

namespace tri::testing {
namespace {

// ---- exclusive methods

struct till : nodegroup_member<till> {
  int coins = 0;  // changed without a lock
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  void add(int number) {
    const int now = inside.fetch_add(1) + 1;
    if (now > most.load()) most.store(now);
    const int before = coins;
    for (int i = 0; i < number % 50; ++i) std::this_thread::yield();
    coins = before + 1;
    inside.fetch_sub(1);
  }
  int add_and_count(int number) {
    add(number);
    return coins;
  }
  // Keeps its turn while it waits.
  task<int> add_slowly() {
    const int now = inside.fetch_add(1) + 1;
    if (now > most.load()) most.store(now);
    const int before = coins;
    future<void> later = after(std::chrono::microseconds(50));
    co_await std::move(later);
    coins = before + 1;
    inside.fetch_sub(1);
    co_return coins;
  }
  task<> add_twice() {
    for (int i = 0; i < 2; ++i) {
      future<void> later = after(std::chrono::microseconds(10));
      co_await std::move(later);
      ++coins;
    }
  }
  int fail_in_turn() { throw std::runtime_error("no coin"); }
  int count() { return coins; }
  int most_inside() const { return most.load(); }
  using exclusive_methods =
      methods<&till::add, &till::add_and_count, &till::add_slowly, &till::add_twice, &till::fail_in_turn, &till::count>;
};
struct payer : group_member<payer> {
  void pay(nodegroup<till> tills, int messages) {
    for (int i = 0; i < messages; ++i) tills[i % process_count()].send<&till::add>(i);
  }
};

void node_group_methods_exclude_each_other() {
  constexpr int messages = 120;
  const auto tills = make_nodegroup<till>();
  const auto payers = make_group<payer>();
  payers.broadcast<&payer::pay>(tills, messages);
  std::vector<future<int>> counts;
  for (int i = 0; i < 20; ++i) counts.push_back(tills[0].call<&till::add_and_count>(i));
  for (int i = 0; i < 20; ++i) counts.push_back(tills[i % process_count()].call<&till::add_slowly>());
  for (int i = 0; i < 5; ++i) tills[i % process_count()].send<&till::add_twice>();
  check_throws<remote_error>([&] { tills[0].call<&till::fail_in_turn>().get(); }, "no coin");
  for (future<int>& each : counts) each.get();
  quiescence().get();
  check_equal(tills.reduce<&till::count>(sum).get(), messages * pe_count() + 50);
  check_equal(tills.reduce<&till::most_inside>(maximum).get(), 1);
}
const case_entry exclusive_case{"node_group_methods_exclude_each_other", &node_group_methods_exclude_each_other};

// ---- coroutines

struct answering : array_element<answering, index<1>> {
  int twice(int number) const { return 2 * number; }
};
struct asker : nodegroup_member<asker> {
  std::atomic<int> ended{0};
  task<int> ask(array<answering> elements, int questions) {
    const int began_on = this_pe();
    int total = 0;
    for (int i = 0; i < questions; ++i) {
      future<int> answer = elements(i % 7).call<&answering::twice>(i);
      total += co_await std::move(answer);
    }
    check_equal(this_pe(), began_on);
    ++ended;
    co_return total;
  }
  task<> ask_only(array<answering> elements) {
    auto asked = ask(elements, 10);
    static_cast<void>(co_await std::move(asked));
  }
  task<int> fail_later() {
    future<void> later = after(std::chrono::microseconds(10));
    co_await std::move(later);
    throw std::runtime_error("later");
  }
  int ended_so_far() const { return ended.load(); }
};

void node_group_methods_are_coroutines() {
  const auto elements = make_array<answering>({7});
  const auto askers = make_nodegroup<asker>();
  std::vector<future<int>> totals;
  for (int i = 0; i < 30; ++i) totals.push_back(askers[i % process_count()].call<&asker::ask>(elements, 20));
  askers.broadcast<&asker::ask_only>(elements);
  for (future<int>& each : totals) check_equal(each.get(), 380);
  check_throws<remote_error>([&] { askers[process_count() - 1].call<&asker::fail_later>().get(); },
                             "fail_later: later");
  quiescence().get();
  check_equal(askers.reduce<&asker::ended_so_far>(sum).get(), 30 + process_count());
}
const case_entry coroutine_case{"node_group_methods_are_coroutines", &node_group_methods_are_coroutines};

// The job ends while they wait.
struct sleeper : nodegroup_member<sleeper> {
  task<> sleep() {
    future<void> never;
    const std::vector<int> freed(1000, 1);
    co_await never;
  }
  using exclusive_methods = methods<&sleeper::sleep>;
};
void only_coroutines_of_node_groups_at_the_end() {
  const auto sleepers = make_nodegroup<sleeper>();
  for (int i = 0; i < 5; ++i) sleepers.broadcast<&sleeper::sleep>();
  after(std::chrono::milliseconds(5)).get();
}
const case_entry end_case{"only_coroutines_of_node_groups_at_the_end", &only_coroutines_of_node_groups_at_the_end};

// ---- priorities

struct lister : nodegroup_member<lister> {
  std::vector<int> order;
  std::atomic<int> waiting{0};
  std::atomic<bool> is_open{false};
  // Keeps the PEs of this process, but one, until open(); then the list is written by one PE alone.
  void keep_a_pe() {
    ++waiting;
    while (!is_open.load()) std::this_thread::yield();
  }
  void note(int number) { order.push_back(number); }
  int note_and_count(int number) {
    note(number);
    return static_cast<int>(order.size());
  }
  std::vector<int> list() const { return order; }
};

// The messages of PE 0 to its own process wait while it sends them: it takes them when it waits for a result.
void node_group_messages_have_priorities() {
  const auto listers = make_nodegroup<lister>();
  const auto own = listers[this_process()];
  const int others = pe_count() / process_count() - 1;
  for (int i = 0; i < others; ++i) own.send<&lister::keep_a_pe>();
  while (listers.local().waiting.load() < others) std::this_thread::yield();
  for (int i = 0; i < 3; ++i) own.send<&lister::note>(i);
  for (int i = 3; i < 6; ++i) own.with(9 - i).send<&lister::note>(i);
  own.with(-1).send<&lister::note>(6);
  own.with(-7).send<&lister::note>(7);
  own.with(-1).send<&lister::note>(8);
  own.with(priority(2).last_in_first_out()).send<&lister::note>(9);
  own.with(priority(2).last_in_first_out()).send<&lister::note>(10);
  const int count = own.with(1000).call<&lister::note_and_count>(11).get();
  listers.local().is_open.store(true);
  check_equal(count, 12);
  const std::vector<int> expected = {7, 6, 8, 0, 1, 2, 10, 9, 5, 4, 3, 11};
  check(listers.local().list() == expected, "messages to a node group ran in another order");
  // To other processes and hosts they come, too.
  for (int process = 0; process < process_count(); ++process)
    for (int i = 0; i < 20; ++i)
      check_equal(listers[process].with(i - 10).call<&lister::note_and_count>(i).get() > 0, true);
}
const case_entry priority_case{"node_group_messages_have_priorities", &node_group_messages_have_priorities};

// An exclusive method whose priority is low has its turn, and one that comes before all others wants it.
struct queued : nodegroup_member<queued> {
  promise<void> gate;
  int left = 0;
  bool was_urgent = false;
  task<> hold() {
    future<void> opened;
    gate = opened.get_promise();
    co_await std::move(opened);
  }
  void open() { gate.set(); }
  void low() {}
  int urgent() {
    was_urgent = true;
    return left;
  }
  void again(node_ref<queued> self, int times) {
    left = times;
    if (times > 0 && !was_urgent) self.send<&queued::again>(self, times - 1);
  }
  bool is_there() const { return true; }
  using exclusive_methods = methods<&queued::hold, &queued::low, &queued::urgent>;
};
void low_priorities_do_not_keep_a_turn() {
  const auto listers = make_nodegroup<lister>();
  const int others = pe_count() / process_count() - 1;
  for (int i = 0; i < others; ++i) listers[this_process()].send<&lister::keep_a_pe>();
  while (listers.local().waiting.load() < others) std::this_thread::yield();
  const auto own = make_nodegroup<queued>()[this_process()];
  own.send<&queued::hold>();
  own.with(5).send<&queued::low>();
  check(own.with(6).call<&queued::is_there>().get(), "low() waits for its turn now");
  own.send<&queued::open>();
  own.send<&queued::again>(own, 100'000);
  const int left = own.with(-1).call<&queued::urgent>().get();
  listers.local().is_open.store(true);
  check(left > 0, "it had to wait for all messages without a priority");
}
const case_entry turn_case{"low_priorities_do_not_keep_a_turn", &low_priorities_do_not_keep_a_turn};

}  // namespace
}  // namespace tri::testing
