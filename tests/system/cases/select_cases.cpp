// Coroutines that wait for any of several things: messages, futures, time; for messages by several arguments or by a
// predicate; with time-outs; and coroutines that are cancelled.
#include <chrono>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "objects/messages/awaited_messages.hpp"
#include "system/cases/cases.hpp"

namespace tri::testing {
namespace {

using namespace std::chrono_literals;

struct chooser : array_element<chooser, index<1>> {
  std::vector<std::string> log;
  int work(int, int value) { return value; }
  std::string text(std::string value) { return value; }
  void stop() {}
  int pair(int, int, int value) { return value; }
  int plain(int value) { return value; }
  double far(double value) { return value; }
  int throwing(int) { throw std::range_error("out of range"); }
  int destroyed = 0;
  struct guard {
    int* count;
    ~guard() { ++*count; }
  };

  // Which alternative, and its value.
  task<std::string> choose(int number) {
    auto first = co_await select(when<&chooser::work>(number), when<&chooser::text>(), when<&chooser::stop>());
    if (first.index() == 0) co_return "work " + std::to_string(std::get<0>(first));
    if (first.index() == 1) co_return "text " + std::get<1>(first);
    co_return "stop";
  }
  task<std::string> choose_many(std::size_t count, int number) {
    auto first = co_await select(when_n<&chooser::work>(count, number), when<&chooser::stop>());
    if (first.index() == 1) co_return "stop";
    std::string all;
    for (const int value : std::get<0>(first)) all += std::to_string(value) + " ";
    co_return all;
  }
  task<int> take(int number) { co_return co_await when<&chooser::work>(number); }
  task<std::string> with_futures(element_ref<chooser> other, promise<promise<int>> whom) {
    future<int> kept;
    whom.set(kept.get_promise());
    auto first = co_await select(other.call<&chooser::far>(1.5), when<&chooser::stop>(), kept, tri::after(1h));
    std::string said = std::to_string(first.index());
    if (first.index() == 0) said += " " + std::to_string(static_cast<int>(2 * std::get<0>(first)));
    auto second = co_await select(kept, when<&chooser::stop>());
    said += " then " + std::to_string(second.index());
    if (second.index() == 1) said += " and at last " + std::to_string(co_await kept);
    co_return said;
  }
  task<std::string> failing(element_ref<chooser> other) {
    auto answer = other.call<&chooser::throwing>(1);
    try {
      static_cast<void>(co_await select(when<&chooser::stop>(), answer));
    } catch (const remote_error& error) {
      co_return error.what();
    }
    co_return "nothing was thrown";
  }
  task<std::string> by_time(int microseconds) {
    auto first = co_await select(when<&chooser::stop>(), tri::after(std::chrono::microseconds(microseconds)));
    co_return first.index() == 0 ? "stopped" : "time is up";
  }
  task<std::string> with_timeouts(element_ref<chooser> other) {
    std::string said;
    const auto note = [&](const std::optional<int>& found) { said += found ? std::to_string(*found) + " " : "- "; };
    note(co_await with_timeout(other.call<&chooser::plain>(7), 1h));
    future<int> never;
    note(co_await with_timeout(never, 10us));
    note(co_await with_timeout(when<&chooser::work>(50), 10us));
    never.get_promise().set(8);
    note(co_await with_timeout(never, 1h));  // the same future again
    note(co_await with_timeout(when<&chooser::work>(51), 1h));
    said += co_await with_timeout(when<&chooser::stop>(), 10us) ? "stopped" : "-";
    said += co_await with_timeout(tri::after(1us), 1h) ? " past" : " -";
    co_return said;
  }

  task<int> by_two(int row, int column) { co_return co_await when<&chooser::pair>(row, column); }
  task<std::vector<int>> by_two_many(std::size_t count, int row, int column) {
    co_return co_await when_n<&chooser::pair>(count, row, column);
  }
  task<int> by_predicate(int least) {
    co_return co_await when_if<&chooser::pair>([&](int, int, int value) { return value >= least; });
  }
  task<std::string> by_text(std::string beginning) {
    co_return co_await when_if<&chooser::text>(
        [&](const std::string& value) { return value.rfind(beginning, 0) == 0; });
  }
  int waiting() { return static_cast<int>(awaited().waiters().size()); }
  int kept() { return static_cast<int>(awaited().kept_messages()); }

  // Coroutines of its own, which it cancels.
  std::vector<task<int>> own;
  task<int> waits_for_work(int number) {
    const guard counts{&destroyed};
    co_return co_await when<&chooser::work>(number);
  }
  task<int> waits_for_result(element_ref<chooser> other) {
    const guard counts{&destroyed};
    co_return co_await other.call<&chooser::take>(99);
  }
  task<int> waits_for_any(int number) {
    const guard counts{&destroyed};
    auto first = co_await select(when<&chooser::work>(number), tri::after(1h), when_n<&chooser::text>(3));
    co_return static_cast<int>(first.index());
  }
  void start_own(int number, element_ref<chooser> other) {
    own.push_back(waits_for_work(number));
    own.push_back(waits_for_result(other));
    own.push_back(waits_for_any(number + 1));
    own.push_back(waits_for_work(number + 2));
  }
  task<std::string> await_own(int which) {
    try {
      co_return std::to_string(co_await std::move(own[static_cast<std::size_t>(which)]));
    } catch (const task_cancelled& error) {
      co_return error.what();
    }
  }
  int cancel_own() {
    int cancelled = 0;
    for (auto& each : own) cancelled += each.cancel() ? 1 : 0;
    for (auto& each : own) cancelled += each.cancel() ? 100 : 0;  // not twice
    return cancelled;
  }
  int ended() { return destroyed; }
  // A method that a coroutine awaits cancels that coroutine.
  void cancelling(int) { cancel_own(); }
  task<int> waits_for_its_end() {
    const guard counts{&destroyed};
    co_await when<&chooser::cancelling>(1);
    co_return 1;
  }
  task<int> waits_for_its_end_or_more() {
    const guard counts{&destroyed};
    static_cast<void>(co_await select(when<&chooser::stop>(), when<&chooser::cancelling>(1)));
    co_return 1;
  }
  void start_suicide(bool in_select) {
    own.clear();
    own.push_back(in_select ? waits_for_its_end_or_more() : waits_for_its_end());
  }
  void go(int pe) { migrate_to(pe); }
  int where() { return this_pe(); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(log, destroyed);
  }
};

// Every element, so that the messages come from the own PE, another thread, another process, another host.
template <class Check>
void with_each(Check&& run) {
  auto all = make_array<chooser>({2 * pe_count()}, round_robin());
  for (int i = 0; i < 2 * pe_count(); ++i) run(all(i), all((i + 1) % (2 * pe_count())));
}

void select_among_messages() {
  with_each([](element_ref<chooser> one, element_ref<chooser>) {
    // Messages that are there: the first of the list, and the others stay.
    one.send<&chooser::stop>();
    one.send<&chooser::text>(std::string("early"));
    one.send<&chooser::work>(1, 11);
    one.send<&chooser::work>(2, 22);
    check_equal(one.call<&chooser::choose>(1).get(), "work 11");
    check_equal(one.call<&chooser::choose>(1).get(), "text early");
    check_equal(one.call<&chooser::choose>(1).get(), "stop");
    check_equal(one.call<&chooser::take>(2).get(), 22);
    // Messages that come later, to several that wait: in the order of asking.
    auto first = one.call<&chooser::choose>(3);
    auto second = one.call<&chooser::choose>(3);
    auto third = one.call<&chooser::take>(3);
    one.send<&chooser::work>(3, 1);
    check_equal(first.get(), "work 1");
    one.send<&chooser::text>(std::string("x"));
    check_equal(second.get(), "text x");
    one.send<&chooser::work>(3, 2);
    check_equal(third.get(), 2);
    check_equal(one.call<&chooser::waiting>().get(), 0);
    check_equal(one.call<&chooser::kept>().get(), 0);
  });
}
const case_entry messages_case{"select_among_messages", &select_among_messages};

// An alternative of several messages takes all or none.
void select_of_many_messages() {
  with_each([](element_ref<chooser> one, element_ref<chooser>) {
    auto both = one.call<&chooser::choose_many>(std::size_t{3}, 5);
    one.send<&chooser::work>(5, 1);
    one.send<&chooser::work>(5, 2);
    check_equal(one.call<&chooser::kept>().get(), 2);
    check_equal(one.call<&chooser::take>(5).get(), 1);  // free for others as long as the third is missing
    one.send<&chooser::work>(5, 3);
    check(!both.ready(), "two are not three");
    one.send<&chooser::work>(5, 4);
    check_equal(both.get(), "2 3 4 ");
    one.send<&chooser::work>(5, 5);
    one.send<&chooser::stop>();
    check_equal(one.call<&chooser::choose_many>(std::size_t{2}, 5).get(), "stop");
    check_equal(one.call<&chooser::take>(5).get(), 5);
    one.send<&chooser::work>(5, 6);
    one.send<&chooser::work>(5, 7);
    check_equal(one.call<&chooser::choose_many>(std::size_t{2}, 5).get(), "6 7 ");
    check_equal(one.call<&chooser::kept>().get(), 0);
  });
}
const case_entry many_case{"select_of_many_messages", &select_of_many_messages};

void select_among_futures() {
  with_each([](element_ref<chooser> one, element_ref<chooser> other) {
    for (const bool stop_first : {false, true}) {
      future<promise<int>> asked;
      auto said = one.call<&chooser::with_futures>(other, asked.get_promise());
      const promise<int> answer = asked.get();
      quiescence().get();  // the call is answered, and no timer is left
      if (stop_first) {
        one.send<&chooser::stop>();
        quiescence().get();
      }
      answer.set(5);
      check_equal(said.get(), stop_first ? "0 3 then 1 and at last 5" : "0 3 then 0");
    }
    check(one.call<&chooser::failing>(other).get().find("out of range") != std::string::npos, "the error of a future");
    check_equal(one.call<&chooser::by_time>(1).get(), "time is up");
    auto stopped = one.call<&chooser::by_time>(2'000'000'000);
    one.send<&chooser::stop>();
    check_equal(stopped.get(), "stopped");
    one.send<&chooser::work>(51, 9);
    check_equal(one.call<&chooser::with_timeouts>(other).get(), "7 - - 8 9 - past");
    one.send<&chooser::work>(50, 1);
    check_equal(one.call<&chooser::take>(50).get(), 1);  // not lost by the time-out
    quiescence().get();
    check_equal(one.call<&chooser::waiting>().get(), 0);
  });
}
const case_entry futures_case{"select_among_futures", &select_among_futures};

task<> select_without_an_element(element_ref<chooser> one, promise<int> whom) {
  future<int> never;
  auto first = co_await tri::select(never, one.call<&chooser::plain>(4));
  const auto late = co_await tri::with_timeout(never, 1us);
  whom.set(first.index() == 1 && !late.has_value() ? std::get<1>(first) : -1);
}
void select_outside_of_elements() {
  auto all = make_array<chooser>({pe_count()}, round_robin());
  for (int i = 0; i < pe_count(); ++i) {
    future<int> result;
    const task<> running = select_without_an_element(all(i), result.get_promise());
    check_equal(result.get(), 4);
    check(running.done(), "it has ended");
  }
}
const case_entry outside_case{"select_outside_of_elements", &select_outside_of_elements};

void when_by_more_than_a_reference() {
  with_each([](element_ref<chooser> one, element_ref<chooser>) {
    // Kept messages: by two arguments, by a predicate, then whatever comes first of a reference.
    for (int column = 0; column < 4; ++column) one.send<&chooser::pair>(1, column, 10 + column);
    check_equal(one.call<&chooser::by_two>(1, 2).get(), 12);
    check_equal(one.call<&chooser::by_predicate>(11).get(), 11);
    auto late = one.call<&chooser::by_predicate>(100);
    auto exact = one.call<&chooser::by_two>(2, 7);
    one.send<&chooser::pair>(2, 6, 99);
    one.send<&chooser::pair>(2, 7, 150);  // both could take it; `late` has asked first
    check_equal(late.get(), 150);
    one.send<&chooser::pair>(2, 7, 160);
    check_equal(exact.get(), 160);
    one.send<&chooser::pair>(1, 3, 14);
    const auto two = one.call<&chooser::by_two_many>(std::size_t{2}, 1, 3).get();
    check(two == std::vector<int>({13, 14}), "in the order in which they came");
    check_equal(one.call<&chooser::by_predicate>(99).get(), 99);
    check_equal(one.call<&chooser::by_two>(1, 0).get(), 10);
    // Of objects that cross as archives, called and sent.
    auto found = one.call<&chooser::by_text>(std::string("b"));
    auto answered = one.call<&chooser::text>(std::string("another"));
    one.send<&chooser::text>(std::string("beginning, and long enough for a block of its own, to be sure"));
    check_equal(found.get(), "beginning, and long enough for a block of its own, to be sure");
    check_equal(one.call<&chooser::by_text>(std::string("")).get(), "another");
    check_equal(answered.get(), "another");
    check_equal(one.call<&chooser::kept>().get(), 0);
    check_equal(one.call<&chooser::waiting>().get(), 0);
  });
}
const case_entry by_more_case{"when_by_more_than_a_reference", &when_by_more_than_a_reference};

void cancelled_tasks() {
  with_each([](element_ref<chooser> one, element_ref<chooser> other) {
    const int before = one.call<&chooser::ended>().get();
    one.send<&chooser::start_own>(10, other);
    auto awaiting = one.call<&chooser::await_own>(0);
    auto awaiting_any = one.call<&chooser::await_own>(2);
    one.send<&chooser::work>(12, 77);
    auto finished = one.call<&chooser::await_own>(3);
    check_equal(finished.get(), "77");
    check_equal(one.call<&chooser::cancel_own>().get(), 3);
    const std::string text = "the task was cancelled before it had a result";
    check_equal(awaiting.get(), text);
    check_equal(awaiting_any.get(), text);
    check_equal(one.call<&chooser::await_own>(0).get(), text);
    check_equal(one.call<&chooser::ended>().get() - before, 4);
    check_equal(one.call<&chooser::waiting>().get(), 0);
    // What they waited for is there for others.
    one.send<&chooser::work>(10, 1);
    one.send<&chooser::work>(11, 2);
    check_equal(one.call<&chooser::take>(10).get(), 1);
    check_equal(one.call<&chooser::take>(11).get(), 2);
    other.send<&chooser::work>(99, 3);  // its answer goes to nothing
    quiescence().get();
    for (const bool in_select : {false, true}) {
      one.send<&chooser::start_suicide>(in_select);
      one.send<&chooser::cancelling>(1);
      quiescence().get();
      check_equal(one.call<&chooser::waiting>().get(), 0);
    }
    check_equal(one.call<&chooser::ended>().get() - before, 6);
  });
}
const case_entry cancelled_case{"cancelled_tasks", &cancelled_tasks};

// A select keeps its element on its PE or in its process like any other wait; the move waits.
void select_and_migration() {
  if (pe_count() == 1) return;
  with_each([](element_ref<chooser> one, element_ref<chooser>) {
    const int from = one.call<&chooser::where>().get();
    const int to = (from + 1) % pe_count();
    const bool same_process = from / pes_per_process() == to / pes_per_process();
    auto timed = one.call<&chooser::by_time>(2'000'000'000);
    one.send<&chooser::go>(to);
    for (int round = 0; round < 3; ++round)  // quiescence would wait for the timer
      check_equal(one.call<&chooser::where>().get(), from);
    one.send<&chooser::stop>();
    check_equal(timed.get(), "stopped");
    quiescence().get();
    check_equal(one.call<&chooser::where>().get(), to);

    auto chosen = one.call<&chooser::choose_many>(std::size_t{2}, 5);
    one.send<&chooser::work>(5, 1);
    one.send<&chooser::go>(from);
    quiescence().get();
    check_equal(one.call<&chooser::where>().get(), same_process ? from : to);
    one.send<&chooser::work>(5, 2);
    check_equal(chosen.get(), "1 2 ");
    quiescence().get();
    check_equal(one.call<&chooser::where>().get(), from);
    // Kept messages move along and are found by their arguments.
    one.send<&chooser::pair>(3, 1, 31);
    one.send<&chooser::pair>(3, 2, 32);
    one.send<&chooser::text>(std::string(200, 'a') + "b");
    one.send<&chooser::go>(to);
    quiescence().get();
    check_equal(one.call<&chooser::where>().get(), to);
    check_equal(one.call<&chooser::by_two>(3, 2).get(), 32);
    check_equal(one.call<&chooser::by_text>(std::string("a")).get(), std::string(200, 'a') + "b");
    check_equal(one.call<&chooser::by_predicate>(31).get(), 31);
  });
}
const case_entry migration_case{"select_and_migration", &select_and_migration};

// Random programs against a model: what each coroutine gets depends only on the order of requests and messages, which
// one sender keeps.
struct model {
  struct message {
    int reference, second, value;
  };
  struct request {
    int kind, a, b;
    std::size_t number;
  };
  std::vector<message> kept;
  std::vector<request> waiting;
  std::map<std::size_t, std::vector<int>> answers;

  static bool takes(const request& asks, const message& one) {
    switch (asks.kind) {
      case 0:
        return one.reference == asks.a;  // when
      case 1:
        return one.reference == asks.a && one.second == asks.b;  // with two arguments
      case 2:
        return one.value % 5 == asks.b;  // when_if
      case 3:
        return one.reference == asks.a || (one.reference == 7 && one.second == asks.b);  // select
      default:
        return one.reference == asks.a;  // select of two or a stop
    }
  }
  bool try_answer(const request& asks) {
    const std::size_t needed = asks.kind == 4 ? 2 : 1;
    // A select looks for its first alternative first.
    for (const bool first_only : {true, false}) {
      std::vector<std::size_t> found;
      for (std::size_t i = 0; i < kept.size() && found.size() < needed; ++i)
        if (takes(asks, kept[i]) && (!first_only || asks.kind != 3 || kept[i].reference == asks.a)) found.push_back(i);
      if (found.size() < needed) continue;
      for (const std::size_t i : found) answers[asks.number].push_back(kept[i].value);
      for (auto i = found.rbegin(); i != found.rend(); ++i) kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(*i));
      return true;
    }
    return false;
  }
  void ask(const request& asks) {
    if (!try_answer(asks)) waiting.push_back(asks);
  }
  void arrive(const message& one) {
    kept.push_back(one);
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (!takes(waiting[i], one) || !try_answer(waiting[i])) continue;
      waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
  }
};
struct random_waiter : array_element<random_waiter, index<1>> {
  int note(int, int, int value) { return value; }
  void never(int) {}
  task<std::vector<int>> ask(int kind, int a, int b) {
    std::vector<int> got;
    if (kind == 0) {
      got.push_back(co_await when<&random_waiter::note>(a));
    } else if (kind == 1) {
      got.push_back(co_await when<&random_waiter::note>(a, b));
    } else if (kind == 2) {
      got.push_back(co_await when_if<&random_waiter::note>([&](int, int, int value) { return value % 5 == b; }));
    } else if (kind == 3) {
      auto first = co_await select(when<&random_waiter::note>(a), when<&random_waiter::note>(7, b));
      got.push_back(first.index() == 0 ? std::get<0>(first) : std::get<1>(first));
    } else {
      auto first = co_await select(when<&random_waiter::never>(a), when_n<&random_waiter::note>(2, a));
      got = std::get<1>(first);
    }
    co_return got;
  }
};
void random_waits() {
  std::mt19937 random(20);
  const auto below = [&](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
  for (int round = 0; round < 12; ++round) {
    const auto one = make_array<random_waiter>({pe_count()}, round_robin())(round % pe_count());
    model expected_order;
    std::vector<future<std::vector<int>>> answers;
    for (int step = 0; step < 150; ++step) {
      if (below(2) == 0) {
        const model::request asks{below(5), below(4), below(3), answers.size()};
        answers.push_back(one.call<&random_waiter::ask>(asks.kind, asks.a, asks.b));
        expected_order.ask(asks);
      } else {
        const model::message sent{below(8), below(3), below(1000)};
        one.send<&random_waiter::note>(sent.reference, sent.second, sent.value);
        expected_order.arrive(sent);
      }
    }
    quiescence().get();
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const auto found = expected_order.answers.find(i);
      check_equal(answers[i].ready(), found != expected_order.answers.end());
      if (answers[i].ready()) check(answers[i].get() == found->second, fmt::format("request {} of round {}", i, round));
    }
  }
}
const case_entry random_case{"random_waits", &random_waits};

}  // namespace
}  // namespace tri::testing
