// Callbacks of every kind, sent in messages and used from every PE: with a value, without one, with a reference number;
// as the target of reductions and contributions.
#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "system/cases/cases.hpp"

namespace tri::testing {
namespace {

struct listener : array_element<listener, index<1>> {
  std::vector<std::string> heard;
  int signals = 0;
  long total = 0;
  void hear(std::string text) { heard.push_back(std::move(text)); }
  void add(int value) { total += value; }
  void signal() { ++signals; }
  int numbered(int, int value) { return value; }
  void numbered_signal(int) {}
  task<int> await_numbered(int number) {
    const int value = co_await when<&listener::numbered>(number);
    co_await when<&listener::numbered_signal>(number);
    co_return value;
  }
  std::vector<std::string> all_heard() { return heard; }
  std::int64_t sum_and_signals() { return 1000 * total + signals; }
};

struct node_listener : nodegroup_member<node_listener> {
  std::atomic<int> total{0}, signals{0};
  void add(int value) { total += value; }
  void signal() { ++signals; }
  int sum_and_signals() { return 1000 * total + signals; }
};

struct group_listener : group_member<group_listener> {
  int total = 0;
  void add(int value) { total += value; }
  int sum() { return total; }
};

pe_local<int> added_here;  // NOLINT(cert-err58-cpp): registration before main
void add_here(int value) { *added_here += value; }
void signal_here() { *added_here += 1000; }
void report_added(promise<int> whom) { whom.set(*added_here); }

// On each PE: uses the callbacks that it is sent.
struct caller : group_member<caller> {
  void use(callback<int> with_value, callback<> without) {
    with_value(this_pe() + 1);
    without();
    with_value.immediately(1);
  }
  void use_text(callback<std::string> target) { target(std::string(100, 'x') + std::to_string(this_pe())); }
  void use_all(std::vector<callback<int>> targets, int value) {
    for (const callback<int>& each : targets) each(value);
  }
  int seven() { return 7; }
};

int sum_of_uses() { return pe_count() * (pe_count() + 1) / 2 + pe_count(); }  // what `use` adds on all PEs

void callbacks_reach_elements() {
  const int n = 4 * pe_count();
  auto all = make_array<listener>({n}, round_robin());
  auto callers = make_group<caller>();
  for (int i = 0; i < n; i += 2 * pe_count()) {
    callers.broadcast<&caller::use>(to<&listener::add>(all(i)), to<&listener::signal>(all(i + 1)));
    callers.broadcast<&caller::use_text>(to<&listener::hear>(all(i)));
  }
  quiescence().get();
  for (int i = 0; i < n; i += 2 * pe_count()) {
    check_equal(all(i).call<&listener::sum_and_signals>().get(), std::int64_t{1000} * sum_of_uses());
    check_equal(all(i + 1).call<&listener::sum_and_signals>().get(), std::int64_t{pe_count()});
    auto heard = all(i).call<&listener::all_heard>().get();
    check_equal(heard.size(), static_cast<std::size_t>(pe_count()));
    for (const std::string& each : heard) check_equal(each.substr(0, 100), std::string(100, 'x'));
  }
}
const case_entry elements_case{"callbacks_reach_elements", &callbacks_reach_elements};

void callbacks_reach_collections() {
  const int n = 3 * pe_count() + 1;
  auto all = make_array<listener>({n}, round_robin());
  auto groups = make_group<group_listener>();
  auto nodes = make_nodegroup<node_listener>();
  auto callers = make_group<caller>();
  std::vector<index<1>> even;
  for (int i = 0; i < n; i += 2) even.push_back({i});
  const auto part = all.select(even);
  callers.broadcast<&caller::use>(to<&listener::add>(all), to<&listener::signal>(part));
  callers.broadcast<&caller::use>(to<&listener::add>(part), to<&listener::signal>(all));
  callers.broadcast<&caller::use>(to<&group_listener::add>(groups), to<&node_listener::signal>(nodes));
  const int last = process_count() - 1;
  callers.broadcast<&caller::use>(to<&node_listener::add>(nodes), to<&node_listener::signal>(nodes[last]));
  callers.broadcast<&caller::use>(to<&node_listener::add>(nodes[last]), callback<>(to_nothing));
  quiescence().get();
  for (int i = 0; i < n; ++i)
    check_equal(all(i).call<&listener::sum_and_signals>().get(),
                std::int64_t{1000} * sum_of_uses() * (i % 2 == 0 ? 2 : 1) + pe_count() * (i % 2 == 0 ? 2 : 1));
  check_equal(groups.reduce<&group_listener::sum>(minimum).get(), sum_of_uses());
  check_equal(groups.reduce<&group_listener::sum>(maximum).get(), sum_of_uses());
  for (int process = 0; process < process_count(); ++process)
    check_equal(nodes[process].call<&node_listener::sum_and_signals>().get(),
                1000 * sum_of_uses() * (process == last ? 2 : 1) + pe_count() * (process == last ? 2 : 1));
}
const case_entry collections_case{"callbacks_reach_collections", &callbacks_reach_collections};

void callbacks_reach_functions_and_futures() {
  auto callers = make_group<caller>();
  const int last = pe_count() - 1;
  callers.broadcast<&caller::use>(to<&add_here>(last), to<&signal_here>(last));
  quiescence().get();
  future<int> added;
  send<&report_added>(last, added.get_promise());
  check_equal(added.get(), sum_of_uses() + 1000 * pe_count());
  check_throws<std::out_of_range>([&] { static_cast<void>(to<&add_here>(pe_count())); }, "there are PEs 0..");

  future<int> value;
  future<void> signal, signal_of_value;
  callers[last].send<&caller::use>(value.get_promise(), signal.get_promise());
  const int first = value.get();
  check(first == 1 || first == last + 1, "the first value counts, and the second one was immediate");
  signal.get();
  // A target without a value stands for one with a value.
  callers[last].send<&caller::use>(callback<int>(signal_of_value.get_promise()), to_nothing);
  signal_of_value.get();
  check_throws<std::logic_error>([] { callback<int>()(1); }, "it has no target");
  check_throws<std::logic_error>([] { callback<>()(); }, "it has no target");

  // Many in one argument.
  auto all = make_array<listener>({2});
  future<int> one_more;
  callers[last].send<&caller::use_all>(
      std::vector<callback<int>>{to<&listener::add>(all(0)), to<&listener::add>(all), to<&listener::signal>(all),
                                 to_nothing, one_more.get_promise()},
      5);
  check_equal(one_more.get(), 5);
  quiescence().get();
  check_equal(all(0).call<&listener::sum_and_signals>().get(), std::int64_t{10001});
  check_equal(all(1).call<&listener::sum_and_signals>().get(), std::int64_t{5001});
}
const case_entry functions_case{"callbacks_reach_functions_and_futures", &callbacks_reach_functions_and_futures};

void callbacks_with_references() {
  const int n = 2 * pe_count();
  auto all = make_array<listener>({n}, round_robin());
  std::vector<index<1>> even;
  for (int i = 0; i < n; i += 2) even.push_back({i});
  const auto part = all.select(even);
  std::vector<future<int>> sums;
  for (int step = 0; step < 3; ++step) sums.push_back(all.reduce<&listener::await_numbered>(sum, step));
  for (int step = 2; step >= 0; --step) {
    if (step == 1) {
      to<&listener::numbered>(part, step)(10);
      for (int i = 1; i < n; i += 2) to<&listener::numbered>(all(i), step)(10);
    } else {
      to<&listener::numbered>(all, step)(step * 10);
    }
    callback<int> dropped = to<&listener::numbered_signal>(all, step);
    dropped(99);
  }
  for (int step = 0; step < 3; ++step) check_equal(sums[static_cast<std::size_t>(step)].get(), n * 10 * step);
  check_throws<std::out_of_range>([&] { static_cast<void>(to<&listener::numbered>(all, 1LL << 40)); }, "cannot hold");
}
const case_entry references_case{"callbacks_with_references", &callbacks_with_references};

// The results of reductions go to callbacks of all kinds.
void callbacks_get_reductions() {
  const int n = 3 * pe_count();
  auto all = make_array<listener>({n}, round_robin());
  auto callers = make_group<caller>();
  auto nodes = make_nodegroup<node_listener>();
  const auto part = all.select({0, n - 1});
  callers.reduce_to<&caller::seven>(sum, to<&listener::add>(all));
  callers.reduce_to<&caller::seven>(sum, to<&listener::signal>(part));
  callers.reduce_to<&caller::seven>(immediately(maximum), to<&node_listener::add>(nodes));
  future<void> done;
  callers.reduce_to<&caller::seven>(sum, done.get_promise());
  done.get();
  callers.reduce_to<&caller::seven>(sum, to_nothing);
  quiescence().get();
  future<std::int64_t> of_part;
  part.reduce_to<&listener::sum_and_signals>(sum, of_part.get_promise());
  check_equal(of_part.get(), std::int64_t{2} * (7000 * pe_count() + 1));
  nodes.reduce_to<&node_listener::sum_and_signals>(sum, to<&listener::add>(all(0)));
  quiescence().get();
  check_equal(all(0).call<&listener::sum_and_signals>().get(),
              std::int64_t{1000} * (7 * pe_count() + 7000 * process_count()) + 1);
}
const case_entry reductions_case{"callbacks_get_reductions", &callbacks_get_reductions};

// Ends the job: by hand, see CMakeLists.txt.
void crash_callback_exits() {
  auto callers = make_group<caller>();
  callers[pe_count() - 1].send<&caller::use_all>(std::vector<callback<int>>{to<&tri::exit>(0)}, 4);
  static_cast<void>(future<int>().get());
}
const case_entry exits_case{"crash_callback_exits", &crash_callback_exits};
void crash_callback_ends() {
  auto callers = make_group<caller>();
  callers.reduce_to<&caller::seven>(sum, to_exit);
  static_cast<void>(future<int>().get());
}
const case_entry ends_case{"crash_callback_ends", &crash_callback_ends};

}  // namespace
}  // namespace tri::testing
