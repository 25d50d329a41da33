// What a program does wrong is reported with the exact text: at once as an exception, or as the end of the job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <thread>

#include "support/check.hpp"
#include "support/run_on_pes.hpp"

namespace tri::testing {
namespace {

using ::testing::ExitedWithCode;

struct box : array_element<box, index<2>> {
  int value() { return 1; }
  void fail() { throw std::range_error("the box is empty"); }
  void fail_strangely() { throw 42; }
  task<> fail_late() {
    co_await after(std::chrono::microseconds(1));
    throw std::range_error("late");
  }
  void end() { erase_this(); }
  void wait_in_method() {
    future<int> never;
    static_cast<void>(never.get());
  }
  void give_up(int status) { tri::exit(status); }
  void abort_here() { std::abort(); }
  void ghost(int) {}
  task<> wait_for_ghost(int step) { co_await when<&box::ghost>(step); }
  task<int> value_late() {
    co_await when<&box::ghost>(-1);
    co_return 1;
  }
  void go(int pe) { migrate_to(pe); }
  void silent(callback<int> target) {
    if (this_index()[0] != 0) contribute(1, sum, target);
  }
};
struct failing_maker : array_element<failing_maker, index<1>> {
  failing_maker() {
    if (this_index()[0] == 2) throw std::runtime_error("no third one");
  }
};
void failing_function(int pe) { throw std::out_of_range("function on PE " + std::to_string(pe)); }

// Death tests: each program runs in a child process of its own, because the report ends the process.
class errors : public ::testing::Test {
 protected:
  errors() { GTEST_FLAG_SET(death_test_style, "fast"); }  // no thread of ours lives between two runs
};

TEST_F(errors, unknown_option) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(run_on_pes(1, [] {}, {"--tri-idel=spin"}), 1);
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, ::testing::HasSubstr("--tri-idel"));
  EXPECT_THAT(text, ::testing::HasSubstr("--tri-idle"));
}

TEST_F(errors, more_pes_than_the_affinity_map) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(run_on_pes(3, [] {}, {"--tri-affinity=0,0"}), 1);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::ContainsRegex("affinity.*2.*3|3.*affinity.*2"));
}

TEST_F(errors, exception_in_a_method_names_object_index_method_and_pe) {
  EXPECT_EXIT(
      run_on_pes(2,
                 [] {
                   make_array<box>({2, 3}, round_robin())(1, 2).send<&box::fail>();
                   quiescence().get();
                 }),
      ExitedWithCode(1),
      "trireme: an exception left an entry method: .*box\\(1,2\\) on PE 1, method .*box::fail: the box is empty");
  EXPECT_EXIT(run_on_pes(1,
                         [] {
                           make_array<box>({2, 3})(1, 0).send<&box::fail_strangely>();
                           quiescence().get();
                         }),
              ExitedWithCode(1),
              "box\\(1,0\\) on PE 0, method .*box::fail_strangely: an exception that is not a std::exception");
  EXPECT_EXIT(run_on_pes(2,
                         [] {
                           make_array<box>({2, 3}, round_robin())(0, 1).send<&box::fail_late>();
                           quiescence().get();
                         }),
              ExitedWithCode(1), "box\\(0,1\\) on PE 1, method .*box::fail_late: late");
  EXPECT_EXIT(run_on_pes(2,
                         [] {
                           make_array<box>({2, 3}).broadcast<&box::fail>();
                           quiescence().get();
                         }),
              ExitedWithCode(1), "box\\(.,.\\) on PE ., method .*box::fail: the box is empty");
}

TEST_F(errors, exceptions_elsewhere) {
  EXPECT_EXIT(run_on_pes(2, [] { throw std::runtime_error("main gave up"); }), ExitedWithCode(1),
              "trireme: an exception left the main program: main gave up");
  EXPECT_EXIT(run_on_pes(2, [] { throw 42; }), ExitedWithCode(1), "trireme: .*not a std::exception");
  EXPECT_EXIT(run_on_pes(2,
                         []() -> task<> {
                           co_await after(std::chrono::microseconds(1));
                           throw std::runtime_error("main coroutine gave up");
                         }),
              ExitedWithCode(1), "trireme: an exception left the main program: main coroutine gave up");
  EXPECT_EXIT(run_on_pes(2,
                         [] {
                           send<&failing_function>(1, 1);
                           quiescence().get();
                         }),
              ExitedWithCode(1), "failing_function.*function on PE 1");
  EXPECT_EXIT(run_on_pes(2,
                         [] {
                           static_cast<void>(make_array<failing_maker>({4}, round_robin()));
                           quiescence().get();
                         }),
              ExitedWithCode(1), "failing_maker\\(2\\).*no third one");
}

TEST_F(errors, deleted_elements) {
  EXPECT_EXIT(run_on_pes(2,
                         [] {
                           auto boxes = make_array<box>({2, 3}, round_robin());
                           boxes(1, 2).send<&box::end>();
                           quiescence().get();
                           boxes(1, 2).send<&box::value>();
                           quiescence().get();
                         }),
              ExitedWithCode(1), "a message '.*box::value' from PE 0 reached .*box\\(1,2\\), which was deleted");
  EXPECT_EXIT(
      run_on_pes(2,
                 [] {
                   auto boxes = make_array<box>({2, 3}, round_robin());
                   auto total = boxes.reduce<&box::value_late>(sum);
                   boxes(0, 1).send<&box::end>();
                   static_cast<void>(total.get());
                 }),
      ExitedWithCode(1),
      "a reduction cannot be completed: .*box\\(0,1\\) on PE 1, method .*box::value_late: the object was deleted "
      "before the method had ended");
}

// They are numbered for each pair of PEs.
struct lonely : object<lonely> {
  void fail() { throw std::range_error("alone"); }
};
TEST_F(errors, names_of_single_objects) {
  EXPECT_EQ(run_on_pes(2,
                       [] {
                         for (const int pe : {0, 1}) {
                           auto one = make_object_on<lonely>(pe);
                           check_throws<remote_error>(
                               [&] { one.call<&lonely::fail>().get(); },
                               fmt::format("lonely#1 (made by PE 0 for PE {}) on PE {}", pe, pe));
                         }
                       }),
            0);
}

TEST_F(errors, an_index_that_exists) {
  EXPECT_EXIT(run_on_pes(2,
                         [] {
                           auto boxes = make_sparse_array<box>();
                           boxes.insert_on(1, {3, 4});
                           quiescence().get();
                           boxes.insert_on(0, {3, 4});
                           quiescence().get();
                         }),
              ExitedWithCode(1), "box\\(3,4\\): .*an element with this index exists already");
  EXPECT_EXIT(run_on_pes(1,
                         [] {
                           make_array<box>({3, 3}).insert({1, 1});
                           quiescence().get();
                         }),
              ExitedWithCode(1),
              "box\\(1,1\\): elements of a dense array exist from the beginning and cannot be inserted");
}

struct badly_hashed {
  int x = 0, y = 0;
  [[maybe_unused]] friend bool operator==(const badly_hashed&, const badly_hashed&) = default;
};
}  // namespace
}  // namespace tri::testing
template <>
struct std::hash<tri::testing::badly_hashed> {
  std::size_t operator()(const tri::testing::badly_hashed& key) const {
    return static_cast<std::size_t>(key.x) ^ static_cast<std::size_t>(key.y);
  }
};
namespace tri::testing {
namespace {
struct keyed : array_element<keyed, badly_hashed> {};

TEST_F(errors, keys_of_one_hash) {
  EXPECT_EXIT(run_on_pes(2,
                         [] {
                           auto all = make_sparse_array<keyed>();
                           all.insert({1, 2});
                           all.insert({2, 1});
                           quiescence().get();
                         }),
              ExitedWithCode(1), "keyed.*exists already, or one whose key has the same std::hash");
}

// Two subroutines wait for messages, and another coroutine of the same element for a future.
struct busy : array_element<busy, index<1>> {
  void ghost(int) {}
  task<> part(int step) { co_await when<&busy::ghost>(step); }
  task<> two_parts() {
    auto first = part(1);
    auto second = part(2);
    co_await std::move(first);
    co_await std::move(second);
  }
  task<> wait_for_result() {
    future<int> never;
    co_await never;
  }
  void go() { migrate_to((this_pe() + 1) % pe_count()); }
  int going() { return pending_migration().value_or(-1); }
  int where() { return this_pe(); }
};
// A move that waits is no error, also when the job ends before it can be made.
TEST_F(errors, migration_while_a_coroutine_waits_for_a_future) {
  EXPECT_EQ(run_on_pes(2,
                       [] {
                         auto all = make_array<busy>({1});
                         const int first = all(0).call<&busy::where>().get();
                         all(0).send<&busy::two_parts>();
                         all(0).send<&busy::wait_for_result>();
                         all(0).send<&busy::go>();
                         quiescence().get();
                         check_equal(all(0).call<&busy::going>().get(), 1 - first);
                         check_equal(all(0).call<&busy::where>().get(), first);
                       }),
            0);
  // Those that wait for messages only go along.
  EXPECT_EQ(run_on_pes(2,
                       [] {
                         auto all = make_array<busy>({1});
                         all(0).send<&busy::two_parts>();
                         all(0).send<&busy::go>();
                         quiescence().get();
                         for (const int step : {1, 2}) all(0).send<&busy::ghost>(step);
                         quiescence().get();
                       }),
            0);
}

TEST_F(errors, no_such_pe) {
  EXPECT_EQ(run_on_pes(2,
                       [] {
                         const std::string all = "there are PEs 0..1";
                         check_throws<std::out_of_range>([] { send<&failing_function>(2, 1); }, all);
                         check_throws<std::out_of_range>([] { send<&failing_function>(-1, 1); }, all);
                         check_throws<std::out_of_range>([] { make_sparse_array<box>().insert_on(2, {0, 0}); }, all);
                       }),
            0);
  EXPECT_EXIT(run_on_pes(2,
                         [] {
                           make_array<box>({1, 1})(0, 0).send<&box::go>(7);
                           quiescence().get();
                         }),
              ExitedWithCode(1), "box\\(0,0\\): asked to migrate to PE 7; there are PEs 0..1");
}

TEST_F(errors, waiting_in_a_method) {
  EXPECT_EXIT(run_on_pes(1,
                         [] {
                           make_array<box>({1, 1})(0, 0).send<&box::wait_in_method>();
                           quiescence().get();
                         }),
              ExitedWithCode(1), "get\\(\\) inside an entry method or coroutine would stop its PE; use co_await");
}

TEST_F(errors, calls_from_other_threads) {
  EXPECT_EQ(run_on_pes(1,
                       [] {
                         auto boxes = make_array<box>({1, 1});
                         std::thread([&] {
                           check_throws<std::logic_error>(
                               [&] { boxes(0, 0).send<&box::value>(); },
                               "this call must come from a PE: from the function given to tri::run");
                         }).join();
                       }),
            0);
  EXPECT_THROW(static_cast<void>(pe_count()), std::logic_error);  // outside of tri::run
}

TEST_F(errors, handles_that_name_nothing) {
  EXPECT_EQ(run_on_pes(1,
                       [] {
                         check_throws<std::logic_error>([] { array<box>().broadcast<&box::value>(); },
                                                        "names no array that exists here");
                       }),
            0);
}

TEST_F(errors, stall_reports_name_what_is_waited_for) {
  const std::vector<std::string> soon{"--tri-stall-report-s=0.1"};
  EXPECT_EXIT(
      run_on_pes(
          2,
          [] {
            future<double> never;
            static_cast<void>(never.get());
          },
          soon),
      ExitedWithCode(1),
      "waits for a result that cannot come: for 0.1 s no message has been in flight\n  PE 0: a future of double");
  EXPECT_EXIT(run_on_pes(
                  2,
                  [] {
                    make_array<box>({2, 2}, round_robin())(0, 1).call<&box::wait_for_ghost>(17).get();
                  },
                  soon),
              ExitedWithCode(1), "PE 1: .*box\\(0,1\\) waits for .*box::ghost with reference number 17");
  EXPECT_EXIT(run_on_pes(
                  2,
                  [] {
                    future<int> total;
                    auto boxes = make_array<box>({2, 2});
                    boxes.broadcast<&box::silent>(callback<int>(total.get_promise()));
                    static_cast<void>(total.get());
                  },
                  soon),
              ExitedWithCode(1), "contribution 0 of .*box");
  EXPECT_EXIT(run_on_pes(
                  2, [] { make_sparse_array<box>()(5, 5).call<&box::value>().get(); }, soon),
              ExitedWithCode(1), "1 messages wait for elements of .*box that do not exist");
  EXPECT_EXIT(
      run_on_pes(
          2,
          [] {
            const mailbox letters = make_mailbox({.memory = 1000});
            letters.send(0, 8, 1.5);
            letters.send(0, 9, 1.5);
            static_cast<void>(letters.receive(1, 7).get());
          },
          soon),
      ExitedWithCode(1),
      "PE 0: a receive from PE 1 with tag 7 in mailbox [0-9]+; messages that it does not take are here: 2, the first "
      "from PE 0 with tag 8");
  EXPECT_EXIT(run_on_pes(
                  2,
                  [] {
                    const mailbox letters = make_mailbox({.memory = 0});
                    letters.send(0, 8, 1.5);
                    static_cast<void>(letters.receive(any_source, 7).get());
                  },
                  soon),
              ExitedWithCode(1),
              "a receive from any PE with tag 7 in mailbox [0-9]+; senders whose messages have no room: 1");
}

TEST_F(errors, the_arena_is_exhausted) {
  EXPECT_EQ(
      run_on_pes(
          1, [] { check_throws<arena::arena_exhausted>([] { buffer<char> much(std::size_t{64} << 20); }, "arena"); },
          {"--tri-arena-limit-bytes=16777216"}),
      0);
}

TEST_F(errors, exit_statuses) {
  EXPECT_EQ(run_on_pes(2, [] { return 3; }), 3);
  EXPECT_EQ(run_on_pes(2, [] { tri::exit(4); }), 4);  // not the 0 of the program's end
  EXPECT_EQ(run_on_pes(2,
                       [] {
                         tri::exit(4);
                         return 5;
                       }),
            4);
  EXPECT_EQ(run_on_pes(2,
                       []() -> task<int> {
                         co_await after(std::chrono::microseconds(1));
                         co_return 6;
                       }),
            6);
  EXPECT_EQ(run_on_pes(2,
                       [] {
                         future<int> never;
                         make_array<box>({1, 2}, round_robin())(0, 1).send<&box::give_up>(7);
                         static_cast<void>(never.get());
                       }),
            7);
  EXPECT_EQ(run_on_pes(2,
                       []() -> task<> {
                         future<int> never;
                         make_array<box>({1, 2}, round_robin())(0, 1).send<&box::give_up>(8);
                         co_await never;
                       }),
            8);
}

TEST_F(errors, an_abort_ends_the_process) {
  EXPECT_EXIT(run_on_pes(2,
                         [] {
                           make_array<box>({1, 2}, round_robin())(0, 1).send<&box::abort_here>();
                           quiescence().get();
                         }),
              ::testing::KilledBySignal(SIGABRT), "");
}

}  // namespace
}  // namespace tri::testing
