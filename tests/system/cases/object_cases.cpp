// Node groups (M58-M60) and single objects.
#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "objects/collection_manager.hpp"
#include "system/cases/cases.hpp"

namespace tri::testing {
namespace {

struct tally : nodegroup_member<tally> {
  std::atomic<int> count;
  std::mutex lock;
  std::unordered_map<int, int> by_key;
  std::set<int> pes;
  explicit tally(int start) : count(start) {}
  void add(int key, std::string text) {
    count += static_cast<int>(text.size());
    std::lock_guard guard(lock);
    by_key[key] += 1;
    pes.insert(this_pe());
  }
  int total() { return count; }
  int process() { return this_process(); }
  int key_count() {
    std::lock_guard guard(lock);
    for (const int pe : pes) check_equal(pe / pes_per_process(), this_process());
    return static_cast<int>(by_key.size());
  }
  int fail_here(int value) { throw std::invalid_argument("value " + std::to_string(value)); }
};
struct tally_user : group_member<tally_user> {
  void work(nodegroup<tally> target, int keys) {
    for (int key = 0; key < keys; ++key)
      target[(this_pe() + key) % process_count()].send<&tally::add>(key, std::string(40, 'x'));
  }
};

void node_groups() {
  auto tallies = make_nodegroup<tally>(0);
  auto users = make_group<tally_user>();
  users.broadcast<&tally_user::work>(tallies, 100);
  quiescence().get();
  check_equal(tallies.reduce<&tally::total>(sum).get(), pe_count() * 100 * 40);
  for (int p = 0; p < process_count(); ++p) {
    check_equal(tallies[p].call<&tally::process>().get(), p);
    check(tallies[p].call<&tally::key_count>().get() > 0, "no keys");
    check_throws<remote_error>([&] { static_cast<void>(tallies[p].call<&tally::fail_here>(3).get()); }, "value 3");
  }
  tallies.broadcast<&tally::add>(1, std::string("x"));
  quiescence().get();
  check_equal(tallies.reduce<&tally::total>(sum).get(), pe_count() * 4000 + process_count());
  check_equal(tallies.local().process(), this_process());
  check_throws<std::out_of_range>([&] { tallies[process_count()].send<&tally::process>(); },
                                  "no process " + std::to_string(process_count()));
}
const case_entry node_groups_case{"node_groups", &node_groups};

// Methods of one member wait for each other, which they can only do when they run at the same time; then each sends to
// its own object from inside.
struct meeting : nodegroup_member<meeting> {
  const int expected_guests;
  std::atomic<int> arrived{0}, finished{0}, follow_ups{0};
  std::mutex lock;
  std::set<int> pes;
  explicit meeting(int guests) : expected_guests(guests) {}
  void attend(nodegroup<meeting> group) {
    ++arrived;
    while (arrived < expected_guests) std::this_thread::yield();  // the test's own time limit ends it
    {
      std::lock_guard guard(lock);
      pes.insert(this_pe());
    }
    group[this_process()].send<&meeting::follow_up>();
    ++finished;
  }
  void follow_up() { ++follow_ups; }
  int pes_met() {
    check_equal(finished.load(), expected_guests);
    check_equal(follow_ups.load(), expected_guests);
    return static_cast<int>(pes.size());
  }
};
void methods_of_a_node_object_run_at_the_same_time() {
  auto group = make_nodegroup<meeting>(pes_per_process());
  for (int guest = 0; guest < pes_per_process(); ++guest) group.broadcast<&meeting::attend>(group);
  quiescence().get();
  check_equal(group.reduce<&meeting::pes_met>(minimum).get(), pes_per_process());
}
const case_entry meeting_case{"methods_of_a_node_object_run_at_the_same_time",
                              &methods_of_a_node_object_run_at_the_same_time};

// A PE that is busy does not hold up the messages of its node object: it waits here for one of them.
struct busy : group_member<busy> {
  void wait_for(nodegroup<meeting> group) {
    if (this_pe() % pes_per_process() != 0) return;
    meeting& member = group.local();
    group[this_process()].send<&meeting::follow_up>();
    while (member.follow_ups == 0) std::this_thread::yield();
  }
};
void node_messages_pass_a_busy_pe() {
  if (pes_per_process() == 1) return;
  auto group = make_nodegroup<meeting>(0);
  auto waiting = make_group<busy>();
  quiescence().get();
  waiting.broadcast<&busy::wait_for>(group);
  quiescence().get();
}
const case_entry busy_case{"node_messages_pass_a_busy_pe", &node_messages_pass_a_busy_pe};

// Parts of a table, filled in by whichever PE gets the message, found by key and complete at the end (M60).
struct registry : nodegroup_member<registry> {
  static constexpr int parts = 64, part_size = 100;
  std::vector<int> table = std::vector<int>(parts * part_size, -1);
  std::mutex lock;
  std::unordered_map<std::string, int*> by_key;
  void deposit(int part) {
    int* const own = table.data() + part * part_size;  // disjoint: no lock
    for (int i = 0; i < part_size; ++i) own[i] = part * part_size + i;
    std::lock_guard guard(lock);
    check(by_key.emplace("part " + std::to_string(part), own).second, "a part was deposited twice");
  }
  long long total() {
    check_equal(static_cast<int>(by_key.size()), parts);
    long long sum = 0;
    for (int part = 0; part < parts; ++part) {
      const int* const found = by_key.at("part " + std::to_string(part));
      for (int i = 0; i < part_size; ++i) sum += found[i];
    }
    return sum;
  }
};
struct depositor : group_member<depositor> {
  void work(nodegroup<registry> target) {
    for (int process = 0; process < process_count(); ++process)
      for (int part = this_pe(); part < registry::parts; part += pe_count())
        target[process].send<&registry::deposit>(part);
  }
};
void parallel_deposit() {
  auto registries = make_nodegroup<registry>();
  auto depositors = make_group<depositor>();
  depositors.broadcast<&depositor::work>(registries);
  quiescence().get();
  constexpr long long entries = registry::parts * registry::part_size;
  check_equal(registries.reduce<&registry::total>(minimum).get(), entries * (entries - 1) / 2);
  check_equal(registries.reduce<&registry::total>(maximum).get(), entries * (entries - 1) / 2);
}
const case_entry deposit_case{"parallel_deposit", &parallel_deposit};

struct counter_object : object<counter_object> {
  int value;
  std::string name;
  counter_object() : value(0) {}
  counter_object(int start, std::string its_name) : value(start), name(std::move(its_name)) {}
  int add(int amount) { return value += amount; }
  int where() { return this_pe(); }
  void go(int pe) { migrate_to(pe); }
  void end() { erase_this(); }
  element_ref<counter_object> twin() { return make_object<counter_object>(value, name); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value, name);
  }
};
void single_objects() {
  std::vector<element_ref<counter_object>> all;
  for (int pe = 0; pe < pe_count(); ++pe) {
    auto made = make_object_on<counter_object>(pe, 10 * pe, std::string("a name"));
    check_equal(made.call<&counter_object::add>(5).get(), 10 * pe + 5);
    check_equal(made.call<&counter_object::where>().get(), pe);
    made.send<&counter_object::go>((pe + 1) % pe_count());
    quiescence().get();
    check_equal(made.call<&counter_object::where>().get(), (pe + 1) % pe_count());
    const auto twin = made.call<&counter_object::twin>().get();
    check(!(twin == made), "a twin has the same handle");
    check_equal(twin.call<&counter_object::add>(1).get(), 10 * pe + 6);
    made.send<&counter_object::end>();
    twin.send<&counter_object::end>();
  }
  quiescence().get();
  check_throws<std::out_of_range>([] { static_cast<void>(make_object_on<counter_object>(pe_count())); },
                                  "asked to be created on PE");
}
const case_entry single_objects_case{"single_objects", &single_objects};

// Objects that come and go leave next to nothing behind, and a message to one of them is still known to be too late.
int location_entries_here() {
  const auto* const singles = objects::pe_objects::of(sched::this_pe()).find_local_collection(0);
  return static_cast<int>(static_cast<const objects::collection_manager*>(singles)->location_entries());
}
void tell_entries(promise<int> whom) { whom.set(location_entries_here()); }
int entries_on(int pe) {
  future<int> told;
  send<&tell_entries>(pe, told.get_promise());
  return told.get();
}
void many_short_lived_objects() {
  constexpr int objects_per_pe = 200;
  for (int pe = 0; pe < pe_count(); ++pe) {
    const int before = entries_on(pe);
    for (int round = 0; round < 3; ++round) {
      std::vector<element_ref<counter_object>> made;
      for (int i = 0; i < objects_per_pe; ++i) {
        made.push_back(make_object_on<counter_object>(pe, i, std::string("short")));
        make_object_on<counter_object>((pe + 1) % pe_count()).send<&counter_object::end>();
      }
      for (const auto& each : made) each.send<&counter_object::end>();
      quiescence().get();
    }
    const int left = entries_on(pe) - before;
    check(left <= 2, fmt::format("{} objects that are gone are remembered in {} places", 3 * objects_per_pe, left));
  }
}
const case_entry many_objects_case{"many_short_lived_objects", &many_short_lived_objects};

}  // namespace
}  // namespace tri::testing
