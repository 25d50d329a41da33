// What trace_test.cpp looks at the trace of: trace_program switch|stall|cross|orders|phases|balance
#include <chrono>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/check.hpp"
#include "trireme/balance.hpp"
#include "trireme/objects.hpp"

namespace {

using tri::testing::check_equal;

struct Worker : tri::group_member<Worker> {
  void before() {}
  void during() { last_ = tri::trace::is_on(); }
  void after() {}
  void short_call() {}
  // A method that takes long: what the trace is looked at for.
  void stall() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }
  void ping(int number) { sum_ += number; }
  void big_ping(const std::vector<double>& values) { sum_ += static_cast<int>(values.size()); }
  int sum() { return sum_; }
  bool was_on() { return last_; }
  void send_from_here(tri::mailbox box, int round) {
    const std::vector<char> data(static_cast<std::size_t>(100 * tri::this_pe()), 'x');
    box.send(0, round, data);
  }
  int has_sent() { return tri::this_pe(); }
  // A phase inside a phase, and one that the next method ends.
  void first_half(int number) {
    const tri::trace::phase whole("first half");
    {
      const tri::trace::phase part("its part");
      tri::trace::mark("number", number);
    }
    tri::trace::begin_phase("across methods");
  }
  void second_half() { tri::trace::end_phase("across methods"); }

 private:
  int sum_ = 0;
  bool last_ = false;
};

// With the trace off at the start: nothing of before() and after(), all of during().
void switches() {
  constexpr int calls = 300;
  auto group = tri::make_group<Worker>();
  tri::quiescence().get();
  for (int i = 0; i < calls; ++i) group.broadcast<&Worker::before>();
  tri::quiescence().get();
  tri::trace::on();
  for (int pe = 0; pe < tri::pe_count(); ++pe)
    for (int i = 0; i < calls; ++i) group[pe].send<&Worker::during>();
  tri::quiescence().get();
  tri::trace::off();
  for (int pe = 0; pe < tri::pe_count(); ++pe)
    for (int i = 0; i < calls; ++i) group[pe].send<&Worker::after>();
  tri::quiescence().get();
}

void stalls() {
  auto group = tri::make_group<Worker>();
  tri::quiescence().get();
  const int last = tri::pe_count() - 1;
  for (int i = 0; i < 1000; ++i) {
    group[last].send<&Worker::short_call>();
    if (i == 500) group[last].send<&Worker::stall>();
  }
  tri::quiescence().get();
}

// 100 short messages and 10 that need a block, from PE 0 to the last PE.
void crosses() {
  auto group = tri::make_group<Worker>();
  tri::quiescence().get();
  const int last = tri::pe_count() - 1;
  for (int i = 0; i < 100; ++i) group[last].send<&Worker::ping>(1);
  for (int i = 0; i < 10; ++i) group[last].send<&Worker::big_ping>(std::vector<double>(20'000, 1.0));
  tri::quiescence().get();
  check_equal(group[last].call<&Worker::sum>().get(), 200'100);
}

// FA-01: PE 0 receives from 1, 2, 3 in each round, and one of the links is late in each.
void orders() {
  auto group = tri::make_group<Worker>();
  const tri::mailbox box = tri::make_mailbox();
  tri::quiescence().get();
  std::uint32_t random = 2008;
  for (int round = 0; round < 120; ++round) {
    random = random * 1664525 + 1013904223;
    std::vector<int> in_time{1, 2, 3};
    const int late = in_time[(random >> 16) % 3];
    std::erase(in_time, late);
    if ((random >> 24) % 2 == 0) std::swap(in_time[0], in_time[1]);
    std::vector<tri::future<tri::received_message>> received;
    const auto receive = [&] {
      for (int from = 1; from < 4; ++from) received.push_back(box.receive(from, round));
    };
    if (round % 2 == 0) receive();  // before anything is there
    for (const int from : {in_time[0], in_time[1], late}) {
      group[from].send<&Worker::send_from_here>(box, round);
      // The answer comes the same way as the message, and after it.
      check_equal(group[from].call<&Worker::has_sent>().get(), from);
    }
    if (round % 2 == 1) receive();
    for (int from = 1; from < 4; ++from) {
      tri::received_message message = received[static_cast<std::size_t>(from - 1)].get();
      check_equal(message.source(), from);
      check_equal(message.bytes(), static_cast<std::size_t>(100 * from));
    }
  }
}

// Those of PE 0 say that they have much to do.
struct Heavy : tri::array_element<Heavy, tri::index<1>> {
  void describe_load(tri::load_description& load) {
    load.load_ns(this_index()[0] < 2 ? 10'000'000'000 : 1'000'000'000);
  }
  template <class Archive>
  void serialize(Archive&) {}
};

void balances() {
  tri::make_array<Heavy>({8});
  tri::quiescence().get();
  tri::balance_options options;
  options.strategy = "greedy";
  check_equal(tri::balance(options).get().moved > 0, true);
}

// Each PE: 3 rounds.
void phases() {
  auto group = tri::make_group<Worker>();
  for (int round = 0; round < 3; ++round) {
    group.broadcast<&Worker::first_half>(10 * round);
    group.broadcast<&Worker::second_half>();
    tri::quiescence().get();
  }
  tri::trace::mark("rounds are done");
}

}  // namespace

int main(int argc, char** argv) {
  return tri::run(argc, argv, [](int count, char** words) {
    const std::string what = count == 2 ? words[1] : "";
    if (what == "switch") return switches();
    if (what == "stall") return stalls();
    if (what == "cross") return crosses();
    if (what == "orders") return orders();
    if (what == "phases") return phases();
    if (what == "balance") return balances();
    throw std::runtime_error("usage: trace_program switch|stall|cross|orders|phases|balance");
  });
}
