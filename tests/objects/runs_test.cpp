// Several runs one after another in one process, and what a run leaves behind: nothing.
#include <gtest/gtest.h>

#include <sched.h>
#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "counted.hpp"
#include "support/check.hpp"
#include "support/run_on_pes.hpp"

namespace tri::testing {
namespace {

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

std::atomic<bool> holding{false};
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
