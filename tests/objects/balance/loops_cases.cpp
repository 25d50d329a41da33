// Loops inside methods beside balancing (K96): the PEs of a process share the loops of its elements, the elements
// migrate between hosts. What is right and who takes part, by counts; how much both bring is in
// sim/hosts_and_loops_test.cpp, in virtual time.
#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "os/clock.hpp"
#include "os/task_clock.hpp"
#include "system/cases/cases.hpp"
#include "trireme/balance.hpp"
#include "trireme/loops.hpp"

namespace tri::testing {
namespace {

constexpr int slabs = 24;

std::int64_t items_of(int slab) { return 200 + 40 * (slab % 5); }
std::int64_t sum_of(int slab) { return items_of(slab) * (items_of(slab) - 1) / 2; }

struct slab : array_element<slab, index<1>> {
  std::int64_t total = 0;
  int arrivals = 0;

  std::int64_t step() {
    const std::int64_t sum = parallel_reduce(
        static_cast<int>(items_of(this_index()[0])), std::int64_t{0}, [](int i) { return std::int64_t{i}; },
        std::plus<>(), "dynamic,8");
    total += sum;
    return sum;
  }
  std::int64_t sum_so_far() { return total; }
  int host() { return sched::this_pe().job().host(); }
  int times_moved() { return arrivals; }
  /// A loop whose first two iterations wait for each other: it ends only if another PE of the process takes part.
  int run_with_others() {
    if (loop_participants() == 1) return 2;
    std::atomic<std::uint64_t> came{0};
    parallel_for(
        2,
        [&](int, int participant) {
          came.fetch_or(std::uint64_t{1} << participant);
          while (std::popcount(came.load()) < 2) std::this_thread::yield();
        },
        "dynamic,1");
    return std::popcount(came.load());
  }
  void on_migrated() { ++arrivals; }
  /// In proportion to the iterations, so that the strategy decides the same on a busy machine.
  void describe_load(load_description& load) const { load.load_ns(items_of(this_index()[0]) * 1'000'000); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(total, arrivals);
  }
};

void check_all_sums(const array<slab>& all, int steps) {
  for (int i = 0; i < slabs; ++i) check_equal(all(i).call<&slab::sum_so_far>().get(), steps * sum_of(i));
}

/// Iterations on the host that has most, to the mean.
double imbalance_of_hosts(const array<slab>& all) {
  std::vector<double> of_host(static_cast<std::size_t>(sched::this_pe().job().hosts()), 0.0);
  double sum = 0;
  for (int i = 0; i < slabs; ++i) {
    const auto items = static_cast<double>(items_of(i));
    of_host[static_cast<std::size_t>(all(i).call<&slab::host>().get())] += items;
    sum += items;
  }
  return *std::max_element(of_host.begin(), of_host.end()) * static_cast<double>(of_host.size()) / sum;
}

void loops_and_migration_together() {
  // All on the first PE: loops share its work inside the host, and only migration brings any to the others.
  const auto all = make_array<slab>({slabs}, placed_by<index<1>>([](const index<1>&, int) { return 0; }));
  const auto& job = sched::this_pe().job();
  std::int64_t expected = 0;
  for (int i = 0; i < slabs; ++i) expected += sum_of(i);
  constexpr int steps_of_round = 3;
  int steps = 0;
  for (int round = 0; round < 3; ++round) {
    for (int step = 0; step < steps_of_round; ++step, ++steps)
      check_equal(all.reduce<&slab::step>(sum).get(), expected);
    if (round == 0) check_equal(imbalance_of_hosts(all), static_cast<double>(job.hosts()));
    balance_options options;
    options.strategy = "refine";
    const balance_report report = tri::balance(options).get();
    if (round == 0 && pe_count() > 1) check(report.moved > 0, "nothing has moved");
    quiescence().get();
    check(imbalance_of_hosts(all) < 1.25, "hosts are not balanced");
  }
  check_all_sums(all, steps);
  // On every host its PEs share the loops of its elements, also of those that came from elsewhere.
  std::vector<bool> seen(static_cast<std::size_t>(job.hosts()));
  for (int i = 0; i < slabs; ++i) {
    const auto host = static_cast<std::size_t>(all(i).call<&slab::host>().get());
    if (seen[host] || (host != 0 && all(i).call<&slab::times_moved>().get() == 0)) continue;
    seen[host] = true;
    check_equal(all(i).call<&slab::run_with_others>().get(), 2);
  }
  if (pe_count() > 1) check(std::find(seen.begin(), seen.end(), false) == seen.end(), "a host got no element");
}
/// A loop of which another PE does all but one iteration.
struct helped : array_element<helped, index<1>> {
  std::int64_t busy_ns = 0;  // CPU time of the bodies, on all PEs
  int others = 0;            // iterations on other PEs
  void run() {
    std::atomic<int> left{iterations};
    std::atomic<std::int64_t> sum{0};
    std::atomic<int> elsewhere{0};
    const auto own = std::this_thread::get_id();
    parallel_for(
        iterations,
        [&](int) {
          const bool is_helper = std::this_thread::get_id() != own;
          left.fetch_sub(1);
          while (!is_helper && left.load() > 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
          if (!is_helper) return;
          os::task_clock& clock = os::task_clock::of_this_thread();
          const std::uint64_t began = clock.read();
          while (os::ticks_to_ns(clock.read() - began) < ns_of_iteration) {
          }
          sum.fetch_add(static_cast<std::int64_t>(os::ticks_to_ns(clock.read() - began)));
          elsewhere.fetch_add(1);
        },
        "dynamic,1");
    busy_ns = sum;
    others = elsewhere;
  }
  std::int64_t busy() { return busy_ns; }
  int iterations_elsewhere() { return others; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(busy_ns, others);
  }
  static constexpr int iterations = 9;
  static constexpr double ns_of_iteration = 2e6;
};

void loads_contain_the_work_of_helpers() {
  if (sched::this_pe().job().pes_per_process() < 2) return;
  const auto one = make_array<helped>({1});
  tri::balance().get();  // measures from zero
  one(0).send<&helped::run>();
  quiescence().get();
  check_equal(one(0).call<&helped::iterations_elsewhere>().get(), helped::iterations - 1);
  const std::int64_t busy = one(0).call<&helped::busy>().get();
  // Its own PE only slept.
  const double measured = tri::balance({.strategy = "refine"}).get().longest_ns;
  check(measured >= static_cast<double>(busy), "the helpers' work is missing");
}

const case_entry helpers_case{"loads_contain_the_work_of_helpers", &loads_contain_the_work_of_helpers};
const case_entry together_case{"only_loops_and_migration_together", &loops_and_migration_together};

}  // namespace
}  // namespace tri::testing
