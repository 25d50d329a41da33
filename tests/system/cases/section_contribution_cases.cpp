// Contributions of the members of sections, barriers, contributions of vectors, in coroutines, by elements that move.
#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "system/cases/cases.hpp"

namespace tri::testing {
namespace {

struct mean {
  template <class T>
  using partial = std::pair<T, std::int64_t>;
  template <class T>
  static partial<T> start(std::uint64_t, T&& value) {
    return {std::forward<T>(value), 1};
  }
  template <class T>
  static void combine(std::pair<T, std::int64_t>& into, std::pair<T, std::int64_t>&& other) {
    into.first += other.first;
    into.second += other.second;
  }
  template <class T>
  static double finish(std::pair<T, std::int64_t>&& all) {
    return static_cast<double>(all.first) / static_cast<double>(all.second);
  }
};

// A type of the user's, which crosses processes by its serialize function.
struct extent {
  std::string first, last;  // by alphabet
  std::vector<int> seen;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(first, last, seen);
  }
};
constexpr auto joined = by([](extent a, extent b) {
  extent both{std::min(a.first, b.first), std::max(a.last, b.last), std::move(a.seen)};
  both.seen.insert(both.seen.end(), b.seen.begin(), b.seen.end());
  return both;
});

struct member : array_element<member, index<1>> {
  int rounds = 0;
  long grand_total = 0;
  int i() const { return this_index()[0]; }

  void give(section_name of, int round, callback<int> target) { contribute(of, i() + round, sum, target); }
  void give_two(section_name of, callback<int> first, callback<std::vector<int>> second) {
    contribute(of, i(), maximum, first);
    contribute(of, i(), gather, second);
  }
  void arrive(callback<> target) { contribute(target); }
  void arrive_in(section_name of, callback<> target) { contribute(of, target); }
  void give_vector(callback<std::vector<double>> target, int size) {
    std::vector<double> own(static_cast<std::size_t>(size));
    for (int k = 0; k < size; ++k) own[static_cast<std::size_t>(k)] = i() * k;
    contribute(own, elementwise(sum), target);
  }
  void give_array(callback<std::array<int, 3>> target) {
    contribute(std::array{i(), -i(), 100 - i()}, elementwise(maximum), target);
  }
  void give_flags(callback<std::vector<bool>> target) {
    contribute(std::vector<bool>{true, i() % 2 == 0, i() == 0, false}, elementwise(logical_and), target);
  }
  void give_extent(callback<extent> target) {
    contribute(extent{"name " + std::to_string(i()), "name " + std::to_string(i()), {i()}}, joined, target);
  }
  void give_mean(callback<double> target) { contribute(i(), mean{}, target); }
  std::vector<std::int64_t> vector_of(int size) {
    return std::vector<std::int64_t>(static_cast<std::size_t>(size), i());
  }
  std::array<double, 2> array_of() { return {1.0 * i(), 0.5}; }

  // A step of a solver: contributes in a coroutine and awaits the result of the step, which is broadcast.
  double residual(int, double value) { return value; }
  task<double> solve(int steps) {
    double own = i() + 1, last = 0;
    for (int step = 0; step < steps; ++step) {
      contribute(own, maximum, to<&member::residual>(this_array(), step));
      last = co_await when<&member::residual>(step);
      own /= 2;
    }
    co_return last;
  }
  // The same in a section, whose members wait for each other.
  int part_sum(int, int value) { return value; }
  task<int> solve_in(section<member> part, int steps) {
    int last = 0;
    for (int step = 0; step < steps; ++step) {
      contribute(part.name(), i() + last % 7, sum, to<&member::part_sum>(part, step));
      last = co_await when<&member::part_sum>(step);
      if (step % 3 == i() % 3) migrate_to((this_pe() + 1 + step) % pe_count());
      co_await when<&member::may_go_on>(step);
    }
    co_return last;
  }
  void may_go_on(int) {}
  void go(int pe) { migrate_to(pe); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(rounds, grand_total);
  }
};

std::vector<index<1>> chosen(int n, int step, int first = 0) {
  std::vector<index<1>> members;
  for (int i = first; i < n; i += step) members.push_back({i});
  return members;
}

void sections_contribute() {
  const int n = 4 * pe_count() + 3;
  auto all = make_array<member>({n}, round_robin());
  const auto odd = all.select(chosen(n, 2, 1));
  const auto thirds = all.select(chosen(n, 3));
  const auto sum_of = [](const section<member>& part, int round) {
    int total = 0;
    for (const std::uint64_t number : part.members()) total += static_cast<int>(number) + round;
    return total;
  };
  // Several reductions of two sections that share members, under way together.
  std::vector<future<int>> of_odd(5), of_thirds(5);
  for (int round = 0; round < 5; ++round) {
    const auto at = static_cast<std::size_t>(round);
    odd.multicast<&member::give>(odd.name(), round, callback<int>(of_odd[at].get_promise()));
    for (const std::uint64_t number : thirds.members())
      all(static_cast<int>(number))
          .send<&member::give>(thirds.name(), round, callback<int>(of_thirds[at].get_promise()));
  }
  for (int round = 4; round >= 0; --round) {
    check_equal(of_odd[static_cast<std::size_t>(round)].get(), sum_of(odd, round));
    check_equal(of_thirds[static_cast<std::size_t>(round)].get(), sum_of(thirds, round));
  }
  future<int> largest;
  future<std::vector<int>> everyone;
  odd.multicast<&member::give_two>(odd.name(), callback<int>(largest.get_promise()),
                                   callback<std::vector<int>>(everyone.get_promise()));
  check_equal(largest.get(), static_cast<int>(odd.members().back()));
  const std::vector<int> gathered = everyone.get();
  check_equal(gathered.size(), odd.size());
  for (std::size_t k = 0; k < gathered.size(); ++k) check_equal(gathered[k], static_cast<int>(odd.members()[k]));
}
const case_entry sections_case{"sections_contribute", &sections_contribute};

void barriers() {
  const int n = 3 * pe_count();
  auto all = make_array<member>({n}, round_robin());
  const auto part = all.select(chosen(n, 2));
  for (int round = 0; round < 3; ++round) {
    future<void> passed, passed_in_part;
    for (int i = 0; i + 1 < n; ++i) all(i).send<&member::arrive>(passed.get_promise());
    for (int i = 2; i < n; i += 2) all(i).send<&member::arrive_in>(part.name(), passed_in_part.get_promise());
    quiescence().get();
    check(!passed.ready() && !passed_in_part.ready(), "a barrier lets go before all have come");
    all(n - 1).send<&member::arrive>(passed.get_promise());
    all(0).send<&member::arrive_in>(part.name(), passed_in_part.get_promise());
    passed.get();
    passed_in_part.get();
  }
}
const case_entry barriers_case{"barriers", &barriers};

void contributions_of_vectors() {
  const int n = 2 * pe_count() + 1;
  auto all = make_array<member>({n}, round_robin());
  for (const int size : {0, 1, 3, 1000}) {
    future<std::vector<double>> total;
    all.broadcast<&member::give_vector>(callback<std::vector<double>>(total.get_promise()), size);
    const auto found = total.get();
    check_equal(found.size(), static_cast<std::size_t>(size));
    for (int k = 0; k < size; ++k) check_equal(found[static_cast<std::size_t>(k)], k * 0.5 * n * (n - 1));
  }
  future<std::array<int, 3>> largest;
  all.broadcast<&member::give_array>(callback<std::array<int, 3>>(largest.get_promise()));
  check(largest.get() == std::array{n - 1, 0, 100}, "the largest of each element of an array");
  future<std::vector<bool>> flags;
  all.broadcast<&member::give_flags>(callback<std::vector<bool>>(flags.get_promise()));
  check(flags.get() == std::vector<bool>{true, false, false, false}, "flags of all");
  check(all.reduce<&member::vector_of>(elementwise(product), 2).get() == std::vector<std::int64_t>{0, 0}, "products");
  check(all.reduce<&member::array_of>(ordered(elementwise(sum))).get() == std::array{0.5 * n * (n - 1), 0.5 * n},
        "sums in order");
  future<extent> names;
  all.broadcast<&member::give_extent>(callback<extent>(names.get_promise()));
  extent found = names.get();
  check_equal(found.first, "name 0");
  std::sort(found.seen.begin(), found.seen.end());
  std::vector<int> expected_numbers(static_cast<std::size_t>(n));
  std::iota(expected_numbers.begin(), expected_numbers.end(), 0);
  check(found.seen == expected_numbers, "each element contributes once");
  future<double> average;
  all.broadcast<&member::give_mean>(callback<double>(average.get_promise()));
  check_equal(average.get(), 0.5 * (n - 1));
}
const case_entry vectors_case{"contributions_of_vectors", &contributions_of_vectors};

void contributions_in_coroutines() {
  const int n = 2 * pe_count() + 1;
  auto all = make_array<member>({n}, round_robin());
  constexpr int steps = 12;
  const auto last = all.reduce<&member::solve>(gather, steps).get();
  for (const double value : last) check_equal(value, n / 2048.0);

  // Members move between their contributions, as far as they can.
  const auto part = all.select(chosen(n, 2));
  std::vector<future<int>> answers;
  for (const std::uint64_t number : part.members())
    answers.push_back(all(static_cast<int>(number)).call<&member::solve_in>(part, steps));
  for (int step = 0; step < steps; ++step) part.multicast<&member::may_go_on>(step);
  int total = 0;
  for (int step = 0; step < steps; ++step) {
    const int before = total;
    total = 0;
    for (const std::uint64_t number : part.members()) total += static_cast<int>(number) + before % 7;
  }
  for (auto& each : answers) check_equal(each.get(), total);

  // And as members that wait for nothing, to other processes: their numbers go along.
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    future<int> done;
    for (const std::uint64_t number : part.members()) {
      const auto each = all(static_cast<int>(number));
      each.send<&member::go>(static_cast<int>(random() % static_cast<unsigned>(pe_count())));
      each.send<&member::give>(part.name(), round, callback<int>(done.get_promise()));
    }
    int expected_total = 0;
    for (const std::uint64_t number : part.members()) expected_total += static_cast<int>(number) + round;
    check_equal(done.get(), expected_total);
  }
}
const case_entry coroutines_case{"contributions_in_coroutines", &contributions_in_coroutines};

// What is wrong ends the job with a line that names it: see CMakeLists.txt.
struct wrong : array_element<wrong, index<1>> {
  void give_length(callback<std::vector<int>> target) {
    contribute(std::vector<int>(static_cast<std::size_t>(3 + this_index()[0])), elementwise(sum), target);
  }
  std::vector<int> length() { return std::vector<int>(static_cast<std::size_t>(3 + this_index()[0])); }
  void give_kind(section_name of, callback<> target) {
    if (this_index()[0] % 2 == 0)
      contribute(of, 1, sum, target);
    else
      contribute(of, 1.0, sum, target);
  }
  void give_kind_of_all(callback<> target) {
    if (this_index()[0] == 0)
      contribute(1, sum, target);
    else
      contribute(1, maximum, target);
  }
};
void crash_lengths_of_contributions() {
  auto all = make_array<wrong>({2}, round_robin());
  future<std::vector<int>> never;
  all.broadcast<&wrong::give_length>(callback<std::vector<int>>(never.get_promise()));
  static_cast<void>(never.get());
}
const case_entry lengths_case{"crash_lengths_of_contributions", &crash_lengths_of_contributions};
void crash_lengths_of_reduction() {
  static_cast<void>(make_array<wrong>({2}, round_robin()).reduce<&wrong::length>(elementwise(sum)).get());
}
const case_entry reduced_lengths_case{"crash_lengths_of_reduction", &crash_lengths_of_reduction};
void crash_kinds_of_contributions() {
  auto all = make_array<wrong>({2}, round_robin());
  future<void> never;
  all.broadcast<&wrong::give_kind_of_all>(never.get_promise());
  never.get();
}
const case_entry kinds_case{"crash_kinds_of_contributions", &crash_kinds_of_contributions};
void crash_kinds_of_section() {
  auto all = make_array<wrong>({2}, round_robin());
  future<void> never;
  const auto part = all.select({0, 1});
  part.multicast<&wrong::give_kind>(part.name(), callback<>(never.get_promise()));
  never.get();
}
const case_entry section_kinds_case{"crash_kinds_of_section", &crash_kinds_of_section};

}  // namespace
}  // namespace tri::testing
