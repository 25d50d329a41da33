// The end of a set of messages, and functions for idle time.
#include <chrono>
#include <utility>

#include "config/configuration.hpp"
#include "system/cases/cases.hpp"
#include "trireme/completion.hpp"
#include "trireme/idle.hpp"

namespace tri::testing {
namespace {

// ---- completion detection

struct tree_worker : group_member<tree_worker> {
  int handled = 0;
  // Each message causes two, `depth` levels deep.
  void grow(completion_detector set, int depth) {
    ++handled;
    if (depth > 0) {
      set.produce(2);
      for (int child = 0; child < 2; ++child)
        group<tree_worker>(this_array())[(this_pe() + depth + child) % pe_count()].send<&tree_worker::grow>(set,
                                                                                                            depth - 1);
    }
    set.consume();
  }
  void begin(completion_detector set, int depth) {
    set.produce();
    group<tree_worker>(this_array())[(this_pe() + 1) % pe_count()].send<&tree_worker::grow>(set, depth);
    set.done();
  }
  task<> late(completion_detector set) {
    co_await after(std::chrono::milliseconds(3));
    begin(set, 0);
  }
  void chatter(int left) {  // no part of the set, and without an end of its own
    if (left > 0) group<tree_worker>(this_array())[(this_pe() + 1) % pe_count()].send<&tree_worker::chatter>(left - 1);
  }
  int take_handled() { return std::exchange(handled, 0); }
};

void completion_of_a_set_of_messages() {
  const auto workers = make_group<tree_worker>();
  const completion_detector set = make_completion_detector();
  for (const int depth : {0, 1, 7}) {  // one after the other with one detector
    workers[0].send<&tree_worker::chatter>(20000);
    future<void> complete = set.begin(static_cast<std::uint64_t>(pe_count()));
    for (int pe = 0; pe < pe_count(); ++pe) workers[pe].send<&tree_worker::begin>(set, depth);
    complete.get();
    const int each = (1 << (depth + 1)) - 1;
    check_equal(workers.reduce<&tree_worker::take_handled>(sum).get(), each * pe_count());
  }
  // A producer that is not done yet keeps it open, also when nothing is in flight.
  future<void> complete = set.begin(1);
  workers[pe_count() - 1].send<&tree_worker::late>(set);
  complete.get();
  check_equal(workers.reduce<&tree_worker::take_handled>(sum).get(), 1);
  quiescence().get();
}
const case_entry completion_case{"completion_of_a_set_of_messages", &completion_of_a_set_of_messages};

void wrong_completions_are_errors() {
  const completion_detector set = make_completion_detector();
  future<void> first = set.begin(1);
  future<void> second = set.begin(1);
  check_throws<remote_error>([&] { second.get(); }, "has not ended");
  set.consume(2);
  set.done();
  check_throws<remote_error>([&] { first.get(); }, "2 messages were consumed of 0 produced");
}
const case_entry wrong_completions_case{"wrong_completions_are_errors", &wrong_completions_are_errors};

// A wave is not one moment: a PE that is asked late may have consumed by then what another one has produced since it
// was asked. Messages that overtake the waves make that likely.
struct overtaker : group_member<overtaker> {
  void give(completion_detector set, int to, int left) {
    const group<overtaker> all(this_array());
    set.produce();
    all[to].with(immediate).send<&overtaker::take>(set);
    if (left == 0) return set.done();
    all[this_pe()].send<&overtaker::give>(set, to, left - 1);
  }
  void take(completion_detector set) { set.consume(); }
};
void completion_of_messages_that_overtake_the_waves() {
  const auto all = make_group<overtaker>();
  const completion_detector set = make_completion_detector();
  quiescence().get();  // immediate messages pass creations, too
  constexpr int messages = 3000;
  for (int from = 0; from < pe_count(); ++from)
    for (int to = 0; to < pe_count(); ++to) {  // one of the two is asked later
      future<void> complete = set.begin(1);
      all[from].send<&overtaker::give>(set, to, messages);
      complete.get();
    }
}
const case_entry overtaking_case{"completion_of_messages_that_overtake_the_waves",
                                 &completion_of_messages_that_overtake_the_waves};

// ---- idle time

struct idler : group_member<idler> {
  idle_callback callback;
  int calls = 0;
  void work(int steps) {
    calls = 0;
    callback = call_when_idle([this, steps] {
      if (++calls == steps) callback.end();
      return true;
    });
  }
  int calls_so_far() const { return calls; }
};

void functions_for_idle_time() {
  if (!sched::this_pe().job().values().record.empty() || !sched::this_pe().job().values().replay.empty())
    return;  // when a PE is idle is in no record
  const auto idlers = make_group<idler>();
  idlers.broadcast<&idler::work>(100);
  while (idlers.reduce<&idler::calls_so_far>(minimum).get() < 100) after(std::chrono::milliseconds(1)).get();
  for (int i = 0; i < 20; ++i) after(std::chrono::microseconds(100)).get();  // and not again
  check_equal(idlers.reduce<&idler::calls_so_far>(maximum).get(), 100);
  // One that makes another one, and one that is dropped before it was called.
  int inner = 0;
  idle_callback second;
  idle_callback first = call_when_idle([&] {
    if (inner == 0) second = call_when_idle([&] { return ++inner < 3; });
    first.end();
    return false;
  });
  {
    const idle_callback dropped = call_when_idle([]() -> bool { throw std::logic_error("was called"); });
  }
  while (inner < 3) after(std::chrono::milliseconds(1)).get();
  second.end();
}
const case_entry idle_case{"functions_for_idle_time", &functions_for_idle_time};

}  // namespace
}  // namespace tri::testing
