// Node groups (M58-M60) and single objects.
#include <atomic>
#include <mutex>
#include <set>
#include <unordered_map>

#include "system/cases.hpp"

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
  return static_cast<int>(objects::pe_objects::of(sched::this_pe()).find_branch(0)->location_entries());
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
