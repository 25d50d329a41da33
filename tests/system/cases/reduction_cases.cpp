// Every reducer, to a future and to a method; sections; broadcasts.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <tuple>

#include "system/cases/cases.hpp"

namespace tri::testing {
namespace {

constexpr int n = 29;

struct collector : array_element<collector, index<1>> {
  std::vector<std::string> log;
  promise<int> done;
  void expect_result(promise<int> whom) { done = whom; }
  void result(int value) { done.set(value); }
};

struct item : array_element<item, index<1>> {
  int i = this_index()[0];
  int calls = 0;
  int number() { return i; }
  unsigned bit() { return 1u << i; }
  unsigned not_bit() { return ~(1u << i); }
  bool below(int limit) { return i < limit; }
  double factor() { return i == 3 ? 5.0 : 1.0 + (i % 2 == 0 ? 1.0 : -0.5); }
  std::string word() { return std::string(static_cast<std::size_t>(i + 1), static_cast<char>('a' + i % 26)); }
  std::tuple<int, int, double, bool> several_of(double scale) { return {i, i, scale * i, i < 100}; }
  double awkward() { return i % 2 == 0 ? 1e16 : 1.0 + i; }
  void bump(std::string text) { calls += static_cast<int>(text.size()); }
  int count() { return calls; }
  void start(int round, callback<int> target) {
    contribute(i + round, sum, target);
    contribute(i * round, maximum, target);
  }
  task<int> late(int step) {
    co_await after(std::chrono::microseconds(10 * i));
    co_return i + step;
  }
};

void reducers() {
  auto items = make_array<item>({n}, round_robin());
  check_equal(items.reduce<&item::number>(sum).get(), n * (n - 1) / 2);
  check_equal(items.reduce<&item::number>(minimum).get(), 0);
  check_equal(items.reduce<&item::number>(maximum).get(), n - 1);
  double expected_product = 1;
  for (int i = 0; i < n; ++i) expected_product *= i == 3 ? 5.0 : 1.0 + (i % 2 == 0 ? 1.0 : -0.5);
  check_equal(items.reduce<&item::factor>(product).get(), expected_product);  // exact: powers of two and one 5
  check_equal(items.reduce<&item::below>(logical_and, n).get(), true);
  check_equal(items.reduce<&item::below>(logical_and, n - 1).get(), false);
  check_equal(items.reduce<&item::below>(logical_or, 1).get(), true);
  check_equal(items.reduce<&item::below>(logical_or, 0).get(), false);
  check_equal(items.reduce<&item::bit>(bit_or).get(), (1u << n) - 1);
  check_equal(items.reduce<&item::not_bit>(bit_and).get(), ~((1u << n) - 1));
  check_equal(items.reduce<&item::bit>(bit_xor).get(), (1u << n) - 1);
  const auto words = items.reduce<&item::word>(gather).get();
  check_equal(words.size(), std::size_t{n});
  for (int i = 0; i < n; ++i)
    check_equal(words[static_cast<std::size_t>(i)],
                std::string(static_cast<std::size_t>(i + 1), static_cast<char>('a' + i % 26)));
  std::string joined;
  for (const auto& word : words) joined += word;
  check_equal(items.reduce<&item::word>(ordered(sum)).get(), joined);
  double in_order = 1e16;
  for (int i = 1; i < n; ++i) in_order += i % 2 == 0 ? 1e16 : 1.0 + i;
  check_equal(items.reduce<&item::awkward>(ordered(sum)).get(), in_order);
  const auto [low, high, total, all] =
      items.reduce<&item::several_of>(several(minimum, maximum, sum, logical_and), 0.5).get();
  check_equal(low, 0);
  check_equal(high, n - 1);
  check_equal(total, 0.25 * n * (n - 1));
  check_equal(all, true);
  check_equal(items
                  .reduce<&item::number>(
                      by([](int a, int b) { return a * 31 % 1009 + b * 31 % 1009 > 0 ? std::max(a, b) : 0; }))
                  .get(),
              n - 1);
  check_equal(items.reduce<&item::late>(sum, 3).get(), n * (n - 1) / 2 + 3 * n);
}
const case_entry reducers_case{"reducers", &reducers};

void to_methods() {
  auto items = make_array<item>({n});
  auto collectors = make_array<collector>({pe_count()});
  for (int c = 0; c < pe_count(); ++c) {
    future<int> done;
    collectors(c).call<&collector::expect_result>(done.get_promise()).get();
    items.reduce_to<&item::number>(sum, to<&collector::result>(collectors(c)));
    check_equal(done.get(), n * (n - 1) / 2);
  }
  for (int round = 1; round < 5; ++round) {  // two contributions per round, in the same order everywhere
    future<int> first;
    auto sink = make_array<collector>({1});
    sink(0).call<&collector::expect_result>(first.get_promise()).get();
    items.broadcast<&item::start>(round, to<&collector::result>(sink(0)));
    const int found = first.get();  // whichever comes first
    check(found == n * (n - 1) / 2 + n * round || found == (n - 1) * round, "contribution " + std::to_string(found));
  }
  quiescence().get();
}
const case_entry to_methods_case{"reductions_to_methods", &to_methods};

void broadcasts() {
  auto items = make_array<item>({n}, round_robin());
  const std::string text = "text that needs a block";
  for (int i = 0; i < 50; ++i) items.broadcast<&item::bump>(text);
  const auto counts = items.reduce<&item::count>(gather).get();  // after all broadcasts: they are in one order
  for (const int count : counts) check_equal(count, 50 * static_cast<int>(text.size()));
}
const case_entry broadcasts_case{"broadcasts", &broadcasts};

void sections() {
  auto items = make_array<item>({n}, round_robin());
  std::vector<index<1>> odd;
  for (int i = 1; i < n; i += 2) odd.push_back({i});
  const auto part = items.select(odd);
  for (int i = 0; i < 10; ++i) part.multicast<&item::bump>(std::string("abc"));
  quiescence().get();
  const auto counts = items.reduce<&item::count>(gather).get();
  for (int i = 0; i < n; ++i) check_equal(counts[static_cast<std::size_t>(i)], i % 2 == 1 ? 30 : 0);
  check_equal(part.reduce<&item::number>(sum).get(), (n / 2) * (n / 2));
  check_equal(part.reduce<&item::word>(ordered(sum)).get().size(), static_cast<std::size_t>((n / 2) * (n / 2) + n / 2));
}
const case_entry sections_case{"sections", &sections};

}  // namespace
}  // namespace tri::testing
