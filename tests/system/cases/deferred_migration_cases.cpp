// Elements that are asked to move while something of theirs waits: for a future, for messages, for a value that they
// hold a future of. They go as soon as they can, nothing is lost, and until then they say where they are going.
#include <chrono>
#include <random>
#include <vector>

#include "system/cases/cases.hpp"

namespace tri::testing {
namespace {

bool same_process(int a, int b) { return a / pes_per_process() == b / pes_per_process(); }

struct nomad : array_element<nomad, index<1>> {
  int moves = 0, seen = 0;
  int value = 0;
  future<int> held;
  std::vector<task<>> own_tasks;

  task<int> wait(promise<promise<int>> whom) {
    future<int> answer;
    whom.set(answer.get_promise());
    co_return co_await answer;
  }
  task<int> wait_for_message(int number) { co_return co_await when<&nomad::message>(number); }
  int message(int, int what) { return what; }
  task<> note_message(int number) { value = co_await when<&nomad::message>(number); }
  void keep_task(int number) { own_tasks.push_back(note_message(number)); }
  void drop_tasks() { own_tasks.clear(); }

  promise<int> hold() {
    held = future<int>();
    return held.get_promise();
  }
  task<int> take() { co_return co_await held; }
  task<std::string> take_and_say() {
    try {
      co_return std::to_string(co_await held);
    } catch (const std::exception& error) {
      co_return error.what();
    }
  }
  void drop() { held = future<int>(); }
  void give_to(element_ref<nomad> other) { other.send<&nomad::receive>(std::move(held)); }
  void receive(future<int> what) { held = std::move(what); }

  void end() { erase_this(); }

  void hit(int) { ++seen; }
  int hits() { return seen; }
  int where() { return this_pe(); }
  int noted() { return value; }
  void on_migrated() { ++moves; }
  int moved() { return moves; }
  void go(int pe) { migrate_to(pe); }
  int go_and_say(int pe) {
    migrate_to(pe);
    return pending_migration().value_or(-1);
  }
  int going() { return pending_migration().value_or(-1); }
  bool free_for(int pe) { return can_migrate_now(pe); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(moves, seen, value);
  }
};

void check_stays(element_ref<nomad> one, int here, int to,
                 const std::source_location& where = std::source_location::current()) {
  quiescence().get();
  check_equal(one.call<&nomad::where>().get(), here, where);
  check_equal(one.call<&nomad::going>().get(), to, where);
  check(!one.call<&nomad::free_for>(to).get(), "it says that it could go", where);
}
void check_came(element_ref<nomad> one, int to, const std::source_location& where = std::source_location::current()) {
  quiescence().get();
  check_equal(one.call<&nomad::where>().get(), to, where);
  check_equal(one.call<&nomad::going>().get(), -1, where);
}
/// Another PE than `from` for every `round`, in turn.
int other_pe(int from, int round) { return (from + 1 + round % (pe_count() - 1)) % pe_count(); }

void waits_for_a_future() {
  if (pe_count() == 1) return;
  auto all = make_array<nomad>({pe_count()});
  for (int pe = 0; pe < pe_count(); ++pe)
    for (int round = 0; round < pe_count() - 1; ++round) {
      auto one = all(pe);
      const int from = one.call<&nomad::where>().get(), to = other_pe(from, round);
      check(one.call<&nomad::free_for>(to).get(), "nothing of it waits");
      check_equal(one.call<&nomad::going>().get(), -1);
      future<promise<int>> asked;
      auto result = one.call<&nomad::wait>(asked.get_promise());
      const promise<int> answer = asked.get();
      check_equal(one.call<&nomad::go_and_say>(to).get(), to);
      check_stays(one, from, to);
      all.broadcast<&nomad::hit>(1);  // what comes meanwhile runs
      one.send<&nomad::hit>(1);
      check_stays(one, from, to);
      answer.set(pe + round);
      check_equal(result.get(), pe + round);
      check_came(one, to);
    }
  for (int i = 0; i < pe_count(); ++i) {
    check_equal(all(i).call<&nomad::moved>().get(), pe_count() - 1);
    check_equal(all(i).call<&nomad::hits>().get(), (pe_count() + 1) * (pe_count() - 1));
  }
}
const case_entry future_case{"deferred_until_future", &waits_for_a_future};

void replaced_and_withdrawn() {
  if (pe_count() < 3) return;
  auto one = make_array<nomad>({1})(0);
  one.send<&nomad::go>(0);
  check_came(one, 0);
  const int before = one.call<&nomad::moved>().get();
  const auto begin = [&] {
    future<promise<int>> asked;
    static_cast<void>(one.call<&nomad::wait>(asked.get_promise()));
    return asked.get();
  };
  promise<int> answer = begin();
  for (int pe = 1; pe < pe_count(); ++pe) {
    one.send<&nomad::go>(pe);
    check_stays(one, 0, pe);
  }
  answer.set(1);
  check_came(one, pe_count() - 1);
  check_equal(one.call<&nomad::moved>().get() - before, 1);

  answer = begin();
  one.send<&nomad::go>(1);
  check_stays(one, pe_count() - 1, 1);
  one.send<&nomad::go>(pe_count() - 1);  // its own place
  quiescence().get();
  check_equal(one.call<&nomad::going>().get(), -1);
  answer.set(1);
  check_came(one, pe_count() - 1);
  check_equal(one.call<&nomad::moved>().get() - before, 1);
}
const case_entry replaced_case{"deferred_replaced_and_withdrawn", &replaced_and_withdrawn};

// Between processes what is suspended keeps an element, also a coroutine that it has not as an entry method.
void waits_for_messages() {
  if (pe_count() == 1) return;
  auto all = make_array<nomad>({pe_count()});
  for (int pe = 0; pe < pe_count(); ++pe)
    for (int round = 0; round < pe_count() - 1; ++round) {
      auto one = all(pe);
      int from = one.call<&nomad::where>().get(), to = other_pe(from, round);
      auto result = one.call<&nomad::wait_for_message>(round);
      one.send<&nomad::go>(to);
      if (same_process(from, to))
        check_came(one, to);
      else
        check_stays(one, from, to);
      one.send<&nomad::message>(round, 10 * round + pe);
      check_equal(result.get(), 10 * round + pe);
      check_came(one, to);

      from = to, to = other_pe(from, round);
      if (same_process(from, to)) continue;
      one.send<&nomad::keep_task>(100 + round);
      one.send<&nomad::go>(to);
      check_stays(one, from, to);
      one.send<&nomad::message>(100 + round, 5 * round + pe);
      check_came(one, to);
      check_equal(one.call<&nomad::noted>().get(), 5 * round + pe);

      from = to, to = other_pe(from, round);
      if (same_process(from, to)) continue;
      one.send<&nomad::keep_task>(200 + round);
      one.send<&nomad::go>(to);
      check_stays(one, from, to);
      one.send<&nomad::drop_tasks>();
      check_came(one, to);
    }
}
const case_entry messages_case{"deferred_until_messages", &waits_for_messages};

// A future that an element holds goes along within the process, and is waited for wherever it is then.
void held_futures_move() {
  auto all = make_array<nomad>({pes_per_process()});
  const int pes = pes_per_process();  // the first process
  for (int i = 0; i < pes; ++i)
    for (int to = 0; to < pes; ++to) {
      auto one = all(i);
      const auto move = [&] {
        one.send<&nomad::go>(to);
        check_came(one, to);
        one.send<&nomad::go>(i % pes);
        check_came(one, i % pes);
        one.send<&nomad::go>(to);
        check_came(one, to);
      };
      one.send<&nomad::go>(i % pes);
      check_came(one, i % pes);
      // The value comes before the move, after it, and while it is waited for.
      promise<int> answer = one.call<&nomad::hold>().get();
      answer.set(1);
      quiescence().get();
      move();
      check_equal(one.call<&nomad::take>().get(), 1);
      one.send<&nomad::go>(i % pes);
      check_came(one, i % pes);
      answer = one.call<&nomad::hold>().get();
      move();
      answer.set(2);
      quiescence().get();
      check_equal(one.call<&nomad::take>().get(), 2);
      one.send<&nomad::go>(i % pes);
      check_came(one, i % pes);
      answer = one.call<&nomad::hold>().get();
      move();
      auto taken = one.call<&nomad::take>();
      auto refused = one.call<&nomad::take_and_say>();
      check_equal(refused.get(), "tri::future: two coroutines wait for a future of int");
      quiescence().get();
      check(!taken.ready(), "there is no value yet");
      answer.set(3);
      check_equal(taken.get(), 3);
      // It fails, or ends there.
      one.send<&nomad::go>(i % pes);
      check_came(one, i % pes);
      answer = one.call<&nomad::hold>().get();
      move();
      auto failed = one.call<&nomad::take_and_say>();
      answer.fail("no value");
      check_equal(failed.get(), "no value");
      one.send<&nomad::go>(i % pes);
      check_came(one, i % pes);
      answer = one.call<&nomad::hold>().get();
      move();
      one.send<&nomad::drop>();
      answer.set(4);
      quiescence().get();
    }
}
const case_entry held_case{"held_futures_move", &held_futures_move};

// Between processes a future stays, and who made it, until its value was taken or it ends, wherever that is.
void held_futures_keep() {
  if (process_count() == 1) return;
  auto all = make_array<nomad>({pe_count()});
  auto others = make_array<nomad>({pe_count()});
  const int pes = pes_per_process();
  for (int pe = 0; pe < pe_count(); ++pe) {
    auto one = all(pe);
    int from = pe, to = (pe + pes) % pe_count();
    const auto turn = [&] { from = to, to = (to + pes) % pe_count(); };
    promise<int> answer = one.call<&nomad::hold>().get();
    one.send<&nomad::go>(to);
    check_stays(one, from, to);
    answer.set(7);
    check_stays(one, from, to);
    check_equal(one.call<&nomad::take>().get(), 7);
    check_came(one, to);

    turn();
    static_cast<void>(one.call<&nomad::hold>().get());
    one.send<&nomad::go>(to);
    check_stays(one, from, to);
    one.send<&nomad::drop>();
    check_came(one, to);

    // Another object of the process has it now, on another PE if there is one.
    turn();
    static_cast<void>(one.call<&nomad::hold>().get());
    const int neighbour = from / pes * pes + (from + 1) % pes;
    one.send<&nomad::give_to>(others(neighbour));
    one.send<&nomad::go>(to);
    check_stays(one, from, to);
    others(neighbour).send<&nomad::drop>();
    check_came(one, to);

    // It was deleted before.
    turn();
    static_cast<void>(one.call<&nomad::hold>().get());
    one.send<&nomad::give_to>(others(from / pes * pes + (from + 1) % pes));
    one.send<&nomad::go>(to);
    check_stays(one, from, to);
    one.send<&nomad::end>();
    quiescence().get();
    others(from / pes * pes + (from + 1) % pes).send<&nomad::drop>();
    quiescence().get();
  }
}
const case_entry kept_case{"held_futures_keep", &held_futures_keep};

// Elements that wait for each other are sent about at any time: a request may come when nothing of the element waits,
// and find it waiting when its new place is prepared. What it waits for may need a message from there.
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 31)) * 0x7fb5d329728ea185u;
  x = (x ^ (x >> 27)) * 0x81dadef4bc2dd44du;
  return x ^ (x >> 33);
}
struct rover : array_element<rover, index<1>> {
  int elements = 0;
  bool guarded = false;
  int busy = 0, moves = 0;
  std::uint64_t value = 0;
  rover() = default;
  rover(int n, bool is_guarded)
      : elements(n), guarded(is_guarded), value(mixed(static_cast<std::uint64_t>(this_index()[0]) + 1)) {}
  element_ref<rover> at(std::uint64_t number) {
    return this_array()(static_cast<int>(number % static_cast<std::uint64_t>(elements)));
  }
  std::uint64_t token(int, std::uint64_t what) { return what; }
  std::uint64_t twice(std::uint64_t x) { return 2 * x; }
  task<std::uint64_t> consult(int asker, std::uint64_t x) {
    co_return 1 + co_await this_array()(asker).call<&rover::twice>(x);
  }
  void hop(int pe) {
    if (guarded && busy > 0) return;
    migrate_to(pe);
  }
  void on_migrated() { ++moves; }
  task<std::uint64_t> run(int steps) {
    const int me = this_index()[0];
    for (int step = 0; step < steps; ++step) {
      const std::uint64_t chance = mixed(static_cast<std::uint64_t>(step * elements + me));
      at(static_cast<std::uint64_t>(me) + 1).send<&rover::token>(step, value);
      at(chance).send<&rover::hop>(static_cast<int>((chance >> 20) % static_cast<unsigned>(pe_count())));
      auto answer = at(chance >> 10).call<&rover::consult>(me, value);
      const std::uint64_t came = co_await when<&rover::token>(step);  // the future may move in between
      ++busy;
      const std::uint64_t consulted = co_await answer;
      if (chance % 3 == 0) co_await after(std::chrono::microseconds(chance % 40));
      --busy;
      value = mixed(value + 3 * came + consulted);
    }
    co_return value;
  }
  int going() { return pending_migration().value_or(-1); }
  int moved() { return moves; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(elements, guarded, busy, moves, value);
  }
};
void rovers() {
  constexpr int n = 9, steps = 25;
  std::vector<std::uint64_t> expected(n);
  for (int i = 0; i < n; ++i) expected[static_cast<std::size_t>(i)] = mixed(static_cast<std::uint64_t>(i) + 1);
  for (int step = 0; step < steps; ++step) {
    const auto before = expected;
    for (std::size_t i = 0; i < n; ++i)
      expected[i] = mixed(before[i] + 3 * before[(i + n - 1) % n] + 2 * before[i] + 1);
  }
  for (int round = 0; round < 6; ++round) {
    auto all = make_array<rover>({n}, round_robin(), n, round % 2 == 0);
    check_equal(all.reduce<&rover::run>(gather, steps).get() == expected, true);
    quiescence().get();
    check_equal(all.reduce<&rover::going>(maximum).get(), -1);
    if (pe_count() > 1 && round % 2 == 1) check(all.reduce<&rover::moved>(sum).get() > 0, "nothing has moved");
  }
}
const case_entry rovers_case{"rovers", &rovers};

}  // namespace
}  // namespace tri::testing
