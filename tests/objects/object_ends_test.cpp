// Objects that end: by a method of their own, or with the job, and what their destructors may still do.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "counted.hpp"
#include "support/check.hpp"
#include "support/run_on_pes.hpp"
#include "trireme/idle.hpp"

namespace tri::testing {
namespace {

struct absent_element : array_element<absent_element, index<1>> {
  void token(int, counted) {}
};

// Methods of local objects may be called as functions; the object ends when the caller has ended.
struct called_directly : array_element<called_directly, index<1>> {
  counted own;
  std::string name = "a text that does not fit into the string itself";
  int end() {
    erase_this();
    name += "!";
    return alive.load();
  }
};
array<called_directly> to_be_ended;
void end_local_one() {
  check_equal(to_be_ended(0).local()->end(), 1);
  check(to_be_ended(0).local() != nullptr, "it ended before the function that called it");
}
TEST(object_ends, an_element_that_is_called_directly_may_delete_itself) {
  EXPECT_EQ(run_on_pes(1,
                       [] {
                         to_be_ended = make_array<called_directly>({1});
                         check_equal(to_be_ended(0).local()->end(), 1);
                         quiescence().get();
                         check_equal(alive.load(), 0);
                         to_be_ended = make_array<called_directly>({1});
                         send<&end_local_one>(0);
                         quiescence().get();
                         check_equal(alive.load(), 0);
                         check(to_be_ended(0).local() == nullptr, "it is still there");
                       }),
            0);
}

// An element makes another object start a coroutine, and ends before it.
struct patient : group_member<patient> {
  future<int> awaited;
  std::vector<task<>> waiting;
  int got = 0;
  task<> wait() { got += co_await awaited; }
  void start() { waiting.push_back(wait()); }
  void set() { awaited.get_promise().set(5); }
  int result() { return got; }
};
struct starter : array_element<starter, index<1>> {
  void start(group<patient> others) {
    others.local().start();
    erase_this();
  }
};
TEST(object_ends, an_element_may_end_before_what_it_started_elsewhere) {
  EXPECT_EQ(run_on_pes(1,
                       [] {
                         const auto patients = make_group<patient>();
                         make_array<starter>({1})(0).send<&starter::start>(patients);
                         quiescence().get();
                         patients[0].send<&patient::set>();
                         quiescence().get();
                         check_equal(patients[0].call<&patient::result>().get(), 5);
                       }),
            0);
}

// What destructors ask for at the end of the job is in vain: to be deleted or moved, broadcasts, multicasts,
// reductions, contributions, messages to what exists and to what does not.
struct last_wishes : array_element<last_wishes, index<1>> {
  array<last_wishes> other;
  array<absent_element> absent;
  explicit last_wishes(array<last_wishes> its_other, array<absent_element> its_absent)
      : other(its_other), absent(its_absent) {}
  struct guard {
    last_wishes* owner;
    ~guard() {
      owner->erase_this();
      owner->migrate_to((this_pe() + 1) % pe_count());
    }
  };
  task<> live() {
    const guard at_the_end{this};
    co_await when<&last_wishes::note>(1);
  }
  void note(int) {}
  void hear(counted) {}
  int value(counted) { return 1; }
  void done(int) {}
  ~last_wishes() override {
    for (const auto& all : {this_array(), other}) {
      if (all.id() == 0) continue;
      all.broadcast<&last_wishes::hear>(counted());
      auto part = all.select({0, 1});
      part.multicast<&last_wishes::hear>(counted());
      static_cast<void>(all.reduce<&last_wishes::value>(sum, counted()));
      static_cast<void>(part.reduce<&last_wishes::value>(sum, counted()));
      static_cast<void>(all(0).call<&last_wishes::value>(counted()));
      if (auto* const local = all(0).local()) local->hear(counted());
    }
    absent(3).send<&absent_element::token>(1, counted());
    static_cast<void>(absent(3).call<&absent_element::token>(1, counted()));
    contribute(1, sum, to<&last_wishes::done>(this_element()));
  }
  void set_absent(array<absent_element> later) { absent = later; }
};
TEST(object_ends, last_wishes_are_in_vain) {
  for (const int pes : {1, 3}) {
    EXPECT_EQ(run_on_pes(pes,
                         [] {
                           const auto absent = make_sparse_array<absent_element>();
                           const auto first = make_array<last_wishes>({6}, round_robin(), array<last_wishes>(), absent);
                           const auto second = make_array<last_wishes>({6}, round_robin(), first, absent);
                           first.broadcast<&last_wishes::live>();
                           second.broadcast<&last_wishes::live>();
                           first.broadcast<&last_wishes::set_absent>(make_sparse_array<absent_element>());
                           quiescence().get();
                         }),
              0);
    EXPECT_EQ(alive.load(), 0);
  }
}

// Destructors of objects may use the node group and the read-only values until the end.
struct node_counter : nodegroup_member<node_counter> {
  std::atomic<int> ended{0};
  static inline std::atomic<int> total{0};
  ~node_counter() override { total = ended.load(); }
};
read_only<std::string> name_of_all;
struct reporter : array_element<reporter, index<1>> {
  nodegroup<node_counter> counters;
  explicit reporter(nodegroup<node_counter> all) : counters(all) {}
  ~reporter() override { counters.local().ended += static_cast<int>(name_of_all->size()); }
};
TEST(object_ends, destructors_may_use_what_a_process_shares) {
  for (int round = 0; round < 10; ++round) {
    EXPECT_EQ(run_on_pes(3,
                         [] {
                           name_of_all.publish("four").get();
                           auto counters = make_nodegroup<node_counter>();
                           static_cast<void>(make_array<reporter>({300}, counters));
                           quiescence().get();
                         }),
              0);
    EXPECT_EQ(node_counter::total, 4 * 300);
  }
}

// What a function for idle time holds may be memory of the job.
struct idler : group_member<idler> {
  idle_callback own;
  void begin() {
    own = call_when_idle([held = std::make_shared<counted>()] { return false; });
  }
};
TEST(object_ends, functions_for_idle_time_end_with_the_job) {
  EXPECT_EQ(run_on_pes(2,
                       [] {
                         make_group<idler>().broadcast<&idler::begin>();
                         quiescence().get();
                         check_equal(alive.load(), 2);
                       }),
            0);
  EXPECT_EQ(alive.load(), 0);
}

}  // namespace
}  // namespace tri::testing
