// Global arrays on every PE of a job, in SPMD style; run by ctest as threads, processes and pretended hosts. Each case
// compares what it reads with what a sequential model says. Prints "<case>: ok".
#include "trireme/arrays.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "config/configuration.hpp"
#include "spmd_cases.hpp"
#include "support/check.hpp"
#include "trireme/objects.hpp"

namespace tri::testing {
namespace {

std::int64_t value_at(std::int64_t i, std::int64_t j) { return i * 1000 + j; }

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

// Walks whose steps stay in a tile, cross into others and leave the array: what is known of the tile before must not
// outlast it.
template <class... Options>
void walk(std::uint32_t seed, const Options&... options) {
  global_array<std::int64_t, 2> a({13, 17}, options...);
  for_each_own(a, [](const position<2>& at, std::int64_t& value) { value = value_at(at[0], at[1]); });
  barrier().get();
  std::mt19937 random(seed + static_cast<std::uint32_t>(this_pe()));
  const auto any = [&](std::int64_t first, std::int64_t last) {
    return std::uniform_int_distribution<std::int64_t>(first, last)(random);
  };
  position<2> at(6, 8);
  for (int step = 0; step < 300; ++step) {
    at = step % 20 == 0 ? position<2>(any(0, 12), any(0, 16)) : position<2>(at[0] + any(-1, 1), at[1] + any(-1, 1));
    if (!a.where().contains(at)) {
      expect_throws([&] { (void)a[at].read(); }, "there is no element");
      expect_throws([&] { (void)a.local(at); }, "there is no element");
      at = {6, 8};
    }
    for (int again = 0; again < 2; ++again) check_equal(std::int64_t{a[at]}, value_at(at[0], at[1]));
    check_equal(a[at].owner(), a.owner(at));
    check(a[at].local() == a.local(at), "two addresses of an element");
    if (a.local(at) != nullptr) check_equal(*a.local(at), value_at(at[0], at[1]));
  }
  for (const std::int64_t far : {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()})
    expect_throws([&] { (void)a(far, far).read(); }, "there is no element");
  barrier().get();
  const bool is_here = a.local(at) != nullptr;
  a.free().get();
  if (is_here) expect_throws([&] { (void)a[at].read(); }, "was freed");
}
void walks_through_tiles() {
  walk(1, tiles(3, 4));
  walk(2, tiles(5, 17));
  walk(3);
  walk(4, tiles(1, 1));
  walk(5, tiles(4, 4), grid(1, pe_count()));
  walk(6, tiles(4, 5), halo(1, 2));
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
  global_array<std::int32_t, N> a(extents, how);
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

// Each PE writes rows of its own, wherever they lie, in every way there is, and reads them back: it must see its own
// writes in their order, without fences. The last word is what the model says, for all.
void random_programs() {
  constexpr std::int64_t columns = 23;
  std::mt19937 shared(11);  // the same on all PEs
  std::mt19937 own(static_cast<std::uint32_t>(this_pe()) + 1);
  const std::int64_t rows = 3 * pe_count();
  for (int round = 0; round < 6; ++round) {
    const auto tile = tiles(1 + shared() % 3, 1 + shared() % 9);
    const global_array<std::int64_t, 2> a({rows, columns}, tile);
    std::vector<std::int64_t> model(static_cast<std::size_t>(3 * columns));
    for (int step = 0; step < 300; ++step) {
      const auto mine = static_cast<std::int64_t>(own() % 3);
      const std::int64_t row = mine * pe_count() + this_pe();
      const auto column = static_cast<std::int64_t>(own() % columns);
      const auto last = column + 1 + static_cast<std::int64_t>(own() % static_cast<std::uint64_t>(columns - column));
      const auto value = static_cast<std::int64_t>(own() % 1000);
      const auto of_model = model.begin() + mine * columns;
      switch (own() % 7) {
        case 0:
          a(row, column) = value;
          of_model[column] = value;
          break;
        case 1:
          a(row, column) += value;
          of_model[column] += value;
          break;
        case 2:
          check_equal(a(row, column).exchange(value), of_model[column]);
          of_model[column] = value;
          break;
        case 3:
          check_equal(a(row, column).compare_exchange(of_model[column], value), of_model[column]);
          check_equal(a(row, column).compare_exchange(-1, value + 1), value);
          of_model[column] = value;
          break;
        case 4: {
          const std::vector<std::int64_t> values(static_cast<std::size_t>(last - column), value);
          auto done = a.put({{row, column}, {row + 1, last}}, values.data());
          a(row, column) += 1;  // behind it, though it was not waited for
          std::fill(of_model + column, of_model + last, value);
          of_model[column] += 1;
          done.get();
          break;
        }
        case 5: {
          std::vector<std::int64_t> found(static_cast<std::size_t>(last - column));
          a.get({{row, column}, {row + 1, last}}, found.data()).get();
          check(std::equal(found.begin(), found.end(), of_model + column), "a section has what was written last");
          break;
        }
        default:
          check_equal(std::int64_t{a(row, column)}, of_model[column]);
      }
    }
    barrier().get();
    // Others see the same.
    const int other = (this_pe() + 1) % pe_count();
    std::vector<std::int64_t> theirs(model.size());
    for (std::int64_t mine = 0; mine < 3; ++mine) {
      const std::int64_t row = mine * pe_count() + other;
      a.get({{row, 0}, {row + 1, columns}}, theirs.data() + mine * columns).get();
    }
    std::int64_t total = 0, total_of_theirs = 0;
    for (std::size_t i = 0; i < model.size(); ++i) {
      total += model[i] * static_cast<std::int64_t>(i + 1);
      total_of_theirs += theirs[i] * static_cast<std::int64_t>(i + 1);
    }
    const std::vector<std::int64_t> totals = team::world().allgather(total).get();
    check_equal(total_of_theirs, totals[static_cast<std::size_t>(other)]);
    a.free().get();
  }
}

// PE 0 is late with the array: requests of the others wait for it.
void early_requests() {
  const int own = this_pe();
  if (own == 0) team::world().reduce(1, sum, 0).get();  // all have asked
  global_array<int, 1> a(position<1>(pe_count()), tiles(1));
  if (own != 0) {
    future<int> early = a(0).fetch_add_async(1);
    int more = 5;
    future<void> added = a.accumulate({{0}, {1}}, &more);
    team::world().reduce(1, sum, 0).get();
    const int before = early.get();
    check(before >= 0 && before <= 6 * (pe_count() - 2), "each of the others had added 1 or 6");
    added.get();
  }
  barrier().get();
  check_equal(int{a(0)}, 6 * (pe_count() - 1));
  a.free().get();
}

// A PE writes by a message, because the other has not made its piece; then directly, while the message still waits. The
// two are neighbours in a process, so that they can wait for each other without messages.
void writes_keep_their_order() {
  static std::atomic<int> step{0};
  const bool makes = this_pe() % pes_per_process() == 0;
  const bool writes = this_pe() % pes_per_process() == 1;
  const auto wait_for = [](int until) {
    while (step < until) std::this_thread::yield();
  };
  step = 0;
  barrier().get();
  if (makes && pes_per_process() > 1) wait_for(1);
  global_array<int, 1> a(position<1>(pe_count()), tiles(1));
  const auto neighbour = this_pe() - 1;
  if (makes) step = 2;
  if (writes) {
    a(neighbour) = 1;
    step = 1;
    wait_for(2);
    a(neighbour) = 2;
    check_equal(int{a(neighbour)}, 2);
    fence().get();
    check(a.local(position<1>(neighbour)) != nullptr, "behind a fence accesses are direct");
  }
  if (makes && pes_per_process() > 1) wait_for(2);
  barrier().get();
  if (makes && pes_per_process() > 1) check_equal(int{a(this_pe())}, 2);
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

// A pointer visits the elements in row-major order, across tiles and PEs; from the other end, too.
void pointers() {
  const global_array<std::int64_t, 2> a({5, 7}, tiles(2, 3));
  for_each_own(a, [](const position<2>& at, std::int64_t& element) { element = at[0] * 7 + at[1]; });
  barrier().get();
  global_pointer<std::int64_t> p = a.pointer_to({0, 0});
  for (std::int64_t i = 0; i < 35; ++i, ++p) {
    check_equal(std::int64_t{*p}, i);
    check_equal(p.owner(), a.owner({i / 7, i % 7}));
    check_equal((*p).local() == nullptr, a.local({i / 7, i % 7}) == nullptr);
    if ((*p).local() != nullptr)
      check(static_cast<std::int64_t*>(p) == a.local({i / 7, i % 7}), "a plain pointer");
    else
      expect_throws([&] { (void)static_cast<std::int64_t*>(p); }, "so there is no plain pointer to it");
  }
  check_equal(p - a.pointer_to({0, 0}), 35);
  for (std::int64_t i = 35; i-- > 0;) check_equal(std::int64_t{*--p}, i);
  check(p == a.pointer_to({0, 0}) && p + 8 > p && (p + 8).number() == 8, "pointers are compared by their elements");
  check_equal(std::int64_t{p[34]}, 34);
  expect_throws([&] { (void)p[35]; }, "there is no element number 35; it has 35");
  expect_throws([&] { (void)p[-1]; }, "there is no element number -1");
  expect_throws([] { (void)*global_pointer<int>(); }, "names no array");
  barrier().get();
  if (this_pe() == 0) *(p + 34) = 100;
  barrier().get();
  check_equal(std::int64_t{p[34]}, 100);
  a.free().get();
  expect_throws([&] { (void)*p; }, "was freed");
}

struct user_of_pointers : group_member<user_of_pointers> {
  task<std::int64_t> adds(global_array<std::int64_t, 1> array, global_pointer<std::int64_t> to) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(array.size() - 1));  // the others add to the first
    co_await array.get({{1}, {array.size()}}, all.data());
    array(0) += 1;
    co_await fence();
    co_return std::int64_t{all.back()} + to.number();
  }
};

// Arrays that one PE makes: the others hear of them, or of their handles first.
void made_alone() {
  for (int maker = 0; maker < pe_count(); ++maker) {
    if (this_pe() == maker) {
      const auto members = make_group<user_of_pointers>();
      for (int round = 0; round < 5; ++round) {
        const auto a = make_global_array<std::int64_t>(position<1>(3 * pe_count() + 1), tiles(2));
        a(a.size() - 1) = 40 + round;
        fence().get();
        std::vector<future<std::int64_t>> answers;
        for (int pe = 0; pe < pe_count(); ++pe)
          answers.push_back(members[pe].call<&user_of_pointers::adds>(a, a.pointer_to(position<1>(pe))));
        for (int pe = 0; pe < pe_count(); ++pe)
          check_equal(answers[static_cast<std::size_t>(pe)].get(), 40 + round + pe);
        check_equal(std::int64_t{a(0)}, pe_count());
        a.free().get();
      }
    }
    barrier().get();
  }
}

void grids_and_redistribution() {
  const int pes = pe_count();
  const int columns = pes % 2 == 0 ? 2 : 1;
  const global_array<int, 2> a({8, 9}, tiles(2, 2), grid(pes / columns, columns));
  for_each_own(a, [](const position<2>& at, int& element) { element = static_cast<int>(at[0] * 9 + at[1]); });
  const team row = a.row_team().get();
  const team column = a.column_team().get();
  check_equal(row.size(), columns);
  check_equal(column.size(), pes / columns);
  check_equal(row.rank(), this_pe() % columns);
  check_equal(column.rank(), this_pe() / columns);
  const global_array<int, 2> b = redistribute(a, tiles(3, 5));
  for_each_own(b, [](const position<2>& at, int& element) { check_equal(element, at[0] * 9 + at[1]); });
  barrier().get();
  a.free().get();
  b.free().get();
}

// Fences and barriers under way at the same time, beside collectives of the program; some PEs have something to wait
// for, and others do not.
void fences_and_barriers_overlap() {
  const global_array<std::int64_t, 1> a(position<1>(8 * pe_count()), tiles(8));
  const std::int64_t far = (this_pe() + 1) % pe_count() * 8;
  for (int round = 1; round <= 20; ++round) {
    future<void> first = fence();
    if ((this_pe() + round) % 2 == 0) {
      a(far) = round;
      first = fence();
    }
    future<void> second = fence();
    future<void> all = barrier();
    future<int> sum_of_all = team::world().allreduce(1, sum);
    future<void> again = barrier();
    again.get();
    check(all.ready(), "barriers end in the order in which they were called");
    const std::int64_t from_before =
        (this_pe() + pe_count() - 1 + round) % 2 == 0 || pe_count() == 1 ? round : round - 1;
    if (pe_count() % 2 == 0) check_equal(std::int64_t{a(this_pe() * 8)}, from_before);
    second.get();
    first.get();
    check_equal(sum_of_all.get(), pe_count());
    barrier().get();
  }
  a.free().get();
}

struct holder : group_member<holder> {
  global_array<std::int64_t, 1> kept;
  // The handle comes before the notification, if that comes at all before it.
  task<int> takes(global_array<std::int64_t, 1> array) {
    kept = array;
    int own = 0;
    for_each_own(array, [&](const position<1>& at, std::int64_t& element) {
      check_equal(array.owner(at), this_pe());
      if (at[0] > 0) element += at[0];  // all add to the first one
      ++own;
    });
    array(0) += 100;
    co_await fence();
    co_return own;
  }
  task<int> frees() {
    co_await kept.free();
    co_return 1;
  }
};

// A handle is the same array on each PE of a process; another PE than the one that made it frees it.
void handles_are_of_no_pe() {
  if (this_pe() == 0) {
    const auto members = make_group<holder>();
    for (int round = 0; round < 4; ++round) {
      const auto a = make_global_array<std::int64_t>(position<1>(4 * pe_count()), tiles(2));
      std::vector<future<int>> counts;
      for (int pe = 0; pe < pe_count(); ++pe) counts.push_back(members[pe].call<&holder::takes>(a));
      int elements = 0;
      for (auto& count : counts) elements += count.get();
      check_equal(elements, 4 * pe_count());
      check_equal(std::int64_t{a(0)}, 100 * pe_count());
      check_equal(std::int64_t{a(4 * pe_count() - 1)}, 4 * pe_count() - 1);
      check_equal(members[pe_count() - 1].call<&holder::frees>().get(), 1);
      quiescence().get();
      expect_throws([&] { a(0) = 1; }, "was freed");
    }
  }
  barrier().get();
}

// PE 1 gives other extents than the others of its host.
void arguments_must_be_alike() {
  if (pe_count() == 1 || !sched::this_pe().job().is_on_own_host(0) || !sched::this_pe().job().is_on_own_host(1)) {
    team::world().barrier().get();
    const global_array<int, 1> a(position<1>(10), tiles(2));
    team::world().barrier().get();
    return;
  }
  if (this_pe() == 1) {
    team::world().barrier().get();
    expect_throws([] { global_array<int, 1>(position<1>(11), tiles(2)); },
                  "on another PE of this host: (10) of int in tiles (2) there, (11) of int in tiles (2) here");
  } else {
    const global_array<int, 1> a(position<1>(10), tiles(2));
    team::world().barrier().get();
  }
  team::world().barrier().get();
}

// Host 1 gives other extents than the others: found out at the first access.
void arguments_must_be_alike_on_all_hosts() {
  const sched::runtime& job = sched::this_pe().job();
  const global_array<int, 1> a(position<1>(job.host() == 1 ? 12 : 10), tiles(1));
  barrier().get();
  if (job.hosts() > 1 && this_pe() == job.first_pe_of(1)) {
    // PE 0 or a sibling that serves it.
    expect_throws([&] { (void)int{a(0)}; }, ", (10) of int in tiles (1), than on PE " + std::to_string(this_pe()));
    int one = 0;
    expect_throws([&] { a.get({{0}, {1}}, &one).get(); }, "other extents");
  }
  barrier().get();
  a.free().get();
}

std::atomic<bool> answered{false};
void owner_may_go_on() { answered = true; }

// The owner of an element computes, and takes no messages, until another host has read it: a sibling serves that.
void idle_pes_serve_busy_ones() {
  global_array<int, 1> a(position<1>(pe_count()), tiles(1));
  const sched::runtime& job = sched::this_pe().job();
  a(this_pe()) = this_pe() + 1;
  answered = false;
  barrier().get();
  if (job.hosts() > 1 && pes_per_process() > 1) {
    const int busy = 1, reader = job.first_pe_of(1);
    if (this_pe() == busy)
      while (!answered) std::this_thread::yield();
    if (this_pe() == reader) {
      check_equal(int{a(busy)}, busy + 1);
      a(busy) += 5;
      fence().get();
      tri::send<&owner_may_go_on>(0);
    }
  }
  barrier().get();
  if (job.hosts() > 1 && pes_per_process() > 1) check_equal(int{a(1)}, 7);
  a.free().get();
}

// A PE waits in a loop for its own element, which another host changes; and asks for progress itself.
void loops_that_wait() {
  global_array<int, 1> a(position<1>(2 * pe_count()), tiles(2));
  barrier().get();
  const int next = (this_pe() + 1) % pe_count();
  a(2 * next) = 1;
  while (a(2 * this_pe()) != 1) {
  }
  a(2 * next + 1) = 1;
  fence().get();
  const std::atomic_ref<int> mine(*a.local(position<1>(2 * this_pe() + 1)));
  while (mine.load(std::memory_order_relaxed) != 1) progress();
  barrier().get();
  a.free().get();
}

void empty_arrays() {
  const global_array<int, 2> a({0, 5});
  for_each_own(a, [](const position<2>&, int&) { throw std::logic_error("there are no elements"); });
  a.get({{0, 0}, {0, 5}}, nullptr).get();
  expect_throws([&] { a(0, 0) = 1; }, "there is no element (0, 0)");
  a.free().get();
}

// All have left a barrier that one has left, also if that one takes and sends no messages from then on.
void barriers_let_all_go() {
  global_array<std::int64_t, 1> a(position<1>(pe_count()), tiles(1));
  if (this_pe() == 0) a(0) = static_cast<std::int64_t>(getpid()) << 32 | std::random_device()() >> 1;
  barrier().get();
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("trireme_barrier_{}", std::int64_t{a(0)});
  std::filesystem::create_directories(folder);
  for (int round = 0; round < 5; ++round) {
    barrier().get();
    std::ofstream(folder / fmt::format("{}_{}", round, this_pe())).put('x');
    for (int pe = 0; pe < pe_count(); ++pe)
      while (!std::filesystem::exists(folder / fmt::format("{}_{}", round, pe)))
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  barrier().get();
  if (this_pe() == 0) std::filesystem::remove_all(folder);
  a.free().get();
}

std::atomic<int> computed{0};

// Quiescence waits for main programs that compute.
void main_programs_count() {
  computed = 0;
  barrier().get();
  if (this_pe() == 0) {
    quiescence().get();
    check_equal(computed.load(), pes_per_process() - 1);  // of this process; all others wait in the barrier, too
  } else {
    for (int i = 0; i < 200; ++i) std::this_thread::yield();
    ++computed;
  }
  barrier().get();
}

// As --tri-network-latency-ns and --tri-network-bandwidth say, messages do not arrive before.
void messages_take_their_time() {
  const sched::runtime& job = sched::this_pe().job();
  const std::int64_t latency_ns = job.values().network_latency_ns;
  const auto bytes_per_second = static_cast<double>(job.values().network_bandwidth);
  constexpr std::int64_t words = 1 << 16;
  const global_array<std::int64_t, 1> a(position<1>(words * pe_count()), tiles(words));
  barrier().get();
  if (const int far = job.first_pe_of((job.host() + 1) % job.hosts()); this_pe() == 0 && far != 0) {
    const auto ns_of = [](auto&& access) {
      const auto start = std::chrono::steady_clock::now();
      access();
      return static_cast<std::int64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count());
    };
    check(ns_of([&] { (void)std::int64_t{a(far * words)}; }) >= 2 * latency_ns, "an answer came too soon");
    std::vector<std::int64_t> section(words);
    const std::int64_t ns = ns_of([&] { a.get(region<1>(far * words, (far + 1) * words), section.data()).get(); });
    const double moves_ns = bytes_per_second == 0 ? 0 : 8.0 * words / bytes_per_second * 1e9;
    check(ns >= 2 * latency_ns + static_cast<std::int64_t>(moves_ns), "a section came too soon");
  }
  barrier().get();
  a.free().get();
}

constexpr test_case cases[] = {{"single_values", &single_values},
                               {"messages_take_their_time", &messages_take_their_time},
                               {"walks_through_tiles", &walks_through_tiles},
                               {"updates", &updates},
                               {"own_tiles", &own_tiles},
                               {"sections", &sections},
                               {"random_programs", &random_programs},
                               {"early_requests", &early_requests},
                               {"writes_keep_their_order", &writes_keep_their_order},
                               {"handles_in_messages", &handles_in_messages},
                               {"pointers", &pointers},
                               {"made_alone", &made_alone},
                               {"fences_and_barriers_overlap", &fences_and_barriers_overlap},
                               {"handles_are_of_no_pe", &handles_are_of_no_pe},
                               {"arguments_must_be_alike", &arguments_must_be_alike},
                               {"arguments_must_be_alike_on_all_hosts", &arguments_must_be_alike_on_all_hosts},
                               {"idle_pes_serve_busy_ones", &idle_pes_serve_busy_ones},
                               {"loops_that_wait", &loops_that_wait},
                               {"empty_arrays", &empty_arrays},
                               {"grids_and_redistribution", &grids_and_redistribution},
                               {"errors", &errors},
                               {"barriers_let_all_go", &barriers_let_all_go},
                               {"main_programs_count", &main_programs_count}};

}  // namespace
}  // namespace tri::testing

int main(int argc, char** argv) { return tri::testing::run_cases(tri::testing::cases, argc, argv); }
