// Several runs one after another in one process, and what a run leaves behind: nothing.
#include <gtest/gtest.h>

#include <sched.h>
#include <array>
#include <chrono>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "support/check.hpp"
#include "support/run_on_pes.hpp"

namespace tri::testing {
namespace {

std::atomic<int> alive{0};

struct counted {  // counts the objects that exist; not plain, so it travels as an object
  counted() { ++alive; }
  counted(const counted&) { ++alive; }
  counted(counted&&) noexcept { ++alive; }
  counted& operator=(const counted&) = default;
  ~counted() { --alive; }
  template <class Archive>
  void serialize(Archive&) {}
};

struct part : array_element<part, index<1>> {
  counted own;
  std::vector<std::string> texts;
  void keep(std::string text, counted) { texts.push_back(std::move(text)); }
  int sum_of_sizes() {
    int total = 0;
    for (const auto& text : texts) total += static_cast<int>(text.size());
    return total;
  }
  task<> wait(counted) { co_await when<&part::token>(1); }
  void token(int, counted) {}
};

TEST(runs, one_after_another) {
  for (int round = 0; round < 6; ++round) {
    const int pes = 1 + round % 3;
    EXPECT_EQ(run_on_pes(pes,
                         [&] {
                           check_equal(pe_count(), pes);
                           auto parts = make_array<part>({10});
                           for (int i = 0; i < 100; ++i)
                             parts(i % 10).send<&part::keep>(std::string(static_cast<std::size_t>(i), 'x'), counted());
                           quiescence().get();
                           check_equal(parts.reduce<&part::sum_of_sizes>(sum).get(), 99 * 50);
                           check_equal(alive.load(), 10);
                         }),
              0);
    EXPECT_EQ(alive.load(), 0) << "round " << round;
  }
}

TEST(runs, arguments_may_be_read_by_the_program) {
  EXPECT_EQ(run_on_pes(1,
                       [](int count, char** words) {
                         check_equal(count, 2);
                         check_equal(std::string(words[1]), "own");
                       },
                       {"own", "--tri-inbox-cells=64"}),
            0);
}

TEST(runs, suspended_coroutines_and_kept_messages_end_with_the_run) {
  EXPECT_EQ(run_on_pes(2,
                       [] {
                         auto parts = make_array<part>({10}, round_robin());
                         parts.broadcast<&part::wait>(counted());
                         for (int i = 0; i < 10; ++i) parts(i).send<&part::token>(2, counted());
                         quiescence().get();
                       }),
            0);
  EXPECT_EQ(alive.load(), 0);
}

struct short_lived : array_element<short_lived, index<1>> {
  counted own;
  void token(int, counted) {}
  task<> wait(counted) { co_await when<&short_lived::token>(1); }
  void end() { erase_this(); }
};
TEST(runs, a_deleted_element_takes_what_it_kept_along) {
  EXPECT_EQ(run_on_pes(1,
                       [] {
                         auto all = make_array<short_lived>({3});
                         all.broadcast<&short_lived::wait>(counted());
                         for (int i = 0; i < 3; ++i) all(i).send<&short_lived::token>(2, counted());
                         quiescence().get();
                         for (int i = 0; i < 3; ++i) all(i).send<&short_lived::end>();
                         quiescence().get();
                         check_equal(alive.load(), 0);
                       }),
            0);
}

TEST(runs, messages_under_way_are_dropped_at_the_end) {
  for (int round = 0; round < 5; ++round)
    EXPECT_EQ(run_on_pes(2,
                         [] {
                           auto parts = make_array<part>({10}, round_robin());
                           for (int i = 0; i < 500; ++i)
                             parts(i % 10).send<&part::keep>(std::string(100, 'x'), counted());
                           const future<void> unused = after(std::chrono::seconds(100));
                           send_after<&part::keep>(std::chrono::seconds(100), parts(1), std::string("late"), counted());
                         }),
              0);
  EXPECT_EQ(alive.load(), 0);
}

struct heavy : counted {
  std::array<char, 3000> body{};
};
// Until it ends there is no memory for anything more; `spare` bytes, one block, can be allocated after `leave_room()`.
class full_arena {
 public:
  explicit full_arena(std::size_t spare) : spare_(arena::allocate(spare)) {
    for (const std::size_t bytes : {std::size_t{60'000}, std::size_t{64}}) try {
        for (;;) filler_.push_back(arena::allocate(bytes));
      } catch (const arena::arena_exhausted&) {
      }
  }
  full_arena(const full_arena&) = delete;
  full_arena& operator=(const full_arena&) = delete;
  ~full_arena() {
    if (spare_ != nullptr) arena::release(spare_);
    for (void* const each : filler_) arena::release(each);
  }
  void leave_room() { arena::release(std::exchange(spare_, nullptr)); }

 private:
  void* spare_;
  std::vector<void*> filler_;
};

std::atomic<bool> holding{false}, let_go{false};
struct holder : array_element<holder, index<1>> {
  void hold() {
    holding = true;
    while (!let_go.load()) sched_yield();
  }
  void take(heavy) {}
  void nothing() {}
};

// The receiver's ring is full, and there is memory for the arguments but none for the message.
TEST(runs, a_message_that_finds_no_place_gives_its_arguments_back) {
  holding = let_go = false;
  EXPECT_EQ(run_on_pes(2,
                       [] {
                         const auto held = make_array<holder>({2}, block());
                         held(1).send<&holder::hold>();
                         while (!holding.load()) sched_yield();
                         std::optional<full_arena> full(sizeof(std::tuple<heavy>));
                         check_throws<arena::arena_exhausted>(
                             [&] {
                               for (;;) held(1).send<&holder::nothing>();  // until the ring is full
                             },
                             "exhausted");
                         full->leave_room();
                         check_throws<arena::arena_exhausted>([&] { held(1).send<&holder::take>(heavy()); },
                                                              "exhausted");
                         check_equal(alive.load(), 0);
                         arena::release(arena::allocate(sizeof(std::tuple<heavy>)));  // throws if it is not back
                         full.reset();
                         let_go = true;
                         quiescence().get();
                       },
                       {"--tri-inbox-cells=16", "--tri-arena-limit-bytes=8388608"}),
            0);
}

// The same for messages whose envelope is allocated: towards an element that does not exist, with a priority, later.
TEST(runs, a_message_that_finds_no_envelope_gives_its_arguments_back) {
  EXPECT_EQ(
      run_on_pes(1,
                 [] {
                   const auto absent = make_sparse_array<holder>();
                   const auto present = make_array<holder>({1});
                   const auto check_refused = [&](auto&& send) {
                     full_arena full(sizeof(std::tuple<heavy>));
                     full.leave_room();
                     check_throws<arena::arena_exhausted>(send, "exhausted");
                     check_equal(alive.load(), 0);
                     arena::release(arena::allocate(sizeof(std::tuple<heavy>)));
                   };
                   check_refused([&] { absent(3).send<&holder::take>(heavy()); });
                   check_refused([&] { absent(3).with(2).send<&holder::take>(heavy()); });
                   check_refused([&] { present(0).with(-5).send<&holder::take>(heavy()); });
                   check_refused([&] { present(0).with(immediate).send<&holder::take>(heavy()); });
                   check_refused([&] { send_after<&holder::take>(std::chrono::nanoseconds(1), present(0), heavy()); });
                   quiescence().get();  // none of them counts as being under way
                 },
                 {"--tri-arena-limit-bytes=8388608"}),
      0);
}

struct four_dimensional : array_element<four_dimensional, index<4>> {
  explicit four_dimensional(counted) {}
};
TEST(runs, an_index_out_of_range_gives_the_arguments_back) {
  EXPECT_EQ(run_on_pes(1,
                       [] {
                         const auto all = make_sparse_array<four_dimensional>();
                         check_throws<std::out_of_range>(
                             [&] {
                               all.insert({1 << 20, 0, 0, 0}, counted());
                             },
                             "index 1048576 in dimension 0");
                         check_equal(alive.load(), 0);
                       }),
            0);
}

// What the conversion of an argument throws leaves no broadcast behind that the PEs wait for, and no root of a
// reduction.
struct picky {
  int value = 0;
  picky() = default;
  picky(int given) : value(given) {  // NOLINT(google-explicit-constructor)
    if (given < -1) throw given;
    if (given < 0) throw std::domain_error("negative");
  }
};
struct taker : array_element<taker, index<1>> {
  int taken = 0;
  void take(picky what) { taken += what.value; }
  int take_and_tell(picky what) { return what.value; }
  int sum_taken() { return taken; }
};
TEST(runs, a_broadcast_that_throws_was_never_sent) {
  EXPECT_EQ(
      run_on_pes(2,
                 [] {
                   const auto all = make_array<taker>({4}, round_robin());
                   const auto part = all.select({0, 1});
                   const auto check_all_thrown = [&](auto&& action) {
                     check_throws<std::domain_error>([&] { action(-1); }, "negative");
                     try {
                       action(-2);
                       failed("nothing was thrown", std::source_location::current());
                     } catch (int) {
                     }
                   };
                   check_all_thrown([&](int bad) { all.broadcast<&taker::take>(bad); });
                   check_all_thrown([&](int bad) { part.multicast<&taker::take>(bad); });
                   check_all_thrown([&](int bad) { static_cast<void>(all.reduce<&taker::take_and_tell>(sum, bad)); });
                   check_all_thrown([&](int bad) { static_cast<void>(part.reduce<&taker::take_and_tell>(sum, bad)); });
                   quiescence().get();
                   check_equal(objects::pe_objects::of(sched::this_pe()).describe_waiting(), "");
                   all.broadcast<&taker::take>(3);
                   check_equal(all.reduce<&taker::sum_taken>(sum).get(), 12);
                 },
                 {"--tri-stall-report-s=1"}),
      0);
}

// A future that the program keeps until its run has ended.
TEST(runs, mailboxes_end_with_the_run) {
  for (int run = 0; run < 3; ++run) {
    std::optional<future<received_message>> unserved;
    EXPECT_EQ(run_on_pes(2,
                         [&] {
                           const mailbox letters = make_mailbox();
                           check_equal(letters.statistics().memory_limit, 12345u);
                           check_equal(letters.statistics().credit_limit, 6789u);
                           letters.send(0, 1, std::vector<int>(10'000));  // stays at its sender
                           letters.send(1, 1, std::string("nobody takes this"));
                           unserved = letters.receive(1, 2);
                           quiescence().get();
                           check_equal(letters.statistics().recorded, 1u);
                           check_equal(letters.statistics().buffered_bytes, 0u);
                         },
                         {"--tri-mailbox-memory=12345", "--tri-mailbox-credits=6789"}),
              0);
    EXPECT_FALSE(unserved->ready());
  }
}

TEST(runs, a_future_may_outlive_its_run) {
  std::optional<future<counted>> kept;
  EXPECT_EQ(run_on_pes(1, [&] { kept.emplace(); }), 0);
  kept.reset();
  EXPECT_EQ(run_on_pes(1, [&] { kept.emplace().get_promise().set(counted()); }), 0);
  kept.reset();
  EXPECT_EQ(alive.load(), 0);
}

TEST(runs, a_future_of_an_earlier_run_says_so) {
  std::optional<future<std::string>> kept;
  EXPECT_EQ(run_on_pes(3, [&] { kept.emplace(); }), 0);
  EXPECT_EQ(run_on_pes(3,
                       [&] {
                         const future<std::string> of_this_run;
                         const std::string text = "tri::future: the run that made it has ended";
                         check_throws<std::logic_error>([&] { static_cast<void>(kept->get_promise()); }, text);
                         check_throws<std::logic_error>([&] { static_cast<void>(kept->get()); }, text);
                         kept.reset();
                       }),
            0);
}

// A future as a member of an element that moves: it can be waited for, and ends, anywhere in the process.
struct keeper : array_element<keeper, index<1>> {
  future<counted> kept;
  void go(int pe) { migrate_to(pe); }
  void fill() { kept.get_promise().set(counted()); }
  task<bool> wait() {
    co_await kept;
    co_return true;
  }
  void end() { erase_this(); }
};
TEST(runs, futures_may_end_on_another_pe) {
  for (const bool end_in_time : {false, true}) {
    EXPECT_EQ(run_on_pes(3,
                         [&] {
                           auto keepers = make_array<keeper>({12}, round_robin());
                           for (int i = 0; i < 12; ++i)
                             if (i % 4 == 0) keepers(i).send<&keeper::fill>();
                           quiescence().get();
                           check(keepers(0).call<&keeper::wait>().get(), "a future where it was made");
                           for (int i = 0; i < 12; ++i) keepers(i).send<&keeper::go>((i / 3) % 3);
                           quiescence().get();
                           check(keepers(8).call<&keeper::wait>().get(), "a value that came before the move");
                           future<bool> waits = keepers(3).call<&keeper::wait>();
                           quiescence().get();
                           check(!waits.ready(), "it has a value already");
                           keepers(3).send<&keeper::fill>();
                           check(waits.get(), "a value that comes after the move");
                           if (!end_in_time) return;
                           for (int i = 0; i < 12; ++i) keepers(i).send<&keeper::end>();
                           quiescence().get();
                           check_equal(alive.load(), 0);
                         }),
              0);
    EXPECT_EQ(alive.load(), 0);
  }
}

// Futures of PE 0 that end on PE 1 when PE 0 runs no messages any more: a member of an element, and an argument.
struct late_keeper : array_element<late_keeper, index<1>> {
  future<counted> kept;
  void go(int pe) { migrate_to(pe); }
  void end_after_the_program() {
    holding = true;
    while (!sched::this_pe().job().stopping()) sched_yield();
    erase_this();
  }
  void take(future<counted>) {}
};
TEST(runs, futures_may_end_on_another_pe_while_the_job_ends) {
  holding = false;
  EXPECT_EQ(run_on_pes(2,
                       [] {
                         auto keepers = make_array<late_keeper>({4}, round_robin());
                         keepers(0).send<&late_keeper::go>(1);
                         quiescence().get();
                         keepers(0).send<&late_keeper::end_after_the_program>();
                         while (!holding.load()) sched_yield();
                         keepers(1).send<&late_keeper::take>(future<counted>());
                       }),
            0);
  EXPECT_EQ(alive.load(), 0);
}

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
TEST(runs, an_element_that_is_called_directly_may_delete_itself) {
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
TEST(runs, an_element_may_end_before_what_it_started_elsewhere) {
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
  array<short_lived> absent;
  explicit last_wishes(array<last_wishes> its_other, array<short_lived> its_absent)
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
    absent(3).send<&short_lived::token>(1, counted());
    static_cast<void>(absent(3).call<&short_lived::token>(1, counted()));
    contribute(1, sum, to<&last_wishes::done>(this_element()));
  }
  void set_absent(array<short_lived> later) { absent = later; }
};
TEST(runs, last_wishes_are_in_vain) {
  for (const int pes : {1, 3}) {
    EXPECT_EQ(run_on_pes(pes,
                         [] {
                           const auto absent = make_sparse_array<short_lived>();
                           const auto first = make_array<last_wishes>({6}, round_robin(), array<last_wishes>(), absent);
                           const auto second = make_array<last_wishes>({6}, round_robin(), first, absent);
                           first.broadcast<&last_wishes::live>();
                           second.broadcast<&last_wishes::live>();
                           first.broadcast<&last_wishes::set_absent>(make_sparse_array<short_lived>());
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
TEST(runs, destructors_may_use_what_a_process_shares) {
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

// A member of a node group knows the older groups to the end, and what its destructor uses starts afresh in the next
// run.
struct elder : nodegroup_member<elder> {
  std::atomic<int> asked{0};
  void take(counted) {}
};
pe_local<int> used_at_the_end(0);
struct younger : nodegroup_member<younger> {
  nodegroup<elder> others;
  array<part> parts;
  static inline std::atomic<int> ended{0};
  explicit younger(nodegroup<elder> known, array<part> known_parts) : others(known), parts(known_parts) {}
  ~younger() override {
    ended += ++others.local().asked;
    ++*used_at_the_end;
    parts.broadcast<&part::keep>(std::string("in vain"), counted());
    others[0].send<&elder::take>(counted());
  }
};
struct uses_when_dropped : counted {
  ~uses_when_dropped() { ++*used_at_the_end; }
  uses_when_dropped() = default;
  uses_when_dropped(const uses_when_dropped&) = default;
};
struct sends_at_the_end : array_element<sends_at_the_end, index<1>> {
  void take(uses_when_dropped) {}
  ~sends_at_the_end() override { this_element().send<&sends_at_the_end::take>(uses_when_dropped()); }
};
TEST(runs, every_run_starts_afresh) {
  for (int round = 0; round < 3; ++round) {
    younger::ended = 0;
    EXPECT_EQ(run_on_pes(1,
                         [&] {
                           check_equal(*used_at_the_end, 0);
                           const auto known = make_nodegroup<elder>();
                           static_cast<void>(make_nodegroup<younger>(known, make_array<part>({2})));
                           static_cast<void>(make_array<sends_at_the_end>({1}));
                         }),
              0);
    EXPECT_EQ(younger::ended, 1);
    EXPECT_EQ(alive.load(), 0);
  }
}

}  // namespace
}  // namespace tri::testing
