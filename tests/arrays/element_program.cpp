// Updates of single elements without a wait, whole arrays and sections that are filled and copied, and PEs that do not
// agree on an array; on every PE of a job.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "arrays/spmd_cases.hpp"
#include "trireme/arrays.hpp"
#include "trireme/objects.hpp"

namespace tri::testing {
namespace {

struct updater : group_member<updater> {
  // One coroutine at a time works on element `at`.
  task<int> updates(global_array<std::int64_t, 1> a, std::int64_t at) {
    a(at) = 12;
    check_equal(co_await a(at).fetch_add_async(3), 12);
    check_equal(co_await a(at).fetch_and_async(14), 15);
    check_equal(co_await a(at).fetch_or_async(1), 14);
    check_equal(co_await a(at).fetch_xor_async(2), 15);
    check_equal(co_await a(at).fetch_min_async(7), 13);
    check_equal(co_await a(at).fetch_max_async(9), 7);
    check_equal(co_await a(at).exchange_async(20), 9);
    check_equal(co_await a(at).compare_exchange_async(19, 1), 20);
    check_equal(co_await a(at).compare_exchange_async(20, 21), 20);
    ++a(at);
    --a(at);
    ++a(at);
    check_equal(co_await a.get(position<1>(at)), 22);
    co_return 1;
  }
};

void updates_without_a_wait() {
  const global_array<std::int64_t, 1> a(position<1>(pe_count()), tiles(1));
  barrier().get();
  if (this_pe() == 0) {
    const auto members = make_group<updater>();
    for (int pe = 0; pe < pe_count(); ++pe)
      for (const int at : {0, pe_count() - 1}) check_equal(members[pe].call<&updater::updates>(a, at).get(), 1);
  }
  barrier().get();
  a(0) = 5;
  barrier().get();
  if (this_pe() == pe_count() - 1) {
    check_equal(a(0)++, 5);
    check_equal(a(0)--, 6);
    check_equal(std::int64_t{++a(0)}, 6);
    check_equal(std::int64_t{--a(0)}, 5);
  }
  barrier().get();
  a.free().get();
}

void arrays_are_filled() {
  const global_array<double, 2> a({9, 7}, tiles(2, 3), halo(1));
  a.fill(2.5);
  barrier().get();
  std::vector<double> all(63);
  a.get({{0, 0}, {9, 7}}, all.data()).get();
  check(std::ranges::all_of(all, [](double one) { return one == 2.5; }), "all elements have the value");
  for (const auto tile : a.own_tiles()) check_equal(tile(-1, -1), 0.0);  // not ghost cells
  a.free().get();
}

void sections_are_copied() {
  std::mt19937 random(5);  // the same on all PEs
  const auto draw = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1));
  };
  const global_array<std::int32_t, 2> from({20, 15}, tiles(3, 4));
  for_each_own(from, [](const position<2>& at, std::int32_t& element) {
    element = static_cast<std::int32_t>(at[0] * 100 + at[1] + 1);
  });
  for (int round = 0; round < 20; ++round) {
    const global_array<std::int32_t, 2> to({17, 23}, tiles(1 + draw(4), 1 + draw(4)), halo(round % 2));
    const position<2> extents(draw(17), draw(15));
    const position<2> first(draw(20 - extents[0]), draw(15 - extents[1]));
    const position<2> there(draw(17 - extents[0]), draw(23 - extents[1]));
    const region<2> box(first, {first[0] + extents[0], first[1] + extents[1]});
    const region<2> target(there, {there[0] + extents[0], there[1] + extents[1]});
    copy(from, box, to, there);
    for_each_own(to, [&](const position<2>& at, std::int32_t element) {
      const std::int64_t row = at[0] - there[0] + first[0], column = at[1] - there[1] + first[1];
      check_equal(element, target.contains(at) ? static_cast<std::int32_t>(row * 100 + column + 1) : 0);
    });
    to.free().get();
  }
  copy(from, {{0, 0}, {5, 15}}, from, {10, 0});
  for_each_own(from, [](const position<2>& at, std::int32_t element) {
    const std::int64_t row = at[0] >= 10 && at[0] < 15 ? at[0] - 10 : at[0];
    check_equal(element, static_cast<std::int32_t>(row * 100 + at[1] + 1));
  });
  expect_throws([&] { copy(from, {{0, 0}, {5, 15}}, from, {4, 0}); }, "onto elements of itself");
  expect_throws([&] { copy(from, {{0, 0}, {5, 16}}, from, {10, 0}); }, "does not lie in the extents (20, 15)");
  expect_throws([&] { copy(from, {{0, 0}, {5, 15}}, from, {16, 0}); }, "the region from (16, 0) to (21, 15)");
  from.free().get();
}

// Host 1 makes an array of another type of the same size, then of other dimensions: found out at the first access.
template <class Here, class There>
void expect_disagreement(const Here& make_here, const There& make_there) {
  const sched::runtime& job = sched::this_pe().job();
  const auto access_element_0 = [](const auto& made) {
    using element = typename std::decay_t<decltype(made)>::value_type;
    return element{made[{}]};
  };
  const bool is_there = job.host() == 1;
  const auto use = [&](const auto& made) {
    barrier().get();
    if (is_there && this_pe() == job.first_pe_of(1))
      expect_throws([&] { (void)access_element_0(made); }, "has another type, other extents or another distribution");
    barrier().get();
    made.free().get();
  };
  if (is_there)
    use(make_there());
  else
    use(make_here());
}
void types_and_dimensions_must_be_alike() {
  if (sched::this_pe().job().hosts() == 1) {
    const sched::runtime& job = sched::this_pe().job();
    if (job.pes() == 1) return;
    // On one host at once, where the second one makes it.
    if (this_pe() == 0) (void)global_array<double, 1>(position<1>(8), tiles(2));
    team::world().barrier().get();
    if (this_pe() != 0)
      expect_throws([] { global_array<std::int64_t, 1>(position<1>(8), tiles(2)); }, "has another type");
    team::world().barrier().get();
    return;
  }
  const auto doubles = [] { return global_array<double, 1>(position<1>(8), tiles(2)); };
  expect_disagreement(doubles, [] { return global_array<std::int64_t, 1>(position<1>(8), tiles(2)); });
  expect_disagreement(doubles, [] { return global_array<double, 2>({8, 1}, tiles(2, 1)); });
  expect_disagreement(doubles, [] { return global_array<double, 1>(position<1>(8), tiles(2), halo(1)); });
}

// PE 0 has no memory for its piece: requests of others fail, and do not wait for it.
void an_array_without_memory() {
  constexpr std::int64_t elements = std::int64_t{1} << 40;  // all on PE 0
  std::optional<global_array<std::int64_t, 1>> a;
  try {
    a.emplace(position<1>(elements), tiles(elements));
  } catch (const arena::arena_exhausted&) {
  }
  check_equal(a.has_value(), this_pe() != 0);
  if (a) expect_throws([&] { (void)std::int64_t{(*a)(0)}; }, "was freed");
  barrier().get();
}

constexpr test_case cases[] = {{"updates_without_a_wait", &updates_without_a_wait},
                               {"arrays_are_filled", &arrays_are_filled},
                               {"sections_are_copied", &sections_are_copied},
                               {"an_array_without_memory", &an_array_without_memory},
                               {"types_and_dimensions_must_be_alike", &types_and_dimensions_must_be_alike}};

}  // namespace
}  // namespace tri::testing

int main(int argc, char** argv) { return tri::testing::run_cases(tri::testing::cases, argc, argv); }
