// Jobs of threads, one after another in this process: one writes a checkpoint, another one with the same or another
// number of PEs begins with it.
#include "trireme/checkpoint.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "objects/checkpoint/checkpoint_folder.hpp"
#include "support/check.hpp"
#include "support/run_on_pes.hpp"
#include "trireme/team.hpp"

namespace tri::testing {
namespace {

// ---- everything that a checkpoint has

struct cell : array_element<cell, index<2>> {
  std::string text;
  std::vector<double> values;
  void set(int step) {
    text = "cell " + std::to_string(this_index()[0]) + "," + std::to_string(this_index()[1]);
    values.assign(static_cast<std::size_t>(this_index()[0] + 1), step + this_index()[1]);
  }
  void check_set(int step) {
    const auto found_text = std::move(text);
    const auto found_values = std::move(values);
    set(step);
    check_equal(found_text, text);
    check(found_values == values, "other values");
  }
  void go(int pe) { migrate_to(pe); }
  void end() { erase_this(); }
  int where() { return this_pe(); }
  int one() { return 1; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(text, values);
  }
};

struct named : array_element<named, std::string> {
  int value = 0;
  named() = default;
  explicit named(int initial) : value(initial) {}
  int get() { return value; }
  void end() { erase_this(); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value);
  }
};

struct member : group_member<member> {
  int value = 0;
  std::string text;
  void set(int v) {
    value = v + this_pe();
    text = "of PE " + std::to_string(this_pe());
  }
  int get() { return value; }
  void on_shrink(member& leaving) {
    value += leaving.value;
    text += " and " + leaving.text;
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value, text);
  }
};

struct of_all : group_member<of_all> {
  static constexpr bool same_everywhere = true;
  int value = 0;
  of_all() = default;
  explicit of_all(int v) : value(v) {}
  int get() { return value; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value);
  }
};

struct of_process : nodegroup_member<of_process> {
  int value = 0;
  of_process() = default;
  explicit of_process(int v) : value(v) {}
  int get() { return value; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value);
  }
};

struct alone : object<alone> {
  int value = 0;
  element_ref<cell> other;
  alone() = default;
  alone(int v, element_ref<cell> o) : value(v), other(o) {}
  int get() { return value; }
  task<int> ask_other() { co_return co_await other.call<&cell::one>(); }
  void end() { erase_this(); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value, other);
  }
};

read_only<std::vector<std::string>> table;
read_only<int> never_published;
struct tally {
  int sum = 0;
  void on_shrink(const tally& leaving) { sum += leaving.sum; }
};
pe_local<tally> kept_tally(saved);
pe_local<int> scratch(5);
void set_locals(int pe) {
  kept_tally->sum = 10 + pe;
  *scratch = 7;
}
struct asker : group_member<asker> {
  std::vector<int> locals() { return {kept_tally->sum, *scratch}; }
};

struct program_values {
  array<cell> cells;
  array<named> names;
  group<member> members;
  group<of_all> same;
  nodegroup<of_process> processes;
  std::vector<element_ref<alone>> singles;
  std::vector<std::string> keys;
  int step = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(cells, names, members, same, processes, singles, keys, step);
  }
};

constexpr int rows = 5, columns = 4, names = 30, singles = 12;

program_values make_everything() {
  program_values all;
  all.step = 42;
  all.cells = make_array<cell>({rows, columns});
  all.names = make_sparse_array<named>();
  all.members = make_group<member>();
  all.same = make_group<of_all>(99);
  all.processes = make_nodegroup<of_process>(17);
  table.publish({"a", "table"}).get();
  for (int i = 0; i < names; ++i) {
    all.keys.push_back("key " + std::to_string(i));
    all.names.insert(all.keys.back(), i);
  }
  for (int i = 0; i < singles; ++i)
    all.singles.push_back(make_object_on<alone>(i % pe_count(), i, all.cells(i % rows, i % columns)));
  all.cells.broadcast<&cell::set>(42);
  all.members.broadcast<&member::set>(100);
  for (int pe = 0; pe < pe_count(); ++pe) send<&set_locals>(pe, pe);
  quiescence().get();
  return all;
}

int sum_of(int pes, int each) { return pes * each + pes * (pes - 1) / 2; }

void check_everything(const program_values& all, int pes_before) {
  check_equal(all.step, 42);
  all.cells.broadcast<&cell::check_set>(42);
  check_equal(all.cells.reduce<&cell::one>(sum).get(), rows * columns);
  for (int i = 0; i < names; ++i)
    check_equal(all.names[all.keys[static_cast<std::size_t>(i)]].call<&named::get>().get(), i);
  check_equal(all.names.reduce<&named::get>(sum).get(), names * (names - 1) / 2);
  check_equal(all.members.reduce<&member::get>(sum).get(), sum_of(pes_before, 100));
  for (int pe = 0; pe < pe_count(); ++pe) check_equal(all.same[pe].call<&of_all::get>().get(), 99);
  check_equal(all.same.reduce<&of_all::get>(sum).get(), 99 * pe_count());
  check_equal(all.same.local().value, 99);
  check_equal(all.processes[0].call<&of_process::get>().get(), 17);
  check_equal(all.processes.local().value, 17);
  for (int i = 0; i < singles; ++i) {
    check_equal(all.singles[static_cast<std::size_t>(i)].call<&alone::get>().get(), i);
    check_equal(all.singles[static_cast<std::size_t>(i)].call<&alone::ask_other>().get(), 1);
  }
  check_equal(table->at(1), std::string("table"));
  check_throws<std::logic_error>([] { static_cast<void>(*never_published); }, "before it was published");
  int sum_of_locals = 0;
  for (const std::vector<int>& of_pe : make_group<asker>().reduce<&asker::locals>(gather).get()) {
    sum_of_locals += of_pe[0];
    check_equal(of_pe[1], is_restarted() ? 5 : 7);  // not saved
  }
  check_equal(sum_of_locals, sum_of(pes_before, 10));
}

class from_and_to : public ::testing::TestWithParam<std::pair<int, int>> {};

TEST_P(from_and_to, everything_comes_back) {
  const auto [before, now] = GetParam();
  const checkpoint_folder folder;
  ASSERT_EQ(run_on_pes(before,
                       [&] {
                         check(!is_restarted(), "it is restarted");
                         check_throws<std::logic_error>([] { restored_state<int>(); }, "was not started with");
                         const program_values all = make_everything();
                         checkpoint(folder.checkpoint(), all).get();
                         check_everything(all, pe_count());  // writing changes nothing
                       }),
            0);
  ASSERT_EQ(restart_on_pes(now, folder,
                           [&, before = before] {
                             check(is_restarted(), "it is not restarted");
                             check_everything(restored_state<program_values>(), before);
                             check_throws<std::runtime_error>([] { restored_state<int>(); }, ", not int");
                           }),
            0);
}
INSTANTIATE_TEST_SUITE_P(checkpoints, from_and_to,
                         ::testing::Values(std::pair(1, 1), std::pair(1, 3), std::pair(2, 2), std::pair(2, 5),
                                           std::pair(3, 1), std::pair(3, 2), std::pair(4, 4), std::pair(5, 3)));

// Two restarts one after the other, with fewer and with more PEs, and a checkpoint of the restarted job.
TEST(checkpoint, of_a_restarted_job) {
  const checkpoint_folder folder;
  ASSERT_EQ(run_on_pes(4, [&] { checkpoint(folder.checkpoint(), make_everything()).get(); }), 0);
  for (const int pes : {2, 3, 1, 4})
    ASSERT_EQ(restart_on_pes(pes, folder,
                             [&] {
                               const auto all = restored_state<program_values>();
                               checkpoint(folder.checkpoint(), all).get();
                             }),
              0);
  ASSERT_EQ(restart_on_pes(3, folder, [&] { check_everything(restored_state<program_values>(), 4); }), 0);
}

// ---- what comes afterwards

TEST(checkpoint, the_job_goes_on) {
  const checkpoint_folder folder;
  ASSERT_EQ(run_on_pes(2, [&] { checkpoint(folder.checkpoint(), make_everything()).get(); }), 0);
  ASSERT_EQ(restart_on_pes(3, folder,
                           [&] {
                             const auto all = restored_state<program_values>();
                             const auto more = make_array<cell>({7, 7});
                             check(more.id() > all.cells.id() && more.id() > all.same.id(), "an id is used again");
                             more.broadcast<&cell::set>(1);
                             check_equal(more.reduce<&cell::one>(sum).get(), 49);
                             std::vector<element_ref<alone>> made;
                             for (int i = 0; i < 20; ++i)
                               made.push_back(make_object_on<alone>(i % 3, 1000 + i, all.cells(0, 0)));
                             for (int i = 0; i < 20; ++i)
                               check_equal(made[static_cast<std::size_t>(i)].call<&alone::get>().get(), 1000 + i);
                             for (int i = 0; i < rows; ++i)
                               for (int j = 0; j < columns; ++j) all.cells(i, j).send<&cell::go>((i + j) % 3);
                             quiescence().get();
                             for (int i = 0; i < rows; ++i)
                               for (int j = 0; j < columns; ++j)
                                 check_equal(all.cells(i, j).call<&cell::where>().get(), (i + j) % 3);
                             all.names.insert("a new key", 4711);
                             check_equal(all.names["a new key"].call<&named::get>().get(), 4711);
                             all.names[all.keys[3]].send<&named::end>();
                             all.cells(1, 1).send<&cell::end>();
                             quiescence().get();
                             check_equal(all.cells.reduce<&cell::one>(sum).get(), rows * columns - 1);
                             all.cells.broadcast<&cell::set>(3);
                             all.cells.broadcast<&cell::check_set>(3);
                             quiescence().get();
                           }),
            0);
}

// With the same number of PEs, elements stay where they had gone.
TEST(checkpoint, elements_that_moved_are_where_they_were) {
  const checkpoint_folder folder;
  const auto place = [](int i, int j) { return (3 * i + j) % 4; };
  ASSERT_EQ(run_on_pes(4,
                       [&] {
                         const program_values all = make_everything();
                         for (int i = 0; i < rows; ++i)
                           for (int j = 0; j < columns; ++j) all.cells(i, j).send<&cell::go>(place(i, j));
                         quiescence().get();
                         checkpoint(folder.checkpoint(), all).get();
                       }),
            0);
  for (const int pes : {4, 3})
    ASSERT_EQ(restart_on_pes(pes, folder,
                             [&] {
                               const auto all = restored_state<program_values>();
                               if (pe_count() == 4)
                                 for (int i = 0; i < rows; ++i)
                                   for (int j = 0; j < columns; ++j)
                                     check_equal(all.cells(i, j).call<&cell::where>().get(), place(i, j));
                               check_everything(all, 4);
                               for (int i = 0; i < rows; ++i) all.cells(i, 0).send<&cell::go>(0);
                               quiescence().get();
                               for (int i = 0; i < rows; ++i)
                                 check_equal(all.cells(i, 0).call<&cell::where>().get(), 0);
                             }),
              0);
}

TEST(checkpoint, deleted_elements_are_still_deleted) {
  const checkpoint_folder folder;
  ASSERT_EQ(run_on_pes(3,
                       [&] {
                         const program_values all = make_everything();
                         all.cells(2, 2).send<&cell::go>(2);
                         quiescence().get();
                         all.cells(2, 2).send<&cell::end>();
                         all.names[all.keys[5]].send<&named::end>();
                         for (const int i : {0, 3, 4}) all.singles[static_cast<std::size_t>(i)].send<&alone::end>();
                         quiescence().get();
                         checkpoint(folder.checkpoint(), all).get();
                       }),
            0);
  for (const int pes : {3, 2, 4})
    ASSERT_EQ(restart_on_pes(
                  pes, folder,
                  [&] {
                    const auto all = restored_state<program_values>();
                    check_throws<remote_error>([&] { all.cells(2, 2).call<&cell::one>().get(); }, "which was deleted");
                    check_throws<remote_error>([&] { all.names[all.keys[5]].call<&named::get>().get(); }, "deleted");
                    for (const std::size_t i : {0, 3, 4})
                      check_throws<remote_error>([&] { all.singles[i].call<&alone::get>().get(); }, "deleted");
                    check_equal(all.cells.reduce<&cell::one>(sum).get(), rows * columns - 1);
                    all.names.insert(all.keys[5], 6);
                    quiescence().get();
                    check_equal(all.names[all.keys[5]].call<&named::get>().get(), 6);
                  }),
              0);
}

// ---- contributions

struct collector : object<collector> {
  std::vector<int> sums;
  void sum_is(int value) { sums.push_back(value); }
  std::vector<int> get() { return sums; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(sums);
  }
};
struct contributor : array_element<contributor, index<1>> {
  element_ref<collector> to_;
  contributor() = default;
  explicit contributor(element_ref<collector> target) : to_(target) {}
  void add() { contribute(this_index()[0], sum, to<&collector::sum_is>(to_)); }
  void end() { erase_this(); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(to_);
  }
};
struct contributions {
  element_ref<collector> target;
  array<contributor> all;
};

TEST(checkpoint, contributions_go_on) {
  const checkpoint_folder folder;
  ASSERT_EQ(run_on_pes(3,
                       [&] {
                         const auto target = make_object<collector>();
                         const auto all = make_array<contributor>({10}, round_robin(), target);
                         all.broadcast<&contributor::add>();
                         all.broadcast<&contributor::add>();
                         quiescence().get();
                         all(9).send<&contributor::end>();
                         all.broadcast<&contributor::add>();
                         checkpoint(folder.checkpoint(), contributions{target, all}).get();
                       }),
            0);
  for (const int pes : {3, 2, 4})
    ASSERT_EQ(restart_on_pes(pes, folder,
                             [&] {
                               const auto [target, all] = restored_state<contributions>();
                               all.broadcast<&contributor::add>();
                               all(8).send<&contributor::end>();
                               all.broadcast<&contributor::add>();
                               quiescence().get();
                               const auto sums = target.call<&collector::get>().get();
                               check(sums == std::vector<int>({45, 45, 36, 36, 28}), "other sums");
                             }),
              0);
}

TEST(checkpoint, an_incomplete_contribution_is_refused) {
  const checkpoint_folder folder;
  ASSERT_EQ(run_on_pes(2,
                       [&] {
                         const auto target = make_object<collector>();
                         const auto all = make_array<contributor>({10}, round_robin(), target);
                         all(3).send<&contributor::add>();
                         check_throws<remote_error>([&] { checkpoint(folder.checkpoint()).get(); },
                                                    "contributor is not complete: PE 1 has it of 1 of 5 elements");
                         for (int i = 0; i < 10; ++i)
                           if (i != 3) all(i).send<&contributor::add>();
                         checkpoint(folder.checkpoint()).get();
                       }),
            0);
}

// ---- sections: those of before the restart, their callbacks, and new ones

struct listener : array_element<listener, index<1>> {
  int sum_of_all = 0;
  callback<int> kept;
  void put(int value) { sum_of_all += value; }
  int get() { return sum_of_all; }
  void make_part(element_ref<listener> keeper) {  // on this PE, which may be no more after the restart
    keeper.send<&listener::keep>(to<&listener::put>(this_array().select({{1}, {2}})));
  }
  void keep(callback<int> target) { kept = target; }
  void use(int value) { kept(value); }
  void give(section_name part, callback<int> target) { contribute(part, 1, sum, target); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(sum_of_all, kept);
  }
};
struct listeners {
  array<listener> all;
  section<listener> part;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(all, part);
  }
};

void check_sum_of(const section<listener>& part, int members) {
  future<int> sum_of_part;
  part.multicast<&listener::give>(part.name(), callback<int>(sum_of_part.get_promise()));
  check_equal(sum_of_part.get(), members);
}

TEST(checkpoint, sections_and_callbacks_to_them_go_on) {
  const checkpoint_folder folder;
  ASSERT_EQ(run_on_pes(4,
                       [&] {
                         const auto all = make_array<listener>({8}, round_robin());
                         const auto part = all.select({{0}, {1}, {5}});
                         all(7).send<&listener::make_part>(all(0));
                         quiescence().get();
                         check_sum_of(part, 3);
                         checkpoint(folder.checkpoint(), listeners{all, part}).get();
                       }),
            0);
  int uses = 0;
  for (const int pes : {3, 2, 4, 1, 2}) {  // PE 3, which keeps the members of a callback, is no more, and comes back
    ++uses;
    ASSERT_EQ(restart_on_pes(pes, folder,
                             [&] {
                               const auto before = restored_state<listeners>();
                               // Of as many members, and not the same as one of before.
                               const auto part = before.all.select({{0}, {2}, {6}});
                               check_sum_of(part, 3);
                               check_sum_of(before.part, 3);
                               check_sum_of(part, 3);
                               before.all(0).send<&listener::use>(10);
                               quiescence().get();
                               check_equal(before.all(1).call<&listener::get>().get(), 10 * uses);
                               check_equal(before.all(2).call<&listener::get>().get(), 10 * uses);
                               check_equal(before.all.reduce<&listener::get>(sum).get(), 20 * uses);
                               checkpoint(folder.checkpoint(), before).get();
                             }),
              0)
        << pes;
  }
}

TEST(checkpoint, an_incomplete_contribution_of_a_section_is_refused) {
  const checkpoint_folder folder;
  ASSERT_EQ(run_on_pes(2,
                       [&] {
                         const auto all = make_array<listener>({8}, round_robin());
                         const auto part = all.select({{0}, {1}, {5}});
                         future<int> sum_of_part;
                         const callback<int> target(sum_of_part.get_promise());
                         all(1).send<&listener::give>(part.name(), target);
                         check_throws<remote_error>([&] { checkpoint(folder.checkpoint()).get(); },
                                                    "contribution 0 of a section of 3 elements that PE 0 has made is "
                                                    "not complete");
                         all(0).send<&listener::give>(part.name(), target);
                         all(5).send<&listener::give>(part.name(), target);
                         check_equal(sum_of_part.get(), 3);
                         checkpoint(folder.checkpoint()).get();
                       }),
            0);
}

// ---- coroutines and kept messages

struct waiter : array_element<waiter, index<1>> {
  int sum = 0;
  void token(int, int value) { sum += value; }
  int question(int) { return 5; }
  task<> wait(int reference) { co_await when<&waiter::token>(reference); }
  task<> ask(int reference) { co_await when<&waiter::question>(reference); }
  task<> wait_for(element_ref<waiter> other) { static_cast<void>(co_await other.call<&waiter::question>(1)); }
  task<> save(std::string folder) {
    sum = 1000;
    co_await checkpoint(folder, this_element());
    sum = 1;
  }
  int get() { return sum; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(sum);
  }
};

TEST(checkpoint, kept_messages_come_along) {
  const checkpoint_folder folder;
  ASSERT_EQ(run_on_pes(2,
                       [&] {
                         const auto all = make_array<waiter>({4});
                         for (int i = 0; i < 4; ++i)
                           for (int r = 0; r < 3; ++r) all(i).send<&waiter::token>(r, 10 * i + r);
                         checkpoint(folder.checkpoint(), all).get();
                         all(3).send<&waiter::wait>(2);
                         quiescence().get();
                         check_equal(all(3).call<&waiter::get>().get(), 32);
                       }),
            0);
  for (const int pes : {2, 1, 3})
    ASSERT_EQ(restart_on_pes(pes, folder,
                             [&] {
                               const auto all = restored_state<array<waiter>>();
                               for (int i = 0; i < 4; ++i)
                                 for (const int r : {2, 0, 1}) all(i).send<&waiter::wait>(r);
                               quiescence().get();
                               for (int i = 0; i < 4; ++i) check_equal(all(i).call<&waiter::get>().get(), 30 * i + 3);
                             }),
              0);
}

TEST(checkpoint, suspended_coroutines_are_refused) {
  const checkpoint_folder folder;
  ASSERT_EQ(run_on_pes(2,
                       [&] {
                         const auto all = make_array<waiter>({4});
                         checkpoint(folder.checkpoint(), 1).get();
                         const auto refused = [&](const std::string& why) {
                           check_throws<remote_error>([&] { checkpoint(folder.checkpoint(), 2).get(); }, why);
                         };
                         all(1).send<&waiter::wait>(7);
                         refused("waiter(1) on PE 0: a coroutine of it waits for");
                         refused("waiter::token with reference number 7");
                         all(1).send<&waiter::token>(7, 1);
                         checkpoint(folder.checkpoint(), 3).get();

                         auto answer = all(2).call<&waiter::question>(1);
                         refused("waiter(2) on PE 1: it keeps a 'call of");
                         all(2).send<&waiter::ask>(1);
                         check_equal(answer.get(), 5);

                         all(0).send<&waiter::wait_for>(all(2));
                         refused("waiter(0) on PE 0: a coroutine of it waits for a future");
                         all(2).send<&waiter::ask>(1);
                         checkpoint(folder.checkpoint(), 4).get();
                       }),
            0);
  ASSERT_EQ(restart_on_pes(1, folder, [] { check_equal(restored_state<int>(), 4); }), 0);
}

TEST(checkpoint, a_coroutine_may_ask_for_it) {
  const checkpoint_folder folder;
  ASSERT_EQ(run_on_pes(3,
                       [&] {
                         const auto all = make_array<waiter>({6});
                         all(4).call<&waiter::save>(folder.checkpoint()).get();
                         check_equal(all(4).call<&waiter::get>().get(), 1);
                       }),
            0);
  ASSERT_EQ(restart_on_pes(2, folder,
                           [] {
                             const auto caller = restored_state<element_ref<waiter>>();
                             check_equal(caller.call<&waiter::get>().get(), 1000);
                           }),
            0);
}

struct gated : nodegroup_member<gated> {
  int begun = 0;
  promise<void> gate;
  task<> wait() {
    ++begun;
    future<void> opened;
    gate = opened.get_promise();
    co_await std::move(opened);
  }
  void open() { gate.set(); }
  task<int> save(std::string folder, nodegroup<gated> group) {
    ++begun;
    future<void> saved = checkpoint(folder, group);
    co_await std::move(saved);
    co_return begun += 100;
  }
  int count() const { return begun; }
  using exclusive_methods = methods<&gated::wait, &gated::save>;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(begun);
  }
};

TEST(checkpoint, suspended_coroutines_of_node_groups_are_refused_but_for_the_caller) {
  const checkpoint_folder folder;
  for (const int pes : {1, 3})
    ASSERT_EQ(run_on_pes(pes,
                         [&] {
                           const auto group = make_nodegroup<gated>();
                           group[0].send<&gated::wait>();
                           check_throws<remote_error>([&] { checkpoint(folder.checkpoint()).get(); },
                                                      "a coroutine of a node group has not ended on PE ");
                           group[0].send<&gated::open>();
                           check_equal(group[0].call<&gated::save>(folder.checkpoint(), group).get(), 102);
                         }),
              0);
  ASSERT_EQ(restart_on_pes(2, folder,
                           [] {
                             const auto group = restored_state<nodegroup<gated>>();
                             check_equal(group[0].call<&gated::count>().get(), 2);
                           }),
            0);
}

// ---- what is refused, and the job goes on

struct unsaved : array_element<unsaved, index<1>> {
  int value = 0;
};
struct unsaved_of_process : nodegroup_member<unsaved_of_process> {
  explicit unsaved_of_process(int) {}
};

TEST(checkpoint, classes_without_serialize_are_refused) {
  const checkpoint_folder folder;
  ASSERT_EQ(run_on_pes(2,
                       [&] {
                         make_array<unsaved>({3});
                         check_throws<remote_error>([&] { checkpoint(folder.checkpoint()).get(); },
                                                    "unsaved has no serialize function");
                       }),
            0);
  ASSERT_EQ(run_on_pes(2,
                       [&] {
                         make_nodegroup<unsaved_of_process>(1);
                         check_throws<remote_error>([&] { checkpoint(folder.checkpoint()).get(); },
                                                    "unsaved_of_process, whose class has no default constructor");
                       }),
            0);
  EXPECT_FALSE(std::filesystem::exists(folder.checkpoint() + "/manifest"));
}

// Others that wait for quiescence are woken together with the checkpoint.
struct busy : array_element<busy, index<1>> {
  array<busy> all;
  int hops = 0;
  void hop(int left, const array<busy>& others) {
    ++hops;
    if (left > 0) others((this_index()[0] + 1) % 4).send<&busy::hop>(left - 1, others);
  }
  task<> wait_and_send(array<busy> others) {
    co_await quiescence();
    others((this_index()[0] + 1) % 4).send<&busy::hop>(1000, others);
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(hops);
  }
};

TEST(checkpoint, others_that_send_are_noticed) {
  const checkpoint_folder folder;
  ASSERT_EQ(run_on_pes(3,
                       [&] {
                         const auto all = make_array<busy>({4}, round_robin());
                         all(1).send<&busy::wait_and_send>(all);
                         std::string why;
                         try {
                           checkpoint(folder.checkpoint(), 1).get();
                         } catch (const remote_error& error) {
                           why = error.what();
                         }
                         // Whether the coroutine has run before the questions came is a matter of time.
                         check(why.find("messages were sent while") != why.npos ||
                                   why.find("has not ended") != why.npos || why.find("waits for a future") != why.npos,
                               "it was written, or: " + why);
                         checkpoint(folder.checkpoint(), 2).get();  // the hops have ended
                         auto first = checkpoint(folder.checkpoint(), 3);
                         auto second = checkpoint(folder.checkpoint(), 4);
                         check_throws<remote_error>([&] { second.get(); }, "another checkpoint is being written");
                         first.get();
                       }),
            0);
  ASSERT_EQ(restart_on_pes(1, folder, [] { check_equal(restored_state<int>(), 3); }), 0);
}

TEST(checkpoint, folders_that_cannot_be_written_are_named) {
  ASSERT_EQ(run_on_pes(2,
                       [&] {
                         check_throws<remote_error>([&] { checkpoint("/proc/none/ckpt").get(); },
                                                    "tri::checkpoint: /proc/none/ckpt: cannot be made: No such file");
                         check_throws<std::invalid_argument>([&] { static_cast<void>(checkpoint("")); }, "is empty");
                       }),
            0);
}

// ---- notice of the restart

struct notified : array_element<notified, index<1>> {
  int restored = 0;
  group<of_all> values;
  notified() = default;
  explicit notified(group<of_all> v) : values(v) {}
  void on_restored() { restored += values.local().value; }
  int get() { return restored; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(restored, values);
  }
};

TEST(checkpoint, elements_hear_of_a_restart_when_all_are_there) {
  const checkpoint_folder folder;
  ASSERT_EQ(run_on_pes(2,
                       [&] {
                         const auto same = make_group<of_all>(7);
                         checkpoint(folder.checkpoint(), make_array<notified>({5}, same)).get();
                       }),
            0);
  for (const int pes : {2, 3})
    ASSERT_EQ(restart_on_pes(pes, folder,
                             [] {
                               const auto all = restored_state<array<notified>>();
                               check_equal(all.reduce<&notified::get>(sum).get(), 35);
                             }),
              0);
}

// ---- teams

struct team_user : group_member<team_user> {
  static constexpr bool same_everywhere = true;
  team odd_or_even;
  task<> split() { odd_or_even = co_await team::world().split(this_pe() % 2, this_pe()); }
  task<int> total() { co_return co_await odd_or_even.allreduce(this_pe() + 1, sum); }
  bool is_member() {
    try {
      return odd_or_even.size() > 0;
    } catch (const std::logic_error&) {
      return false;
    }
  }
  team handle() { return odd_or_even; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(odd_or_even);
  }
};

void split_all(const group<team_user>& users) {
  users.broadcast<&team_user::split>();
  quiescence().get();
}
std::vector<int> totals_of(const group<team_user>& users) {
  std::vector<future<int>> asked;
  for (int pe = 0; pe < pe_count(); ++pe) asked.push_back(users[pe].call<&team_user::total>());
  std::vector<int> totals;
  for (future<int>& each : asked) totals.push_back(each.get());
  return totals;
}

TEST(checkpoint, teams_are_there_again_on_as_many_pes) {
  const checkpoint_folder folder;
  ASSERT_EQ(run_on_pes(4,
                       [&] {
                         const auto users = make_group<team_user>();
                         split_all(users);
                         check(totals_of(users) == std::vector<int>({4, 6, 4, 6}), "totals before");
                         checkpoint(folder.checkpoint(), users).get();
                       }),
            0);
  ASSERT_EQ(restart_on_pes(4, folder,
                           [] {
                             const auto users = restored_state<group<team_user>>();
                             check(totals_of(users) == std::vector<int>({4, 6, 4, 6}), "totals");
                           }),
            0);
  // With others they are not, and no new team has the name of an old one.
  for (const int pes : {2, 5})
    ASSERT_EQ(restart_on_pes(pes, folder,
                             [] {
                               const auto users = restored_state<group<team_user>>();
                               std::vector<team> old;
                               for (int pe = 0; pe < pe_count(); ++pe) {
                                 check(!users[pe].call<&team_user::is_member>().get(), "a member of an old team");
                                 old.push_back(users[pe].call<&team_user::handle>().get());
                               }
                               split_all(users);
                               for (int pe = 0; pe < pe_count(); ++pe) {
                                 const team fresh = users[pe].call<&team_user::handle>().get();
                                 check(std::ranges::find(old, fresh) == old.end(), "the name of an old team");
                               }
                               check_equal(totals_of(users)[0], pe_count() == 2 ? 1 : 1 + 3 + 5);
                             }),
              0);
}

}  // namespace
}  // namespace tri::testing
