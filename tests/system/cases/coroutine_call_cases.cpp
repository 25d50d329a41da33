// Calls of methods that coroutines await or that return tasks, promises, and what their callers hear of a deleted
// element.
#include <algorithm>
#include <chrono>

#include "objects/messages/awaited_messages.hpp"
#include "system/cases/cases.hpp"

namespace tri::testing {
namespace {

// A call of an awaited method waits for the coroutine that asks for it; both get the result.
struct answerer : array_element<answerer, index<1>> {
  int runs = 0;
  std::string answer(int step, std::string question) {
    ++runs;
    if (question == "bad") throw std::range_error("no answer");
    return question + std::to_string(step);
  }
  void note(int) { ++runs; }
  std::unique_ptr<int> move_only(int step) { return std::make_unique<int>(step); }
  std::vector<std::unique_ptr<int>> several_move_only(int step) {
    std::vector<std::unique_ptr<int>> made;
    made.push_back(std::make_unique<int>(step));
    return made;
  }
  task<std::string> serve(int step) { co_return co_await when<&answerer::answer>(step); }
  task<> serve_note(int step) { co_await when<&answerer::note>(step); }
  task<int> serve_move_only(int step) { co_return *co_await when<&answerer::move_only>(step); }
  task<int> serve_several(int step) { co_return *(co_await when<&answerer::several_move_only>(step)).front(); }
  int count() { return runs; }
  void go(int pe) { migrate_to(pe); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(runs);
  }
};
void calls_of_awaited_methods() {
  auto all = make_array<answerer>({pe_count()}, round_robin());
  for (int pe = 0; pe < pe_count(); ++pe) {
    auto one = all(pe);
    auto early = one.call<&answerer::answer>(1, std::string("a question that does not fit into an envelope "));
    auto other = one.call<&answerer::answer>(2, std::string("b"));
    auto noted = one.call<&answerer::note>(5);
    quiescence().get();
    check(!early.ready() && !noted.ready(), "the method ran without the coroutine that awaits it");
    check_equal(one.call<&answerer::count>().get(), 0);
    one.send<&answerer::go>((pe + 1) % pe_count());  // the calls go along
    quiescence().get();
    check_equal(one.call<&answerer::serve>(1).get(), "a question that does not fit into an envelope 1");
    check_equal(early.get(), "a question that does not fit into an envelope 1");
    check(!other.ready(), "the reference number was not looked at");
    one.call<&answerer::serve_note>(5).get();
    noted.get();
    check_equal(one.call<&answerer::serve>(2).get(), "b2");
    check_equal(other.get(), "b2");
    // The coroutine waits already; a call that fails is not what it waits for.
    auto served = one.call<&answerer::serve>(7);
    check_throws<remote_error>([&] { static_cast<void>(one.call<&answerer::answer>(7, std::string("bad")).get()); },
                               "answerer::answer: no answer");
    check(!served.ready(), "the coroutine took a call that failed");
    check_equal(one.call<&answerer::answer>(7, std::string("good")).get(), "good7");
    check_equal(served.get(), "good7");
    check_throws<remote_error>(
        [&] {
          auto number = one.call<&answerer::serve_move_only>(3);
          auto refused = one.call<&answerer::move_only>(3);
          check_equal(number.get(), 3);
          static_cast<void>(refused.get());
        },
        "the result cannot be copied");
    check_throws<remote_error>(
        [&] {
          auto number = one.call<&answerer::serve_several>(3);
          auto refused = one.call<&answerer::several_move_only>(3);
          check_equal(number.get(), 3);
          static_cast<void>(refused.get());
        },
        "the result cannot be copied");
  }
  check_throws<std::logic_error>([&] { static_cast<void>(all.reduce<&answerer::answer>(gather, 1, std::string())); },
                                 "is awaited by a coroutine");
}
const case_entry calls_of_awaited_case{"calls_of_awaited_methods", &calls_of_awaited_methods};

// A result that cannot leave its process is an error of the call, also when a coroutine returns it.
struct homebody : group_member<homebody> {
  struct secret {
    std::string text;
  };
  task<local_only<secret>> tell() {
    co_await after(std::chrono::microseconds(1));
    co_return local_only<secret>{{"a secret"}};
  }
};
void results_that_stay() {
  auto group = make_group<homebody>();
  for (int pe = 0; pe < pe_count(); ++pe) {
    auto told = group[pe].call<&homebody::tell>();
    if (pe / pes_per_process() == this_process())
      check_equal(told.get().value.text, "a secret");
    else
      check_throws<remote_error>([&] { static_cast<void>(told.get()); }, "cannot be sent to another process");
  }
}
const case_entry results_that_stay_case{"results_that_stay", &results_that_stay};

// Whoever waits for what an element returns hears that it was deleted, however far the call had come.
struct mortal : array_element<mortal, index<1>> {
  future<int> never;
  int asked(int) { return 1; }
  task<int> wait_for_message() { co_return co_await when<&mortal::asked>(1); }
  task<int> wait_for_future() { co_return co_await never; }
  task<int> end_and_wait() {
    erase_this();
    co_return co_await never;
  }
  task<int> end_and_return() {
    erase_this();
    co_return 7;
  }
  int value() { return 7; }
  void end() { erase_this(); }
};
void calls_of_deleted_elements() {
  auto all = make_array<mortal>({3 * pe_count()}, round_robin());
  const auto check_fails = [](future<int>& call, const std::string& why) {
    check_throws<remote_error>([&] { static_cast<void>(call.get()); }, why);
  };
  for (int pe = 0; pe < pe_count(); ++pe) {
    auto one = all(pe);
    auto suspended = one.call<&mortal::wait_for_message>();
    auto nested = one.call<&mortal::wait_for_future>();
    auto kept = one.call<&mortal::asked>(9);
    quiescence().get();
    one.send<&mortal::end>();
    check_fails(suspended, "mortal::wait_for_message: the object was deleted before the method had ended");
    check_fails(nested, fmt::format("mortal({}) on PE {}, method", pe, pe));
    check_fails(kept, "mortal::asked' from PE 0 waited for a coroutine of");
    auto late = one.call<&mortal::value>();
    check_fails(late, "mortal::value' from PE 0 reached");

    auto own_end = all(pe + pe_count()).call<&mortal::end_and_wait>();
    check_fails(own_end, "the object was deleted before the method had ended");
    check_equal(all(pe + 2 * pe_count()).call<&mortal::end_and_return>().get(), 7);
    quiescence().get();
  }
}
const case_entry calls_of_deleted_case{"calls_of_deleted_elements", &calls_of_deleted_elements};

// ---- futures and promises

void set_late(promise<int> first, int value) { first.set(value); }
void promises() {
  future<int> twice;
  twice.get_promise().set(1);
  twice.get_promise().set(2);
  twice.get_promise().fail("too late");
  quiescence().get();
  check_equal(twice.get(), 1);
  future<std::string> failed_one;
  failed_one.get_promise().fail("on purpose");
  failed_one.get_promise().set("too late");
  quiescence().get();
  check_throws<remote_error>([&] { static_cast<void>(failed_one.get()); }, "on purpose");
  for (int pe = 0; pe < pe_count(); ++pe) {
    {
      future<int> dropped;
      send<&set_late>(pe, dropped.get_promise(), 13);
    }
    future<int> successor;  // may take the place of the one dropped, and must not get its value
    future<int> other;
    quiescence().get();
    check(!successor.ready() && !other.ready(), "a value for a dropped future reached another");
    successor.get_promise().set(4);
    check_equal(successor.get(), 4);
  }
}
const case_entry promises_case{"promises", &promises};

task<int> main_subroutine(int depth) {
  if (depth == 0) co_return 0;
  co_await after(std::chrono::nanoseconds(1));
  co_return 1 + co_await main_subroutine(depth - 1);
}
struct starter : group_member<starter> {
  task<int> run(int depth) { co_return co_await main_subroutine(depth); }
};
void free_subroutines() {
  auto group = make_group<starter>();
  check_equal(group.reduce<&starter::run>(sum, 10).get(), 10 * pe_count());
}
const case_entry subroutines_case{"free_subroutines", &free_subroutines};

}  // namespace
}  // namespace tri::testing
