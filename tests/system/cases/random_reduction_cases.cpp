// Random programs of reductions against a sequential model: elements contribute to reductions of the whole array and of
// sections that overlap, in coroutines and in messages, move in between, and the results go to callbacks of all kinds.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "system/cases/cases.hpp"

namespace tri::testing {
namespace {

/// One reduction: of which section (0: all elements), by which reducer, and where its result goes.
struct planned {
  int section;
  int reducer;  // sum, maximum, element-wise sum of two, barrier
  int target;
  int factor;
  callback<int> value_target;
  callback<> signal_target;
  callback<std::vector<int>> vector_target;
};

pe_local<long> on_this_pe;  // NOLINT(cert-err58-cpp): registration before main
void take_here(int value) { *on_this_pe += value; }
void report_and_reset(promise<long> whom) { whom.set(std::exchange(*on_this_pe, 0)); }

struct actor : array_element<actor, index<1>> {
  long total = 0, signals = 0;
  std::vector<planned> plan;
  std::vector<section_name> sections;  // those it is a member of; id 0: not
  int i() const { return this_index()[0]; }

  void take(int value) { total += value; }
  void take_two(std::vector<int> values) { total += values[0] + 3L * values[1]; }
  void signal() { ++signals; }
  void prepare(std::vector<planned> all, std::vector<std::vector<std::uint64_t>> members,
               std::vector<section_name> names) {
    plan = std::move(all);
    sections.assign(names.size(), {});
    for (std::size_t s = 0; s < names.size(); ++s)
      if (std::find(members[s].begin(), members[s].end(), number()) != members[s].end()) sections[s] = names[s];
    total = signals = 0;
  }
  void contribute_to(const planned& step) {
    const int value = step.factor * (i() + 1);
    const std::vector<int> two{value, -i()};
    if (step.section == 0) {
      if (step.reducer == 0) contribute(value, sum, step.value_target);
      if (step.reducer == 1) contribute(value, maximum, step.value_target);
      if (step.reducer == 2) contribute(two, elementwise(sum), step.vector_target);
      if (step.reducer == 3) contribute(step.signal_target);
      return;
    }
    const section_name& of = sections[static_cast<std::size_t>(step.section - 1)];
    if (of.size == 0) return;  // not a member
    if (step.reducer == 0) contribute(of, value, immediately(sum), step.value_target);
    if (step.reducer == 1) contribute(of, value, maximum, step.value_target);
    if (step.reducer == 2) contribute(of, two, elementwise(sum), step.vector_target);
    if (step.reducer == 3) contribute(of, step.signal_target);
  }
  void run_step(int step) { contribute_to(plan[static_cast<std::size_t>(step)]); }
  task<> run_all(unsigned seed) {
    std::mt19937 random(seed + static_cast<unsigned>(i()));
    const int steps = static_cast<int>(plan.size());
    for (int step = 0; step < steps; ++step) {
      contribute_to(plan[static_cast<std::size_t>(step)]);
      const unsigned what = random() % 4;
      if (what == 0) migrate_to(static_cast<int>(random() % static_cast<unsigned>(pe_count())));
      if (what == 1) co_await this_element().call<&actor::nothing>();
    }
  }
  void nothing() {}
  void go(int pe) { migrate_to(pe); }
  long totals() { return total; }
  long signalled() { return signals; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(total, signals, plan, sections);
  }
};

void random_reductions() {
  const int n = 3 * pe_count() + 2;
  for (unsigned seed = 1; seed <= 6; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
    auto all = make_array<actor>({n}, round_robin());
    std::vector<section<actor>> sections;
    std::vector<std::vector<std::uint64_t>> members;
    std::vector<section_name> names;
    for (int s = 0; s < 3; ++s) {
      std::vector<index<1>> chosen{{below(n)}};
      for (int i = 0; i < n; ++i)
        if (below(2) == 0 && i != chosen.front()[0]) chosen.push_back({i});
      sections.push_back(all.select(chosen));
      members.push_back(sections.back().members());
      names.push_back(sections.back().name());
    }
    std::vector<long> expected_totals(static_cast<std::size_t>(n)), expected_signals(static_cast<std::size_t>(n));
    long expected_on_pes = 0;
    std::vector<planned> plan;
    std::vector<std::pair<future<int>, int>> futures;  // and the value expected
    for (int step = 0; step < 40; ++step) {
      planned one{below(4), below(4), below(5), 1 + below(9), {}, {}, {}};
      std::vector<std::uint64_t> who;
      if (one.section == 0)
        for (int i = 0; i < n; ++i) who.push_back(static_cast<std::uint64_t>(i));
      else
        who = members[static_cast<std::size_t>(one.section - 1)];
      int total = 0, largest = 0, second = 0;
      for (const std::uint64_t i : who) {
        total += one.factor * (static_cast<int>(i) + 1);
        largest = std::max(largest, one.factor * (static_cast<int>(i) + 1));
        second -= static_cast<int>(i);
      }
      const int value = one.reducer == 0 ? total : largest;
      const bool is_value = one.reducer < 2;
      std::vector<std::uint64_t> receivers;
      const int chosen = below(n);
      const auto& part = sections[static_cast<std::size_t>(below(3))];
      switch (one.target) {
        case 0:
          one.value_target = to<&actor::take>(all(chosen));
          one.vector_target = to<&actor::take_two>(all(chosen));
          one.signal_target = to<&actor::signal>(all(chosen));
          receivers = {static_cast<std::uint64_t>(chosen)};
          break;
        case 1:
          one.value_target = to<&actor::take>(all);
          one.vector_target = to<&actor::take_two>(all);
          one.signal_target = to<&actor::signal>(all);
          for (int i = 0; i < n; ++i) receivers.push_back(static_cast<std::uint64_t>(i));
          break;
        case 2:
          one.value_target = to<&actor::take>(part);
          one.vector_target = to<&actor::take_two>(part);
          one.signal_target = to<&actor::signal>(part);
          receivers = part.members();
          break;
        case 3:
          one.value_target = to<&take_here>(chosen % pe_count());
          one.vector_target = to_nothing;
          one.signal_target = to_nothing;
          if (is_value) expected_on_pes += value;
          break;
        default: {
          future<int> result;
          one.value_target = result.get_promise();
          one.vector_target = to<&actor::signal>(all(chosen));  // the value is dropped
          one.signal_target = to<&actor::signal>(all(chosen));
          if (is_value)
            futures.emplace_back(std::move(result), value);
          else
            ++expected_signals[static_cast<std::size_t>(chosen)];
        }
      }
      for (const std::uint64_t receiver : receivers) {
        const auto at = static_cast<std::size_t>(receiver);
        if (is_value) expected_totals[at] += value;
        if (one.reducer == 2) expected_totals[at] += total + 3L * second;
        if (one.reducer == 3) ++expected_signals[at];
      }
      plan.push_back(one);
    }
    for (int i = 0; i < n; ++i) all(i).call<&actor::prepare>(plan, members, names).get();
    if (seed % 2 == 0) {
      all.broadcast<&actor::run_all>(seed);
    } else {
      for (int step = 0; step < static_cast<int>(plan.size()); ++step)
        for (int i = 0; i < n; ++i) {
          all(i).send<&actor::run_step>(step);
          if (below(6) == 0) all(i).send<&actor::go>(below(pe_count()));
        }
    }
    quiescence().get();
    for (auto& [result, value] : futures) check_equal(result.get(), value);
    for (int i = 0; i < n; ++i) {
      check_equal(all(i).call<&actor::totals>().get(), expected_totals[static_cast<std::size_t>(i)]);
      check_equal(all(i).call<&actor::signalled>().get(), expected_signals[static_cast<std::size_t>(i)]);
    }
    long on_pes = 0;
    for (int pe = 0; pe < pe_count(); ++pe) {
      future<long> found;
      send<&report_and_reset>(pe, found.get_promise());
      on_pes += found.get();
    }
    check_equal(on_pes, expected_on_pes);
  }
}
const case_entry random_case{"random_reductions", &random_reductions};

}  // namespace
}  // namespace tri::testing
