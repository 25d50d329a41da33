// Global arrays on every PE of a job, in SPMD style; run by ctest as threads, processes and pretended hosts. Each case
// compares what it reads with what a sequential model says. Prints "<case>: ok".
#include "trireme/arrays.hpp"

#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "support/check.hpp"
#include "trireme/objects.hpp"

namespace tri::testing {
namespace {

std::int64_t value_at(std::int64_t i, std::int64_t j) { return i * 1000 + j; }

template <class F>
void expect_throws(F&& f, std::string_view text) {
  try {
    f();
  } catch (const std::exception& error) {
    check(std::string_view(error.what()).find(text) != std::string_view::npos, error.what());
    return;
  }
  throw std::runtime_error("nothing was thrown; expected: " + std::string(text));
}

void single_values() {
  global_array<std::int64_t, 2> a({13, 17}, tiles(3, 4));
  const int pes = pe_count(), own = this_pe();
  for (std::int64_t i = 0; i < 13; ++i)
    for (std::int64_t j = 0; j < 17; ++j)
      if ((i * 17 + j) % pes == own) a(i, j) = value_at(i, j);
  barrier().get();
  for (std::int64_t i = 0; i < 13; ++i)
    for (std::int64_t j = 0; j < 17; ++j) check_equal(std::int64_t{a(i, j)}, value_at(i, j));
  barrier().get();
  // A PE sees its own writes at once.
  if (own == 0)
    for (std::int64_t j = 0; j < 17; ++j) {
      a(12, j) = j;
      check_equal(std::int64_t{a(12, j)}, j);
      a(12, j) = a(0, j);
      check_equal(std::int64_t{a(12, j)}, value_at(0, j));
    }
  a.free().get();
  expect_throws([&] { a(0, 0) = 1; }, "was freed");
}

void updates() {
  global_array<std::int64_t, 1> a(position<1>(10), tiles(1));
  const int pes = pe_count(), own = this_pe();
  std::vector<bool> seen(static_cast<std::size_t>(pes) * 100);
  for (int round = 0; round < 100; ++round) {
    a(0) += 1;
    a(1) ^= own + 1;
    a(1) ^= own + 1;
    const std::int64_t ticket = a(2).fetch_add(1);
    check(ticket >= 0 && ticket < pes * 100 && !seen[static_cast<std::size_t>(ticket)], "tickets are drawn once");
    seen[static_cast<std::size_t>(ticket)] = true;
    a(3).fetch_max(own * 100 + round);
    a(4) |= std::int64_t{1} << own;
  }
  for (std::int64_t before = a(5);;) {  // an increment by compare and exchange
    const std::int64_t found = a(5).compare_exchange(before, before + 1);
    if (found == before) break;
    before = found;
  }
  barrier().get();
  check_equal(std::int64_t{a(0)}, pes * 100);
  check_equal(std::int64_t{a(1)}, 0);
  check_equal(std::int64_t{a(2)}, pes * 100);
  check_equal(std::int64_t{a(3)}, (pes - 1) * 100 + 99);
  check_equal(std::int64_t{a(4)}, (std::int64_t{1} << pes) - 1);
  check_equal(std::int64_t{a(5)}, pes);
  a.free().get();
}

void own_tiles() {
  const global_array<double, 3> a({5, 7, 6}, tiles(2, 3, 4));
  for_each_own(a, [&](const position<3>& at, double& element) {
    check_equal(a.owner(at), this_pe());
    check(&element == a.local(at), "an own element is where the array says");
    element = static_cast<double>(at[0] * 100 + at[1] * 10 + at[2]);
  });
  std::int64_t elements = 0;
  for (const auto tile : a.own_tiles()) {
    elements += tile.elements().volume();
    check_equal(tile.leading_dimension(), 4);
    check_equal(tile(0, 0, 0), static_cast<double>(tile.elements().first[0] * 100 + tile.elements().first[1] * 10 +
                                                   tile.elements().first[2]));
  }
  check_equal(team::world().allreduce(elements, sum).get(), 5 * 7 * 6);
  barrier().get();
  std::vector<double> whole(5 * 7 * 6);
  a.get({{0, 0, 0}, {5, 7, 6}}, whole.data()).get();
  for (std::int64_t i = 0; i < 5 * 7 * 6; ++i) {
    const position<3> at = arrays::position_of(i, a.extents());
    check_equal(whole[static_cast<std::size_t>(i)], static_cast<double>(at[0] * 100 + at[1] * 10 + at[2]));
  }
  a.free().get();
}

template <int N>
region<N> random_region(std::mt19937& random, const position<N>& extents) {
  region<N> box;
  for (int d = 0; d < N; ++d) {
    box.first[d] = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(extents[d]));
    box.last[d] =
        box.first[d] + 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(extents[d] - box.first[d]));
  }
  return box;
}

// PEs take turns with random sections, puts, sums and single values; all know the model.
template <int N>
void random_sections(const position<N>& extents, const distribution<N>& how, std::uint32_t seed) {
  global_array<std::int32_t, N> a(extents, tile_extents<N>{how.tile}, processor_grid<N>{how.grid},
                                  host_tile_extents<N>{how.host_tile});
  std::mt19937 random(seed);  // the same on all PEs
  std::vector<std::int32_t> model(static_cast<std::size_t>(extents.volume()));
  const position<N> strides = arrays::row_major_strides(extents);
  for (int step = 0; step < 60; ++step) {
    const int actor = static_cast<int>(random() % static_cast<std::uint32_t>(pe_count()));
    const region<N> box = random_region(random, extents);
    const bool adds = random() % 2 == 0;
    std::vector<std::int32_t> values(static_cast<std::size_t>(box.volume()));
    for (std::int32_t& value : values) value = static_cast<std::int32_t>(random() % 1000);
    if (this_pe() == actor) (adds ? a.accumulate(box, values.data()) : a.put(box, values.data())).get();
    for (std::int64_t i = 0; i < box.volume(); ++i) {
      position<N> at = arrays::position_of(i, box.extents());
      for (int d = 0; d < N; ++d) at[d] += box.first[d];
      std::int32_t& there = model[static_cast<std::size_t>(arrays::dot(at, strides))];
      there = values[static_cast<std::size_t>(i)] + (adds ? there : 0);
    }
    barrier().get();
    const region<N> read = random_region(random, extents);
    std::vector<std::int32_t> found(static_cast<std::size_t>(read.volume()));
    a.get(read, found.data()).get();
    for (std::int64_t i = 0; i < read.volume(); ++i) {
      position<N> at = arrays::position_of(i, read.extents());
      for (int d = 0; d < N; ++d) at[d] += read.first[d];
      check_equal(found[static_cast<std::size_t>(i)], model[static_cast<std::size_t>(arrays::dot(at, strides))]);
    }
    barrier().get();
  }
  a.free().get();
}

void sections() {
  random_sections<1>(position<1>(100), distribution<1>(tiles(7)), 1);
  random_sections<2>({20, 31}, distribution<2>(tiles(4, 5)), 2);
  random_sections<2>({20, 31}, distribution<2>(), 3);
  random_sections<2>({20, 31}, distribution<2>(tiles(3, 3), grid(pe_count(), 1)), 4);
  random_sections<3>({6, 7, 9}, distribution<3>(tiles(2, 3, 4)), 5);
  if (process_count() % sched::this_pe().job().hosts() == 0)
    random_sections<2>({20, 31}, distribution<2>(tiles(2, 2), host_tiles(4, 6)), 6);
  random_sections<4>({4, 3, 5, 4}, distribution<4>(tiles(2, 2, 2, 2)), 7);
}

// PE 0 is late with the array: requests of the others wait for it.
void early_requests() {
  const int own = this_pe();
  if (own == 0) team::world().reduce(1, sum, 0).get();  // all have asked
  global_array<int, 1> a(position<1>(pe_count()), tiles(1));
  if (own != 0) {
    future<int> early = a.get(position<1>(0));
    a(0) += 1;
    check(!early.ready(), "PE 0 has not made it yet");
    team::world().reduce(1, sum, 0).get();
    check(early.get() >= 0, "a request that came early is answered");
  }
  barrier().get();
  check_equal(int{a(0)}, pe_count() - 1);
  a.free().get();
}

struct receiver : group_member<receiver> {
  // Writes into an array that it knows from a handle only, and reads in a coroutine.
  task<std::int64_t> uses(global_array<std::int64_t, 2> array, int from) {
    array(this_pe(), 0) = from;
    co_await fence();
    std::vector<std::int64_t> column(static_cast<std::size_t>(array.extent(0)));
    co_await array.get({{0, 1}, {array.extent(0), 2}}, column.data());
    std::int64_t total = 0;
    for (const std::int64_t one : column) total += one;
    co_return total;
  }
};

void handles_in_messages() {
  global_array<std::int64_t, 2> a({pe_count(), 2}, tiles(1, 2));
  a(this_pe(), 1) = 7;
  barrier().get();
  if (this_pe() == 0) {
    const auto members = make_group<receiver>();
    for (int pe = 0; pe < pe_count(); ++pe)
      check_equal(members[pe].call<&receiver::uses>(a, pe + 5).get(), 7 * pe_count());
    for (int pe = 0; pe < pe_count(); ++pe) check_equal(std::int64_t{a(pe, 0)}, pe + 5);
  }
  a.free().get();
}

void errors() {
  global_array<int, 2> a({4, 6}, tiles(2, 2));
  expect_throws([&] { a(4, 0) = 1; }, "there is no element (4, 0); the extents are (4, 6)");
  expect_throws([&] { a(0, -1) = 1; }, "there is no element (0, -1)");
  int one = 0;
  expect_throws([&] { (void)a.get({{0, 0}, {5, 1}}, &one); }, "the region from (0, 0) to (5, 1) does not lie");
  if (const auto& job = sched::this_pe().job(); job.hosts() > 1)
    expect_throws([&] { (void)a.tiles_of((this_pe() + job.pes_of_host()) % job.pes()); }, "is on another host");
  barrier().get();
  a.free().get();
  expect_throws([&] { (void)a.get({{0, 0}, {1, 1}}, &one); }, "was freed");
  expect_throws([&] { a(1, 1) += 1; }, "was freed");
  expect_throws([&] { (void)a.own_tiles(); }, "was freed");
}

// Quiescence and the stall report see the main programs of all PEs.
void main_programs_count() {
  if (this_pe() == 0) quiescence().get();
  barrier().get();
}

struct test_case {
  const char* name;
  void (*run)();
};
constexpr test_case cases[] = {{"single_values", &single_values},
                               {"updates", &updates},
                               {"own_tiles", &own_tiles},
                               {"sections", &sections},
                               {"early_requests", &early_requests},
                               {"handles_in_messages", &handles_in_messages},
                               {"errors", &errors},
                               {"main_programs_count", &main_programs_count}};

int run_cases(int argc, char** argv) {
  check_equal(process_count(), std::atoi(argv[1]));
  check_equal(pes_per_process(), std::atoi(argv[2]));
  for (const test_case& one : cases) {
    if (argc > 3 && std::string_view(argv[3]) != one.name) continue;
    one.run();
    if (this_pe() == 0) std::printf("%s: ok\n", one.name);
  }
  return 0;
}

}  // namespace
}  // namespace tri::testing

int main(int argc, char** argv) { return tri::run_everywhere(argc, argv, &tri::testing::run_cases); }
