// Reductions while PEs compute (Mei 2012, M65). PE 0, where the parts meet and whose future waits, is inside a method
// when the others send their parts, and more such methods wait there. Immediate parts are combined before the second
// one begins, others when all have run.
#include <sched.h>

#include <atomic>
#include <chrono>
#include <new>

#include "system/cases/cases.hpp"

namespace tri::testing {
namespace {

constexpr int computations = 10;
constexpr int not_before_the_end = -1;

struct progress_marks {  // in the arena
  std::atomic<bool> computing{false};
  std::atomic<int> parts_sent{0};
};

struct busy : array_element<busy, index<1>> {
  int computed = 0;
  int computed_when_ready = not_before_the_end;

  static progress_marks& marks_at(std::uint64_t address) { return *reinterpret_cast<progress_marks*>(address); }
  int vote(std::uint64_t marks) {
    if (this_pe() != 0)
      while (!marks_at(marks).computing.load()) sched_yield();
    return this_index()[0];
  }
  void give(std::uint64_t marks, bool at_once, callback<int> target) {
    const int value = vote(marks);
    if (at_once)
      contribute(value, immediately(sum), target);
    else
      contribute(value, sum, target);
  }
  void mark(std::uint64_t marks) { marks_at(marks).parts_sent.fetch_add(1); }
  void compute(std::uint64_t marks, std::uint64_t result) {
    if (computed == 0) {
      marks_at(marks).computing.store(true);
      while (marks_at(marks).parts_sent.load() != pe_count() - 1) sched_yield();
    }
    if (computed_when_ready == not_before_the_end && reinterpret_cast<const future<int>*>(result)->ready())
      computed_when_ready = computed;
    ++computed;
  }
};

/// `start(all, marks)` begins a reduction and returns its future. Returns how many of PE 0's computations had run when
/// the result came.
template <class Start>
int computations_before_result(const array<busy>& all, Start&& start) {
  auto* const marks = new (arena::allocate(sizeof(progress_marks))) progress_marks;
  const auto address = reinterpret_cast<std::uint64_t>(marks);
  future<int> result = start(all, address);
  for (int pe = 1; pe < pe_count(); ++pe) all(pe).send<&busy::mark>(address);  // after the part
  for (int i = 0; i < computations; ++i) all(0).send<&busy::compute>(address, reinterpret_cast<std::uint64_t>(&result));
  check_equal(result.get(), pe_count() * (pe_count() - 1) / 2);
  quiescence().get();
  check_equal(all(0).local()->computed, computations);
  arena::release(marks);
  return all(0).local()->computed_when_ready;
}

/// An array with an element on each PE, whose contributions meet on PE 0.
array<busy> array_that_meets_here() {
  for (;;) {
    auto all = make_array<busy>({pe_count()}, round_robin());
    if (objects::pe_objects::of(sched::this_pe()).find_local_collection(all.id())->contribution_root_pe() == 0)
      return all;
  }
}

section<busy> whole(const array<busy>& all) {
  std::vector<index<1>> members;
  for (int i = 0; i < pe_count(); ++i) members.push_back({i});
  return all.select(members);
}

void immediate_reductions_pass_what_waits() {
  if (sched::this_pe().job().hosts() > 1) return;  // PE 0 does not look at the network while it waits
  const auto by_broadcast = [](auto reducer) {
    return computations_before_result(array_that_meets_here(), [&](const auto& all, std::uint64_t marks) {
      return all.template reduce<&busy::vote>(reducer, marks);
    });
  };
  check_equal(by_broadcast(immediately(sum)), pe_count() > 1 ? 1 : 0);
  check_equal(by_broadcast(sum), not_before_the_end);

  const auto by_section = [](auto reducer) {
    return computations_before_result(array_that_meets_here(), [&](const auto& all, std::uint64_t marks) {
      return whole(all).template reduce<&busy::vote>(reducer, marks);
    });
  };
  check_equal(by_section(immediately(sum)), pe_count() > 1 ? 1 : 0);
  check_equal(by_section(sum), not_before_the_end);

  const auto by_contribution = [](bool at_once) {
    return computations_before_result(array_that_meets_here(), [&](const auto& all, std::uint64_t marks) {
      future<int> result;
      all.template broadcast<&busy::give>(marks, at_once, callback<int>(result.get_promise()));
      return result;
    });
  };
  check_equal(by_contribution(true), pe_count() > 1 ? 1 : 0);
  check_equal(by_contribution(false), not_before_the_end);
}
const case_entry passing_case{"immediate_reductions_pass_what_waits", &immediate_reductions_pass_what_waits};

struct voter : array_element<voter, index<1>> {
  int i = this_index()[0];
  int number() { return i; }
  std::string word() { return std::string(40, static_cast<char>('a' + i % 26)); }
  std::tuple<int, int> two() { return {i, i}; }
  task<int> late() {
    co_await after(std::chrono::microseconds(10 * i));
    co_return i;
  }
  void give(int round, callback<int> target) {
    if ((i + round) % 7 == 0) migrate_to((this_pe() + 1) % pe_count());
    if (round % 3 == 0)  // those that wait their turn and those that do not, in one sequence
      contribute(i + round, sum, target);
    else
      contribute(i + round, immediately(sum), target);
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(i);
  }
};

struct told : array_element<told, index<1>> {
  promise<int> done;
  void expect_result(promise<int> whom) { done = whom; }
  void result(int value) { done.set(value); }
};

void immediate_reductions_give_the_same() {
  constexpr int n = 37;
  const int total = n * (n - 1) / 2;
  auto all = make_array<voter>({n}, round_robin());
  for (int i = 0; i < 20; ++i) check_equal(all.reduce<&voter::number>(immediately(sum)).get(), total);
  check_equal(all.reduce<&voter::late>(immediately(sum)).get(), total);
  const auto [low, high] = all.reduce<&voter::two>(immediately(several(minimum, maximum))).get();
  check_equal(low, 0);
  check_equal(high, n - 1);
  check(all.reduce<&voter::word>(immediately(gather)).get() == all.reduce<&voter::word>(gather).get(),
        "gathered at once, the words are others");
  std::vector<index<1>> odd;
  for (int i = 1; i < n; i += 2) odd.push_back({i});
  check_equal(all.select(odd).reduce<&voter::number>(immediately(maximum)).get(), n - 2);

  auto tellers = make_array<told>({pe_count()}, round_robin());
  for (int pe = 0; pe < pe_count(); ++pe) {
    future<int> done;
    tellers(pe).call<&told::expect_result>(done.get_promise()).get();
    all.reduce_to<&voter::number>(immediately(sum), to<&told::result>(tellers(pe)));
    check_equal(done.get(), total);
  }
  constexpr int rounds = 30;
  std::vector<future<int>> done(rounds);
  for (int round = 0; round < rounds; ++round)
    all.broadcast<&voter::give>(round, callback<int>(done[static_cast<std::size_t>(round)].get_promise()));
  for (int round = 0; round < rounds; ++round)
    check_equal(done[static_cast<std::size_t>(round)].get(), total + n * round);
  quiescence().get();
}
const case_entry same_case{"immediate_reductions_give_the_same", &immediate_reductions_give_the_same};

}  // namespace
}  // namespace tri::testing
