// Several runs one after another in one process, and what a run leaves behind: nothing.
#include <gtest/gtest.h>

#include <sched.h>
#include <array>
#include <memory>

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
                       {"own", "--tri-queue=locked"}),
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
                         std::vector<void*> filler;
                         void* const room = arena::allocate(sizeof(std::tuple<heavy>));
                         for (const std::size_t bytes : {60'000, 64}) try {
                             for (;;) filler.push_back(arena::allocate(bytes));
                           } catch (const arena::arena_exhausted&) {
                           }
                         check_throws<arena::arena_exhausted>(
                             [&] {
                               for (;;) held(1).send<&holder::nothing>();  // until the ring is full
                             },
                             "exhausted");
                         arena::release(room);
                         check_throws<arena::arena_exhausted>([&] { held(1).send<&holder::take>(heavy()); },
                                                              "exhausted");
                         check_equal(alive.load(), 0);
                         check_equal(arena::allocate(sizeof(std::tuple<heavy>)), room);  // throws if it is not back
                         arena::release(room);
                         for (void* const each : filler) arena::release(each);
                         let_go = true;
                         quiescence().get();
                       },
                       {"--tri-inbox-cells=16", "--tri-arena-limit-bytes=8388608"}),
            0);
}

// A future that the program keeps until its run has ended.
TEST(runs, a_future_may_outlive_its_run) {
  std::optional<future<counted>> kept;
  EXPECT_EQ(run_on_pes(1, [&] { kept.emplace(); }), 0);
  kept.reset();
  EXPECT_EQ(run_on_pes(1, [&] { kept.emplace().get_promise().set(counted()); }), 0);
  kept.reset();
  EXPECT_EQ(alive.load(), 0);
}

// A future as a member of an element that moves: it can be waited for where it was made only, and ends anywhere.
struct keeper : array_element<keeper, index<1>> {
  future<counted> kept;
  void go(int pe) { migrate_to(pe); }
  void fill() { kept.get_promise().set(counted()); }
  task<std::string> wait() {
    try {
      co_await kept;
    } catch (const std::logic_error& error) {
      co_return error.what();
    }
    co_return "came";
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
                           check_equal(keepers(0).call<&keeper::wait>().get(), "came");
                           for (int i = 0; i < 12; ++i) keepers(i).send<&keeper::go>((i / 3) % 3);
                           quiescence().get();
                           check_equal(keepers(4).call<&keeper::wait>().get() == "came", 4 % 3 == (4 / 3) % 3);
                           check_equal(keepers(3).call<&keeper::wait>().get(),
                                       "tri::future: waits on the PE that made it only");
                           if (!end_in_time) return;
                           for (int i = 0; i < 12; ++i) keepers(i).send<&keeper::end>();
                           quiescence().get();
                           check_equal(alive.load(), 0);
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

}  // namespace
}  // namespace tri::testing
