// Ghost cells of global arrays on every PE of a job: what they show after an exchange, that no barrier is needed around
// it, and what it sends.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "arrays/spmd_cases.hpp"
#include "trireme/arrays.hpp"
#include "trireme/objects.hpp"

namespace tri::testing {
namespace {

constexpr std::int64_t untouched = -1;

template <int N>
std::int64_t value_of(const position<N>& at, std::int64_t round) {
  std::int64_t value = round;
  for (int d = 0; d < N; ++d) value = value * 100 + at[d];
  return value;
}

/// The element that a cell at this position shows, or nothing: it lies behind an edge.
template <int N>
std::optional<position<N>> shown_at(const arrays::layout<N>& where, position<N> at) {
  for (int d = 0; d < N; ++d) {
    const std::int64_t extent = where.extents()[d];
    if (where.is_ring(d)) at[d] = (at[d] + extent) % extent;
  }
  if (!where.contains(at)) return std::nullopt;
  return at;
}

/// Calls f(cell, position in the array) for each ghost cell of a tile that is at most `widths` away.
template <int N, class F>
void for_each_ghost_cell(const local_tile<std::int64_t, N>& tile, const position<N>& widths, F&& f) {
  position<N> extents = tile.elements().extents();
  for (int d = 0; d < N; ++d) extents[d] += 2 * widths[d];
  for (std::int64_t i = 0; i < extents.volume(); ++i) {
    position<N> at = arrays::position_of(i, extents);
    for (int d = 0; d < N; ++d) at[d] += tile.elements().first[d] - widths[d];
    if (!tile.elements().contains(at)) f(tile.at(at), at);
  }
}

template <int N>
void expect_halo(const global_array<std::int64_t, N>& a, const position<N>& widths, std::int64_t round) {
  for (const auto tile : a.own_tiles())
    for_each_ghost_cell<N>(tile, a.where().how().halo, [&](std::int64_t cell, const position<N>& at) {
      bool is_near = true;
      for (int d = 0; d < N; ++d)
        is_near =
            is_near && at[d] >= tile.elements().first[d] - widths[d] && at[d] < tile.elements().last[d] + widths[d];
      const auto shown = is_near ? shown_at(a.where(), at) : std::nullopt;
      check_equal(cell, shown ? value_of(*shown, round) : untouched);
    });
}

template <int N>
void write_own(const global_array<std::int64_t, N>& a, std::int64_t round) {
  for_each_own(a, [&](const position<N>& at, std::int64_t& element) { element = value_of(at, round); });
}

template <int N, class... Options>
void exchange_and_compare(const position<N>& extents, const Options&... options) {
  const global_array<std::int64_t, N> a(extents, options...);
  for (const auto tile : a.own_tiles())
    for_each_ghost_cell<N>(tile, a.where().how().halo,
                           [](std::int64_t& cell, const position<N>&) { cell = untouched; });
  write_own(a, 1);
  position<N> narrow = a.where().how().halo;
  for (int d = 0; d < N; ++d) narrow[d] = std::min<std::int64_t>(narrow[d], 1);
  a.exchange_halo(1).get();
  expect_halo(a, narrow, 1);
  write_own(a, 2);
  a.exchange_halo().get();
  expect_halo(a, a.where().how().halo, 2);
  for_each_own(a, [](const position<N>& at, std::int64_t element) { check_equal(element, value_of(at, 2)); });
  barrier().get();
  write_own(a, 3);
  barrier().get();
  a.get_halo().get();  // the others do not take part
  expect_halo(a, a.where().how().halo, 3);
  barrier().get();
  a.free().get();
}

void ghost_cells_show_their_elements() {
  const int pes = pe_count();
  exchange_and_compare(position<1>(23), tiles(3), halo(2));
  exchange_and_compare(position<1>(23), halo(5), periodic());
  exchange_and_compare(position<1>(7), tiles(2), halo(7), periodic());  // wider than tiles, as wide as the array
  exchange_and_compare(position<2>(9, 11), halo(1));
  exchange_and_compare(position<2>(9, 11), tiles(2, 3), halo(2, 1), periodic(true, false));
  exchange_and_compare(position<2>(9, 11), tiles(2, 3), halo(1, 3), periodic(), grid(pes, 1));
  exchange_and_compare(position<2>(9, 11), tiles(1, 1), halo(2));
  exchange_and_compare(position<2>(8, 8), tiles(4, 4), halo(0, 2), periodic(false, true));
  exchange_and_compare(position<3>(6, 5, 7), tiles(2, 3, 2), halo(1), periodic(true, true, false));
  exchange_and_compare(position<3>(6, 5, 7), halo(2), periodic());
  exchange_and_compare(position<4>(3, 4, 3, 2), tiles(2, 2, 2, 2), halo(1), periodic(false, true, false, true));
  exchange_and_compare(position<2>(0, 5), halo(0, 2));
  if (process_count() % sched::this_pe().job().hosts() == 0)
    exchange_and_compare(position<2>(12, 10), tiles(2, 2), host_tiles(4, 6), halo(1), periodic());
}

void yield_some_times(std::mt19937& random) {
  for (auto times = random() % 50; times > 0; --times) std::this_thread::yield();
}

// Each PE writes, exchanges and reads, at its own pace: it must see the values of this round, of all neighbours, though
// those may have gone on to write the next ones.
void no_barrier_is_needed() {
  const global_array<std::int64_t, 2> a({6, 13}, tiles(2, 3), halo(1), periodic(true, false));
  for (const auto tile : a.own_tiles())
    for_each_ghost_cell<2>(tile, {1, 1}, [](std::int64_t& cell, const position<2>&) { cell = untouched; });
  std::mt19937 random(static_cast<std::uint32_t>(this_pe()));
  for (int round = 1; round <= 60; ++round) {
    write_own(a, round);
    future<void> exchanged = a.exchange_halo();
    yield_some_times(random);
    exchanged.get();
    yield_some_times(random);
    expect_halo<2>(a, {1, 1}, round);
  }
  a.free().get();
}

// Two under way at once: the second one's values come last.
void exchanges_overlap() {
  const global_array<std::int64_t, 1> a(position<1>(4 * pe_count()), halo(1), periodic());
  for (int round = 1; round <= 20; ++round) {
    write_own(a, 10 * round);
    future<void> first = a.exchange_halo();
    write_own(a, 10 * round + 1);
    future<void> second = a.exchange_halo();
    second.get();
    check(first.ready(), "exchanges end in their order");
    expect_halo<1>(a, position<1>(1), 10 * round + 1);
  }
  a.free().get();
}

// PE 0 is late with the array, and with each exchange: the others' cells wait for it.
void cells_that_come_early() {
  if (this_pe() == 0) team::world().reduce(1, sum, 0).get();  // all have sent
  const global_array<std::int64_t, 1> a(position<1>(4 * pe_count()), halo(2), periodic());
  write_own(a, 1);
  if (this_pe() != 0) {
    future<void> exchanged = a.exchange_halo();
    team::world().reduce(1, sum, 0).get();
    exchanged.get();
  } else {
    for (const auto tile : a.own_tiles())
      for_each_ghost_cell<1>(tile, position<1>(2), [](std::int64_t cell, const position<1>&) {
        check_equal(cell, 0);  // nothing comes before this PE exchanges
      });
    a.exchange_halo().get();
  }
  expect_halo<1>(a, position<1>(2), 1);
  barrier().get();
  a.free().get();
}

// One message for each neighbouring PE, whatever the number of tiles; none for what lies on this PE.
void one_message_for_each_neighbour() {
  const global_array<std::int64_t, 2> a({12, 14}, tiles(2, 2), halo(1), periodic());
  std::set<int> neighbours;
  for (const auto tile : a.own_tiles())
    for_each_ghost_cell<2>(tile, {1, 1}, [&](std::int64_t, const position<2>& at) {
      neighbours.insert(a.owner(*shown_at(a.where(), at)));
    });
  neighbours.erase(this_pe());
  barrier().get();
  const auto sent = [] { return sched::this_pe().counters().sent_to_others.read(); };
  const std::uint64_t before = sent();
  future<void> exchanged = a.exchange_halo();
  check_equal(sent() - before, neighbours.size());
  exchanged.get();
  barrier().get();
  const auto is_far = [](int pe) { return !sched::this_pe().job().is_on_own_host(pe); };
  const std::uint64_t before_get = sent();
  future<void> fetched = a.get_halo();
  check_equal(sent() - before_get, static_cast<std::uint64_t>(std::ranges::count_if(neighbours, is_far)));
  fetched.get();
  barrier().get();
  a.free().get();
}

struct holder : group_member<holder> {
  task<std::int64_t> exchanges(global_array<std::int64_t, 2> array) {
    for_each_own(array, [](const position<2>& at, std::int64_t& element) { element = value_of(at, 3); });
    co_await array.exchange_halo();
    expect_halo<2>(array, {1, 2}, 3);
    co_return array.where().how().halo[1];
  }
};

// The handle has the halo; coroutines exchange.
void handles_have_the_halo() {
  if (this_pe() == 0) {
    const auto members = make_group<holder>();
    const auto a = make_global_array<std::int64_t>(position<2>(7, 9), tiles(3, 3), halo(1, 2), periodic());
    std::vector<future<std::int64_t>> widths;
    for (int pe = 0; pe < pe_count(); ++pe) widths.push_back(members[pe].call<&holder::exchanges>(a));
    for (auto& width : widths) check_equal(width.get(), 2);
    a.free().get();
  }
  barrier().get();
}

// Sections, single elements and whole tiles of an array with a halo.
void elements_lie_between_ghost_cells() {
  const global_array<std::int64_t, 2> a({10, 8}, tiles(4, 3), halo(2, 1));
  for (const auto tile : a.own_tiles()) {
    check_equal(tile.leading_dimension(), 3 + 2 * 1);
    for (std::int64_t i = 0; i < tile.extent(0); ++i)
      for (std::int64_t j = 0; j < tile.extent(1); ++j) {
        std::int64_t& element = tile.data()[i * tile.leading_dimension() + j];
        const position<2> at(tile.elements().first[0] + i, tile.elements().first[1] + j);
        check(&element == &tile(i, j) && &element == a.local(at) && &element == &tile.at(at), "one place");
        check(a.tile_at(at).data() == tile.data() && a.tile_at(at).elements() == tile.elements(), "one tile");
        element = value_of(at, 4);
      }
    tile(-2, -1) = tile(tile.extent(0) + 1, tile.extent(1)) = untouched;  // the first and the last ghost cell
  }
  barrier().get();
  std::vector<std::int64_t> all(80);
  a.get({{0, 0}, {10, 8}}, all.data()).get();
  for (std::int64_t i = 0; i < 80; ++i) check_equal(all[static_cast<std::size_t>(i)], value_of<2>({i / 8, i % 8}, 4));
  const int other = pe_count() - 1;  // has tiles: there are 9, and at most 8 PEs
  for (std::int64_t i = 0; i < 80; ++i)
    if (const position<2> at(i / 8, i % 8); a.owner(at) == other && a.local(at) == nullptr)
      expect_throws([&] { (void)a.tile_at(at); }, "is not accessible here: it is on another host");
  const auto b = redistribute(a, tiles(3, 2), halo(1));
  const auto c = redistribute(b, grid(pe_count(), 1));
  for_each_own(c, [](const position<2>& at, std::int64_t element) { check_equal(element, value_of(at, 4)); });
  barrier().get();
  for (const auto& array : {a, b, c}) array.free().get();
}

thread_local std::vector<future<void>> begun_late;
void exchange_late(global_array<std::int64_t, 1> array) {
  try {
    begun_late.push_back(array.exchange_halo());
  } catch (const std::logic_error& error) {  // the notification of the free came first
    check(std::string(error.what()).find("was freed") != std::string::npos, error.what());
  }
}
void answer(promise<int> to) { to.set(1); }

// PE 0 frees the array while the others' cells are under way to it: they are dropped, and exchanges that wait for PE 0
// fail when the others hear of it.
void freed_during_exchanges() {
  if (this_pe() == 0) {
    const auto array = make_global_array<std::int64_t>(position<1>(2 * pe_count()), halo(1), periodic());
    for (int pe = 1; pe < pe_count(); ++pe) tri::send<&exchange_late>(pe, array);
    array.free().get();  // runs no message before
    for (int pe = 1; pe < pe_count(); ++pe) {
      future<int> back;
      tri::send<&answer>(pe, back.get_promise());
      back.get();
    }
  }
  barrier().get();
  const bool is_neighbour = this_pe() == 1 || this_pe() == pe_count() - 1;
  for (future<void>& one : begun_late) {
    if (is_neighbour)
      expect_throws([&] { one.get(); }, "was freed");
    else
      try {
        one.get();
      } catch (const remote_error& error) {
        check(std::string(error.what()).find("was freed") != std::string::npos, error.what());
      }
  }
  begun_late.clear();
  barrier().get();
}

// The answers find an array that has no memory any more.
void freed_while_ghost_cells_are_fetched() {
  for (int round = 0; round < 5; ++round) {
    const auto array = make_global_array<std::int64_t>(position<1>(2 * pe_count()), halo(1), periodic());
    future<void> fetched = array.get_halo();
    array.free().get();
    try {
      fetched.get();
    } catch (const remote_error& error) {
      check(std::string(error.what()).find("was freed") != std::string::npos, error.what());
    }
  }
  barrier().get();
}

void errors() {
  const global_array<int, 2> none({4, 4});
  expect_throws([&] { (void)none.exchange_halo(); }, "it has no ghost cells to exchange (tri::halo)");
  expect_throws([&] { (void)none.get_halo(); }, "it has no ghost cells to exchange (tri::halo)");
  const global_array<int, 2> narrow({4, 4}, halo(1, 0));
  expect_throws([&] { (void)narrow.exchange_halo(2); }, "a halo of width 2 was asked for; it has one of (1, 0)");
  expect_throws([&] { (void)narrow.exchange_halo(-1); }, "a halo of width -1 was asked for");
  narrow.exchange_halo(0).get();
  narrow.free().get();
  expect_throws([&] { (void)narrow.exchange_halo(); }, "was freed");
  expect_throws([] { global_array<int, 2>({4, 4}, periodic(true)); }, "as many arguments as it has dimensions");
  none.free().get();
}

// Ends the job: PE 0 gives another width.
void widths_differ() {
  const global_array<int, 2> a({8, 8}, halo(2), periodic());
  a.exchange_halo(this_pe() == 0 ? 1 : 2).get();
  barrier().get();
}

constexpr test_case when_named[] = {{"widths_differ", &widths_differ}};
constexpr test_case cases[] = {{"ghost_cells_show_their_elements", &ghost_cells_show_their_elements},
                               {"no_barrier_is_needed", &no_barrier_is_needed},
                               {"exchanges_overlap", &exchanges_overlap},
                               {"cells_that_come_early", &cells_that_come_early},
                               {"one_message_for_each_neighbour", &one_message_for_each_neighbour},
                               {"handles_have_the_halo", &handles_have_the_halo},
                               {"elements_lie_between_ghost_cells", &elements_lie_between_ghost_cells},
                               {"freed_during_exchanges", &freed_during_exchanges},
                               {"freed_while_ghost_cells_are_fetched", &freed_while_ghost_cells_are_fetched},
                               {"errors", &errors}};

}  // namespace
}  // namespace tri::testing

int main(int argc, char** argv) {
  return tri::testing::run_cases(tri::testing::cases, argc, argv, tri::testing::when_named);
}
