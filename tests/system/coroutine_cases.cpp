// Coroutines: when with reference numbers out of order, several at once, nested, thousands, with exceptions, destroyed.
#include <algorithm>
#include <chrono>

#include "objects/messages/awaited_messages.hpp"
#include "system/cases.hpp"

namespace tri::testing {
namespace {

struct worker : array_element<worker, index<1>> {
  std::vector<int> ghosts, others;
  int ghost(int step, int value) {
    ghosts.push_back(step);
    return value;
  }
  std::string text(int step, std::string value) { return value + std::to_string(step); }
  int plain(int v) { return v; }
  double halo(int step, buffer<double> face) { return step + face[0]; }

  task<int> collect(int steps) {
    int total = 0;
    for (int step = 0; step < steps; ++step) total = total * 3 + co_await when<&worker::ghost>(step);
    co_return total;
  }
  task<std::string> join(int step) {
    auto [number, texts] = co_await all(when<&worker::ghost>(step), when_n<&worker::text>(3, step));
    std::sort(texts.begin(), texts.end());
    co_return std::to_string(number) + texts[0] + texts[1] + texts[2];
  }
  task<int> deep(int depth) {
    if (depth == 0) co_return co_await this_element().call<&worker::plain>(1);
    const int below = co_await deep(depth - 1);
    co_return below + co_await this_array()[index<1>(this_index()[0])].call<&worker::plain>(1);
  }
  task<int> failing(int depth) {
    co_await after(std::chrono::microseconds(1));
    if (depth > 0) co_return co_await failing(depth - 1);
    throw std::domain_error("depth zero");
  }
  task<std::string> catching(int depth) {
    try {
      co_return std::to_string(co_await failing(depth));
    } catch (const std::domain_error& error) {
      co_return std::string("caught ") + error.what();
    }
  }
  int throwing(int) { throw std::range_error("out of cheese"); }
  task<std::string> catching_remote(element_ref<worker> other) {
    auto result = other.call<&worker::throwing>(1);
    try {
      co_await result;
    } catch (const remote_error& error) {
      co_return error.what();
    }
    co_return "nothing was thrown";
  }
  task<> quiet(promise<int> done) {
    co_await after(std::chrono::microseconds(1));
    done.set(this_index()[0]);
  }
  int suspended() { return static_cast<int>(coroutines().count()); }
};

void references() {
  auto workers = make_array<worker>({2 * pe_count()});
  for (int w = 0; w < 2 * pe_count(); ++w) {
    auto worker_w = workers(w);
    const int steps = 6;
    int expected_total = 0;
    for (int s = 0; s < steps; ++s) expected_total = expected_total * 3 + s + w;
    // Messages before the coroutine asks, in reverse order; the rest afterwards.
    for (int s = steps - 1; s >= 3; --s) worker_w.send<&worker::ghost>(s, s + w);
    auto collected = worker_w.call<&worker::collect>(steps);
    for (int s = 2; s >= 0; --s) worker_w.send<&worker::ghost>(s, s + w);
    check_equal(collected.get(), expected_total);
    auto joined = worker_w.call<&worker::join>(70);
    worker_w.send<&worker::text>(70, std::string("c"));
    worker_w.send<&worker::text>(71, std::string("x"));  // for a later step
    worker_w.send<&worker::text>(70, std::string("a string that is longer than its envelope "));
    worker_w.send<&worker::ghost>(70, 9);
    worker_w.send<&worker::text>(70, std::string("b"));
    check_equal(joined.get(), "9a string that is longer than its envelope 70b70c70");
    auto joined_later = worker_w.call<&worker::join>(71);
    worker_w.send<&worker::ghost>(71, 1);
    worker_w.send<&worker::text>(71, std::string("y"));
    worker_w.send<&worker::text>(71, std::string("z"));
    check_equal(joined_later.get(), "1x71y71z71");
  }
}
const case_entry references_case{"when_references", &references};

void several_coroutines() {
  auto workers = make_array<worker>({pe_count()});
  auto last = workers(pe_count() - 1);
  std::vector<future<std::string>> joined;
  for (int step = 0; step < 20; ++step) joined.push_back(last.call<&worker::join>(step));
  for (int step = 19; step >= 0; --step) {
    last.send<&worker::ghost>(step, step);
    for (const char* const text : {"p", "q", "r"}) last.send<&worker::text>(step, std::string(text));
  }
  for (int step = 0; step < 20; ++step) {
    const std::string s = std::to_string(step);
    check_equal(joined[static_cast<std::size_t>(step)].get(), s + "p" + s + "q" + s + "r" + s);
  }
  check_equal(last.call<&worker::suspended>().get(), 0);
}
const case_entry several_case{"several_coroutines", &several_coroutines};

void nested_and_failing() {
  auto workers = make_array<worker>({pe_count()});
  for (int w = 0; w < pe_count(); ++w) {
    check_equal(workers(w).call<&worker::deep>(30).get(), 31);
    check_equal(workers(w).call<&worker::catching>(5).get(), "caught depth zero");
    const std::string where = fmt::format("worker({}) on PE {}, method ", w, w);
    check_throws<remote_error>([&] { static_cast<void>(workers(w).call<&worker::failing>(3).get()); }, where);
    check_throws<remote_error>([&] { static_cast<void>(workers(w).call<&worker::failing>(3).get()); },
                               "worker::failing: depth zero");
    check_throws<remote_error>([&] { static_cast<void>(workers(w).call<&worker::throwing>(3).get()); }, where);
    const std::string text = workers(0).call<&worker::catching_remote>(workers(w)).get();
    check(text.find(where) != std::string::npos && text.find("worker::throwing: out of cheese") != std::string::npos,
          text);
  }
}
const case_entry nested_case{"nested_and_failing", &nested_and_failing};

void thousands() {
  constexpr int n = 4000;
  auto workers = make_array<worker>({n});
  auto totals = workers.reduce<&worker::collect>(sum, 2);
  quiescence().get();
  check_equal(workers.reduce<&worker::suspended>(sum).get(), n);
  for (int i = 0; i < n; ++i) workers(i).send<&worker::ghost>(1, 1);
  for (int i = 0; i < n; ++i) workers(i).send<&worker::ghost>(0, 2);
  check_equal(totals.get(), n * 7);
}
const case_entry thousands_case{"thousands_suspended", &thousands};

// A broadcast of an awaited method is a message like any other: it wakes the coroutine.
void broadcast_to_when() {
  auto workers = make_array<worker>({11}, round_robin());
  auto totals = workers.reduce<&worker::collect>(sum, 2);
  workers.broadcast<&worker::ghost>(1, 10);
  workers.broadcast<&worker::ghost>(0, 1);
  check_equal(totals.get(), 11 * 13);
}
const case_entry broadcast_to_when_case{"broadcast_to_when", &broadcast_to_when};

// The reference number is a value of the method's first parameter, however the coroutine writes it.
enum class side : signed char { left = -1, right = 1 };
struct referring : array_element<referring, index<1>> {
  int small(std::uint8_t, int value) { return value; }
  int negative(std::int8_t, int value) { return value; }
  int wide(std::uint64_t, int value) { return value; }
  int beside(side, int value) { return value; }
  int any(std::string, int value) { return value; }
  task<int> ask() {
    int found = co_await when<&referring::small>(255);
    found = 10 * found + co_await when<&referring::negative>(-3L);
    found = 10 * found + co_await when<&referring::wide>(~std::uint64_t{0});
    found = 10 * found + co_await when<&referring::beside>(side::left);
    found = 10 * found + co_await when<&referring::any>();
    const std::vector<int> others = co_await when_n<&referring::any>(2);
    co_return 100 * found + 10 * others[0] + others[1];
  }
  template <auto Method, class Reference>
  task<std::string> refused(Reference reference) {
    try {
      co_await when<Method>(reference);
    } catch (const std::out_of_range& error) {
      co_return error.what();
    }
    co_return "nothing was thrown";
  }
  task<std::string> too_large() { return refused<&referring::small>(256); }
  task<std::string> below_zero() { return refused<&referring::wide>(-1); }
  task<std::string> above_signed() { return refused<&referring::negative>(200U); }
};
void kinds_of_references() {
  auto all = make_array<referring>({pe_count()});
  auto last = all(pe_count() - 1);
  auto answer = last.call<&referring::ask>();
  last.send<&referring::wide>(0U, 8);
  last.send<&referring::wide>(~std::uint64_t{0}, 3);
  last.send<&referring::negative>(static_cast<std::int8_t>(-3), 2);
  last.send<&referring::beside>(side::right, 9);
  last.send<&referring::beside>(side::left, 4);
  for (int i = 5; i < 8; ++i) last.send<&referring::any>(std::string("whatever"), i);
  last.send<&referring::small>(static_cast<std::uint8_t>(255), 1);
  check_equal(answer.get(), 1234567);
  const auto check_names = [](const std::string& text, const std::string& number) {
    check(text.find("cannot have the reference number " + number + ": its first parameter is of") != std::string::npos,
          text);
  };
  check_names(last.call<&referring::too_large>().get(), "256");
  check_names(last.call<&referring::below_zero>().get(), "-1");
  check_names(last.call<&referring::above_signed>().get(), "200");
}
const case_entry kinds_case{"kinds_of_references", &kinds_of_references};

// Early messages and waiting coroutines are found without a search, in whatever order they are asked for; those with
// one reference number keep their order, also when the element moves in between.
struct patient : array_element<patient, index<1>> {
  int moves = 0;
  std::int64_t early(std::int64_t, std::int64_t value) { return value; }
  task<std::int64_t> ask(std::int64_t n) {
    std::int64_t found = 0;
    for (std::int64_t i = n; i-- > 0;) found = (found * 3 + co_await when<&patient::early>(i)) % 1000003;
    co_return found;
  }
  task<std::int64_t> ask_one(std::int64_t i) { co_return co_await when<&patient::early>(i); }
  task<std::vector<std::int64_t>> ask_in_order(std::int64_t i, int n) {
    co_return co_await when_n<&patient::early>(static_cast<std::size_t>(n), i);
  }
  std::uint64_t comparisons() { return awaited().comparisons(); }
  void go(int pe) { migrate_to(pe); }
  void on_migrated() { ++moves; }
  int moved() { return moves; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(moves);
  }
};
void many_early_messages() {
  constexpr std::int64_t n = 40000;
  auto all = make_array<patient>({2});
  std::int64_t expected_sum = 0;
  for (std::int64_t i = 0; i < n; ++i) all(0).send<&patient::early>(i, i);
  for (std::int64_t i = n; i-- > 0;) expected_sum = (expected_sum * 3 + i) % 1000003;
  check_equal(all(0).call<&patient::ask>(n).get(), expected_sum);
  const auto of_messages = all(0).call<&patient::comparisons>().get();
  check(of_messages <= 8 * static_cast<std::uint64_t>(n),
        fmt::format("{} comparisons for {} messages", of_messages, n));

  constexpr std::int64_t coroutines = 4000;
  std::vector<future<std::int64_t>> answers;
  for (std::int64_t i = 0; i < coroutines; ++i) answers.push_back(all(1).call<&patient::ask_one>(i));
  for (std::int64_t i = coroutines; i-- > 0;) all(1).send<&patient::early>(i, i);
  for (std::int64_t i = 0; i < coroutines; ++i) check_equal(answers[static_cast<std::size_t>(i)].get(), i);
  const auto of_waiters = all(1).call<&patient::comparisons>().get();
  check(of_waiters <= 8 * static_cast<std::uint64_t>(coroutines),
        fmt::format("{} comparisons for {} waiting coroutines", of_waiters, coroutines));
}
const case_entry many_early_case{"many_early_messages", &many_early_messages};

void early_messages_keep_their_order() {
  constexpr int of_each = 50;
  auto all = make_array<patient>({1});
  const auto go_on = [&](int pe) {
    all(0).send<&patient::go>(pe);
    quiescence().get();
  };
  go_on(0);
  const int before = all(0).call<&patient::moved>().get();
  int value = 0;
  for (int round = 0; round < 2; ++round) {
    for (; value < (round + 1) * 3 * of_each; ++value) all(0).send<&patient::early>(value % 3, value);
    go_on(pe_count() - 1);
    go_on(0);
  }
  check_equal(all(0).call<&patient::moved>().get() - before, pe_count() == 1 ? 0 : 4);
  for (const int reference : {2, 0, 1}) {
    const auto found = all(0).call<&patient::ask_in_order>(reference, 2 * of_each).get();
    for (int i = 0; i < 2 * of_each; ++i) check_equal(found[static_cast<std::size_t>(i)], reference + 3 * i);
  }
}
const case_entry early_order_case{"early_messages_keep_their_order", &early_messages_keep_their_order};

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

// An element ends while its coroutines are suspended: their frames end before the element's own members.
struct doomed : array_element<doomed, index<1>> {
  std::vector<std::string> log{"a member that must outlive the coroutines"};
  future<int> never;
  promise<int> destroyed;
  struct guard {
    doomed* owner;
    ~guard() {
      owner->log.push_back("end");
      owner->destroyed.set(static_cast<int>(owner->log.size()));
    }
  };
  void token(int) {}
  task<> wait_for_message(promise<int> whom) {
    destroyed = whom;
    guard ends{this};
    co_await when<&doomed::token>(1);
  }
  task<> wait_for_future(promise<int> whom) {
    destroyed = whom;
    guard ends{this};
    co_await never;
  }
  task<> inner() { co_await never; }
  task<> wait_nested(promise<int> whom) {
    destroyed = whom;
    guard ends{this};
    co_await inner();
  }
  void end() { erase_this(); }
};
void destroyed_while_suspended() {
  for (int way = 0; way < 3; ++way) {
    auto array = make_array<doomed>({pe_count()});
    for (int i = 0; i < pe_count(); ++i) {
      future<int> destroyed;
      if (way == 0) array(i).send<&doomed::wait_for_message>(destroyed.get_promise());
      if (way == 1) array(i).send<&doomed::wait_for_future>(destroyed.get_promise());
      if (way == 2) array(i).send<&doomed::wait_nested>(destroyed.get_promise());
      array(i).send<&doomed::token>(2);  // kept for nobody, dropped with the element
      array(i).send<&doomed::end>();
      check_equal(destroyed.get(), 2);
    }
    quiescence().get();
  }
}
const case_entry destroyed_case{"destroyed_while_suspended", &destroyed_while_suspended};

// An element waits for a future of another one, and either of the two is deleted first.
struct result_holder : array_element<result_holder, index<1>> {
  future<int> result;
  future<int>& shared() { return result; }
  void set(int value) { result.get_promise().set(value); }
  void end() { erase_this(); }
};
struct result_user : array_element<result_user, index<1>> {
  int seen = 0;
  task<> wait(element_ref<result_holder> holder) { seen = co_await holder.local()->shared(); }
  task<std::string> wait_too(element_ref<result_holder> holder) {
    try {
      seen = co_await holder.local()->shared();
    } catch (const std::logic_error& error) {
      co_return error.what();
    }
    co_return "nothing was thrown";
  }
  int value() { return seen; }
  void end() { erase_this(); }
};
void futures_of_others() {
  auto holders = make_array<result_holder>({pe_count()});
  auto users = make_array<result_user>({2 * pe_count()});
  for (int pe = 0; pe < pe_count(); ++pe) {
    users(2 * pe).send<&result_user::wait>(holders(pe));
    check_equal(users(2 * pe + 1).call<&result_user::wait_too>(holders(pe)).get(),
                "tri::future: two coroutines wait for a future of int");
    users(2 * pe).send<&result_user::end>();
    quiescence().get();
    users(2 * pe + 1).send<&result_user::wait>(holders(pe));  // the place is free again
    if (pe % 2 == 0) holders(pe).send<&result_holder::set>(5);
    quiescence().get();
    holders(pe).send<&result_holder::end>();
    check_equal(users(2 * pe + 1).call<&result_user::value>().get(), pe % 2 == 0 ? 5 : 0);
    quiescence().get();
    users(2 * pe + 1).send<&result_user::end>();
    quiescence().get();
  }
}
const case_entry futures_of_others_case{"futures_of_others", &futures_of_others};

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

// A coroutine that an element starts in whatever way is its own: while it waits for a future, the element stays.
task<> wait_for(future<int>& what) { static_cast<void>(co_await what); }
struct starting : array_element<starting, index<1>> {
  future<int> never;
  std::vector<task<>> kept;
  task<> at_birth = wait_for(never);
  void start() { kept.push_back(wait_for(never)); }
  int start_and_count() {
    start();
    return 1;
  }
  void start_for_message(int) { start(); }
  task<> wait_for_message() { co_await when<&starting::start_for_message>(1); }
  bool waits() { return waits_for_results(); }
  void forget() {
    kept.clear();
    at_birth = []() -> task<> { co_return; }();
  }
  void go(int pe) { migrate_to(pe); }
  int where() { return this_pe(); }
  bool start_on_arrival = false;
  void let_start_on_arrival() { start_on_arrival = true; }
  void on_migrated() {
    if (!start_on_arrival) return;
    never = future<int>();  // the other one waits on its PE only
    start();
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(start_on_arrival);
  }
};
struct founder : array_element<founder, index<1>> {
  future<int> never;
  task<array<starting>> found() {
    co_await after(std::chrono::microseconds(1));
    co_return make_array<starting>({2 * pe_count()}, round_robin());
  }
  task<> found_and_wait() {
    static_cast<void>(make_array<starting>({1}));
    co_await never;
  }
  bool waits() { return waits_for_results(); }
};
void coroutines_belong_to_their_element() {
  auto founders = make_array<founder>({pe_count()});
  for (int pe = 0; pe < pe_count(); ++pe) {
    auto made = founders(pe).call<&founder::found>().get();
    check(!founders(pe).call<&founder::waits>().get(), "a coroutine of an element belongs to who made the element");
    auto one = made(pe);
    const auto check_waits = [&](const char* what,
                                 const std::source_location& where = std::source_location::current()) {
      check(one.call<&starting::waits>().get(), what, where);
      one.call<&starting::forget>().get();
      check(!one.call<&starting::waits>().get(), "it has ended", where);
    };
    check_waits("started by the constructor");
    one.send<&starting::start>();
    check_waits("started by a message");
    one.call<&starting::start>().get();
    check_waits("started by a call");
    made.broadcast<&starting::start>();
    quiescence().get();  // it may take another way than our messages do
    check_waits("started by a broadcast");
    static_cast<void>(made.reduce<&starting::start_and_count>(sum).get());
    check_waits("started by a reduction");
    auto part = made.select({pe, (pe + 1) % pe_count()});
    part.multicast<&starting::start>();
    quiescence().get();
    check_waits("started by a multicast");
    static_cast<void>(part.reduce<&starting::start_and_count>(sum).get());
    check_waits("started by a reduction over a section");
    one.send<&starting::wait_for_message>();
    one.send<&starting::start_for_message>(1);
    quiescence().get();
    check_waits("started by a method that a coroutine awaits");

    const auto go_on = [&] {  // and whether it left the process
      const int before = one.call<&starting::where>().get();
      one.send<&starting::go>((before + 1) % pe_count());
      quiescence().get();
      return (before + 1) % pe_count() / pes_per_process() != before / pes_per_process();
    };
    if (go_on())
      check_waits("started by the constructor in the other process");
    else
      check(!one.call<&starting::waits>().get(), "nothing was started");
    one.call<&starting::let_start_on_arrival>().get();
    go_on();
    if (pe_count() > 1) check_waits("started on arrival");
    founders(pe).send<&founder::found_and_wait>();
    check(founders(pe).call<&founder::waits>().get(), "it waits itself after it has made others");
  }
}
const case_entry belong_case{"coroutines_belong_to_their_element", &coroutines_belong_to_their_element};

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
