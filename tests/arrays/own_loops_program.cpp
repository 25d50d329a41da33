// Loops over the elements that a PE has, and loops by affinity, on every PE of a job.
#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "arrays/spmd_cases.hpp"
#include "trireme/arrays.hpp"

namespace tri::testing {
namespace {

std::uint64_t messages_sent() { return sched::this_pe().counters().sent.read(); }

template <int N>
std::int64_t number_of(const position<N>& at, const position<N>& extents) {
  return arrays::dot(at, arrays::row_major_strides(extents));
}

template <int N, class... Options>
void visit_in_parallel(const position<N>& extents, const Options&... options) {
  const global_array<std::int64_t, N> a(extents, options...);
  for (const char* schedule : {"automatic", "dynamic,3", "static"}) {
    a.fill(-1);
    parallel_for_own(
        a,
        [&](const position<N>& at, std::int64_t& element) {
          check_equal(std::exchange(element, number_of(at, a.extents())), -1);  // once
        },
        schedule);
    std::int64_t own = 0;
    for_each_own(a, [&](const position<N>& at, std::int64_t element) {
      check_equal(element, number_of(at, a.extents()));
      ++own;
    });
    check_equal(team::world().allreduce(own, sum).get(), a.size());
  }
  std::mutex lock;
  std::set<std::vector<std::int64_t>> tiles_seen;
  parallel_for_tiles(a, [&](const local_tile<std::int64_t, N>& tile) {
    const std::lock_guard guard(lock);
    const auto& first = tile.elements().first.at;
    check(tiles_seen.emplace(first.begin(), first.end()).second, "each tile is visited once");
  });
  std::size_t tiles_here = 0;
  for (const auto tile : a.own_tiles()) {
    ++tiles_here;
    const auto& first = tile.elements().first.at;
    check(tiles_seen.contains({first.begin(), first.end()}), "all own tiles are visited");
  }
  check_equal(tiles_seen.size(), tiles_here);
  barrier().get();
  a.free().get();
}

void own_elements_in_parallel() {
  visit_in_parallel(position<1>(1000));
  visit_in_parallel(position<1>(101), tiles(7), halo(2));
  visit_in_parallel(position<2>(33, 21), tiles(4, 5));
  visit_in_parallel(position<2>(33, 21), halo(1));
  visit_in_parallel(position<3>(5, 7, 9), tiles(2, 2, 4));
  visit_in_parallel(position<2>(0, 4));
}

// The loop of one PE is run by another one, which waits: this PE's body only goes on when the other has come.
void idle_pes_help() {
  const global_array<int, 1> a(position<1>(64 * pe_count()), tiles(64));
  if (pes_per_process() > 1 && this_pe() == 0) {
    std::atomic<int> arrived{0};
    std::atomic<std::uint64_t> on_others{0};
    parallel_for_own(
        a,
        [&](const position<1>&, int& element) {
          element = this_pe() + 1;
          if (this_pe() != 0) on_others.fetch_add(1);
          arrived.fetch_add(1);
          while (this_pe() == 0 && on_others.load() == 0 && arrived.load() < 64) std::this_thread::yield();
        },
        "dynamic,1");
    check(on_others.load() > 0, "another PE has taken part");
  }
  barrier().get();
  a.free().get();
}

// What runs over own elements is no call of the runtime: here on a thread that is no PE, where such calls throw.
void owned_loops_do_without_the_runtime() {
  const global_array<std::int64_t, 2> a({200, 50}, tiles(32, 8));
  const std::uint64_t before = messages_sent();
  std::thread plain([tiles = a.own_tiles(), &a] {
    expect_throws([&] { (void)std::int64_t{a(0, 0)}; }, "PE");
    for (const auto tile : tiles)
      for (std::int64_t i = 0; i < tile.extent(0); ++i)
        for (std::int64_t j = 0; j < tile.extent(1); ++j)
          tile(i, j) = (tile.elements().first[0] + i) * 50 + tile.elements().first[1] + j;
  });
  plain.join();
  for_each_own(a, [](const position<2>& at, std::int64_t& element) { check_equal(element, at[0] * 50 + at[1]); });
  check_equal(messages_sent(), before);
  barrier().get();
  a.free().get();
}

// As the filtered loop over all iterations, which upc_forall is defined by; each once in the job.
void loops_by_affinity() {
  constexpr std::int64_t count = 97;
  const int pes = pe_count();
  const global_array<int, 1> a(position<1>(120), tiles(4));
  const global_array<int, 2> b({11, 9}, tiles(2, 2));
  const auto b_at = [](std::int64_t i) { return position<2>(i / 9, i % 9); };
  const auto runs_of = [&](auto&& affinity) {
    std::vector<std::int64_t> runs;
    forall(count, affinity, [&](std::int64_t i) { runs.push_back(i); });
    return runs;
  };
  const auto filtered = [&](auto&& is_own) {
    std::vector<std::int64_t> runs;
    for (std::int64_t i = 0; i < count; ++i)
      if (is_own(i)) runs.push_back(i);
    return runs;
  };
  const auto once_in_the_job = [&](const std::vector<std::int64_t>& runs) {
    std::int64_t own = 0;
    for (const std::int64_t i : runs) own += i + 1;
    check_equal(team::world().allreduce(own, sum).get(), count * (count + 1) / 2);
  };
  const std::uint64_t before = messages_sent();
  const auto by_own_number = runs_of(by_number);
  const auto by_array = runs_of(a);
  const auto by_pointer = runs_of([&](std::int64_t i) { return b.pointer_to(b_at(i)); });
  const auto by_element = runs_of([&](std::int64_t i) { return b[b_at(i)]; });
  const auto by_block = runs_of([](std::int64_t i) { return i / 10; });
  check_equal(messages_sent(), before);
  check(by_own_number == filtered([&](std::int64_t i) { return i % pes == this_pe(); }), "by number");
  check(by_array == filtered([&](std::int64_t i) { return a.owner(position<1>(i)) == this_pe(); }), "by array");
  check(by_pointer == filtered([&](std::int64_t i) { return b.owner(b_at(i)) == this_pe(); }), "by pointer");
  check(by_element == by_pointer, "by element");
  check(by_block == filtered([&](std::int64_t i) { return i / 10 % pes == this_pe(); }), "by any number");
  for (const auto& runs : {by_own_number, by_array, by_pointer, by_block}) once_in_the_job(runs);
  check(runs_of(by_all) == filtered([](std::int64_t) { return true; }), "all on each PE");
  expect_throws([&] { forall(121, a, [](int) {}); }, "there is no element (121)");
  barrier().get();
  a.free().get();
  b.free().get();
}

constexpr test_case cases[] = {{"own_elements_in_parallel", &own_elements_in_parallel},
                               {"idle_pes_help", &idle_pes_help},
                               {"owned_loops_do_without_the_runtime", &owned_loops_do_without_the_runtime},
                               {"loops_by_affinity", &loops_by_affinity}};

}  // namespace
}  // namespace tri::testing

int main(int argc, char** argv) { return tri::testing::run_cases(tri::testing::cases, argc, argv); }
