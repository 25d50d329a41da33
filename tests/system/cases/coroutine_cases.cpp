// Coroutines: when with reference numbers out of order, several at once, nested, thousands, with exceptions.
#include <algorithm>
#include <chrono>

#include "objects/messages/awaited_messages.hpp"
#include "system/cases/cases.hpp"

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
  task<int> collect_each(int steps) {  // as forall of SDAG
    std::vector<task<int>> each;
    for (int step = 0; step < steps; ++step) each.push_back(ghost_of(step));
    int total = 0;
    for (task<int>& one : each) total = total * 3 + co_await one;
    co_return total;
  }
  task<int> ghost_of(int step) { co_return co_await when<&worker::ghost>(step); }
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

void tasks_are_kept_and_awaited() {
  const auto workers = make_array<worker>({pe_count()});
  for (int w = 0; w < pe_count(); ++w) {
    auto total = workers(w).call<&worker::collect_each>(3);
    for (const int step : {2, 0, 1}) workers(w).send<&worker::ghost>(step, 1 + step);
    check_equal(total.get(), (1 * 3 + 2) * 3 + 3);
  }
}
const case_entry kept_case{"tasks_are_kept_and_awaited", &tasks_are_kept_and_awaited};

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

}  // namespace
}  // namespace tri::testing
