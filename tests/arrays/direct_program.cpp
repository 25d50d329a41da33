// Direct accesses to elements of other hosts, in SPMD style; run by ctest with many settings of --tri-rma. Each case
// compares values with what a model says and counters with what the settings allow. Prints "<case>: ok".
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "config/configuration.hpp"
#include "counted_blocks.hpp"
#include "spmd_cases.hpp"
#include "support/check.hpp"
#include "trireme/arrays.hpp"
#include "trireme/detail/arrays/direct_access.hpp"
#include "trireme/detail/os/sanitizer.hpp"
#include "trireme/objects.hpp"

namespace tri::testing {
namespace {

using words = global_array<std::int64_t, 1>;

const config::configuration& settings() { return sched::this_pe().job().values(); }
bool caches() {
  return settings().rma != config::remote_memory_access::off && settings().rma_cache_entries > 0 &&
         sched::this_pe().job().hosts() > 1;
}
/// Pieces can be registered.
bool has_addresses() { return caches() && settings().rma_contiguous_bytes == 0; }
arrays::direct_access_figures figures() { return arrays::direct_accesses_of_process(); }
std::int64_t chunk_words() { return static_cast<std::int64_t>(settings().rma_chunk_bytes / sizeof(std::int64_t)); }
/// The first element of a PE of another host.
std::int64_t first_of_other_host(std::int64_t words_of_pe) {
  const sched::runtime& job = sched::this_pe().job();
  return (job.first_pe_of_host() + job.pes_of_host()) % job.pes() * words_of_pe;
}

// Once more after all have arrived, so that nothing of the case is left under way.
void end_of_case() {
  barrier().get();
  check_equal(figures().invalid_accesses, 0U);
  if (const std::size_t limit = settings().rma_limit_bytes; limit != 0)
    check(figures().most_registered_bytes <= limit, "no more is registered than the limit allows");
  if (caches())
    check(figures().cached <= static_cast<std::uint64_t>(settings().rma_cache_entries), "the cache keeps its size");
  const arrays::direct_access_figures now = figures();
  check_equal(now.kept_keys, settings().rma == config::remote_memory_access::ucx ? now.cached : 0U);
  barrier().get();
}

std::atomic<bool> signalled{false};
void signal() { signalled = true; }
void wait_for_signal() {
  while (!signalled) progress();
  signalled = false;
}

// The second access to the memory of another host runs nothing there: its only PE does not poll until a direct put has
// changed its own element.
void targets_run_nothing() {
  if (!has_addresses() || !settings().rma_cached_puts || pes_per_process() > 1) return;
  const words a(position<1>(2 * pe_count()), tiles(2));
  a(2 * this_pe()) = 10 + this_pe();
  barrier().get();
  const int owner = sched::this_pe().job().first_pe_of(1);
  if (this_pe() == 0) {
    check_equal(std::int64_t{a(2 * owner)}, 10 + owner);  // a miss
    tri::send<&signal>(owner);
    while (std::int64_t{a(2 * owner + 1)} != 1) {
    }
    const auto before = figures();
    for (int i = 0; i < 100; ++i) check_equal(std::int64_t{a(2 * owner)}, 10 + owner);
    check_equal(a.get(2 * owner).get(), 10 + owner);
    std::int64_t both[2];
    a.get({{2 * owner}, {2 * owner + 2}}, both).get();
    check(both[0] == 10 + owner && both[1] == 1, "a section");
    check_equal(figures().gets - before.gets, 102U);
    check_equal(figures().misses, before.misses);
    a(2 * owner + 1) = 2;
    fence().get();
  } else if (this_pe() == owner) {
    wait_for_signal();
    const std::atomic_ref<std::int64_t> flag(*a.local(position<1>(2 * owner + 1)));
    const std::uint64_t before = sched::this_pe().counters().processed.read();
    flag = 1;
    while (flag != 2) std::this_thread::yield();
    check_equal(sched::this_pe().counters().processed.read(), before);
  }
  a.free().get();
  end_of_case();
}

std::uint64_t sent_at_start = 0, sent_at_stop = 0;
void start_to_count() {
  tri::send<&signal>(0);  // requests may be served before a message that came earlier has run
  sent_at_start = sched::this_pe().counters().sent_to_hosts.read();
}
void stop_to_count() {
  sent_at_stop = sched::this_pe().counters().sent_to_hosts.read();
  signalled = true;
}

// A miss takes a message there and one back, as without a cache: the address travels with the reply.
void misses_take_no_messages_more() {
  constexpr int misses = 50;
  const bool everything = settings().rma_registration == config::registration_choice::everything;
  if (everything || settings().rma_limit_bytes != 0) return;  // invalidations are messages
  const std::int64_t of_pe = chunk_words() * misses;
  const words a(position<1>(of_pe * pe_count()), tiles(of_pe));
  barrier().get();
  const int owner = sched::this_pe().job().first_pe_of(1);
  if (this_pe() == 0) {
    const auto before = figures();
    tri::send<&start_to_count>(owner);
    wait_for_signal();
    const std::uint64_t sent = sched::this_pe().counters().sent_to_hosts.read();
    for (int i = 0; i < misses; ++i) check_equal(std::int64_t{a(owner * of_pe + i * chunk_words())}, 0);
    check_equal(sched::this_pe().counters().sent_to_hosts.read() - sent, std::uint64_t{misses});
    tri::send<&stop_to_count>(owner);
    check_equal(figures().misses - before.misses, caches() ? std::uint64_t{misses} : 0U);
  } else if (this_pe() == owner) {
    wait_for_signal();
    if (pes_per_process() == 1)
      check_equal(sent_at_stop - sent_at_start, std::uint64_t{misses});  // or a sibling served
  }
  a.free().get();
  end_of_case();
}

// Puts learn addresses from fences; what a PE has put by a message it reads behind it.
void puts_and_gets_keep_their_order() {
  const words a(position<1>(8 * pe_count()), tiles(8));
  barrier().get();
  const std::int64_t far = first_of_other_host(8) + this_pe() % 8;
  const bool alone = pe_count() <= 8;
  const auto before = figures();
  for (std::int64_t round = 1; round <= 20 && alone; ++round) {
    a(far) = round;  // by a message as long as there is no address
    check_equal(std::int64_t{a(far)}, round);
    future<std::int64_t> read = a.get(far);
    a(far) = -round;
    const std::int64_t found = read.get();
    check_equal(found, round);
    check_equal(a(far).fetch_add(100), -round);
    check_equal(std::int64_t{a(far)}, 100 - round);
    a(far) = 7;
    fence().get();
    check_equal(std::int64_t{a(far)}, 7);
  }
  if (has_addresses() && alone) check(figures().gets > before.gets, "some gets were direct");
  if (has_addresses() && alone && settings().rma_cached_puts)
    check(figures().puts > before.puts, "some puts were direct");
  if (!caches() || !settings().rma_cached_puts) check_equal(figures().puts, 0U);
  if (!caches()) check_equal(figures().gets, 0U);
  barrier().get();
  a.free().get();
  end_of_case();
}

// Three elements in three chunks of 64 MiB register three chunks, at the first access only.
void chunks_are_registered_on_demand() {
  constexpr std::int64_t of_pe = (std::int64_t{64} << 20) / 8;
  if (settings().rma_chunk_bytes < 4096 || settings().rma_limit_bytes != 0) return;
  const words a(position<1>(of_pe * pe_count()), tiles(of_pe));
  barrier().get();
  const auto before = figures();
  barrier().get();
  const int owner = sched::this_pe().job().first_pe_of(1);
  if (this_pe() == 0)
    for (int round = 0; round < 3; ++round)
      for (const std::int64_t at : {std::int64_t{0}, of_pe / 2, of_pe - 1})
        check_equal(std::int64_t{a(owner * of_pe + at)}, 0);
  barrier().get();
  const bool everything = settings().rma_registration == config::registration_choice::everything;
  if (this_pe() == owner && has_addresses()) {
    check_equal(figures().registrations - before.registrations, everything ? 1U : 3U);
    check_equal(figures().registered_bytes - before.registered_bytes,
                everything ? std::uint64_t{of_pe} * 8 : 3 * settings().rma_chunk_bytes);
  }
  if (settings().rma_contiguous_bytes != 0) check_equal(figures().registrations, 0U);  // pieces are longer
  a.free().get();
  barrier().get();
  if (this_pe() == owner && caches()) {
    while (figures().waiting_pieces != 0) progress();
    check_equal(figures().registered_bytes, before.registered_bytes);
  }
  end_of_case();
}

// More chunks than may be registered, and than the cache has entries, in a random order.
void walk_within_the_limits() {
  constexpr std::int64_t chunks = 100;
  const std::int64_t of_pe = chunk_words() * chunks;
  if (of_pe * 8 > (std::int64_t{4} << 20)) return;
  const words a(position<1>(of_pe * pe_count()), tiles(of_pe));
  for_each_own(a, [](const position<1>& at, std::int64_t& element) { element = 3 * at[0]; });
  barrier().get();
  std::mt19937_64 random(static_cast<std::uint64_t>(this_pe()));
  const auto before = figures();
  for (int step = 0; step < 1000; ++step) {
    const auto at = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(of_pe * pe_count()));
    check_equal(std::int64_t{a(at)}, 3 * at);
  }
  const auto after = figures();
  if (has_addresses() && settings().rma_cache_entries < 100) {
    check(after.misses > before.misses && after.insertions > before.insertions, "addresses are learnt");
    if (settings().rma_limit_bytes == 0)  // otherwise invalidations may keep the cache from filling
      check(after.evictions > before.evictions, "the cache is smaller than the walk");
  }
  barrier().get();
  if (caches() && settings().rma_limit_bytes != 0) {
    check(figures().victims > 0, "registered chunks made room");
    check(figures().deregistrations > 0, "and were deregistered");
  }
  a.free().get();
  end_of_case();
}

// Arrays that lie where earlier ones lay: the values are always those of the newest.
void freed_memory_is_used_again() {
  for (std::int64_t round = 0; round < 30; ++round) {
    const std::int64_t of_pe = 40 + round % 3;
    const words a(position<1>(of_pe * pe_count()), tiles(of_pe));
    for_each_own(a, [&](const position<1>& at, std::int64_t& element) { element = 1000 * round + at[0]; });
    barrier().get();
    for (int again = 0; again < 2; ++again)
      for (std::int64_t at = this_pe(); at < a.size(); at += 7) check_equal(std::int64_t{a(at)}, 1000 * round + at);
    if (round % 2 == 0) barrier().get();
    a.free().get();
    bool refused = false;
    try {
      (void)std::int64_t{a(first_of_other_host(of_pe))};
    } catch (const std::logic_error&) {
      refused = true;
    }
    check(refused, "a freed array is not accessed");
  }
  barrier().get();
  while (figures().waiting_pieces != 0) progress();
  if (caches()) check_equal(figures().registrations, figures().deregistrations);
  end_of_case();
}

// All PEs but the last of the job know the address of a chunk of PE 0: the list of those who know it is kept up to a
// number, then all are asked to forget it.
void invalidations_go_to_the_listed_or_to_all() {
  const words a(position<1>(4 * pe_count()), tiles(4));
  barrier().get();
  if (this_pe() != pe_count() - 1) check_equal(std::int64_t{a(0)}, 0);
  barrier().get();
  const auto before = figures();
  a.free().get();
  while (figures().waiting_pieces != 0) progress();
  if (this_pe() == 0 && has_addresses() && pes_per_process() == 1) {
    const auto knowing = static_cast<std::uint64_t>(pe_count() - 2);
    const bool to_all = knowing > static_cast<std::uint64_t>(settings().rma_listed_processes);
    check_equal(figures().broadcasts - before.broadcasts, to_all ? 1U : 0U);
    check_equal(figures().invalidations - before.invalidations, to_all ? knowing + 1 : knowing);
  }
  end_of_case();
}

/// An array and what its elements must be that this PE alone writes: those whose number is its own modulo the PEs.
struct modelled {
  words array;
  std::vector<std::int64_t> model;
};

void random_step(modelled& one, std::mt19937_64& random) {
  const std::int64_t own = static_cast<std::int64_t>(random() % one.model.size());
  const std::int64_t at = own * pe_count() + this_pe();
  std::int64_t& expected = one.model[static_cast<std::size_t>(own)];
  const auto value = static_cast<std::int64_t>(random() % 1000);
  switch (random() % 8) {
    case 0:
    case 1:
      one.array(at) = value;
      expected = value;
      break;
    case 2:
      one.array(at) += value;
      expected += value;
      break;
    case 3:
      check_equal(one.array(at).exchange(value), expected);
      expected = value;
      break;
    case 4: {
      future<std::int64_t> read = one.array.get(at);
      one.array(at) = value;
      check_equal(read.get(), expected);
      expected = value;
      break;
    }
    case 5: {                                                          // what others write meanwhile is not looked at
      if (os::under_thread_sanitizer && pes_per_process() > 1) break;  // but read: ordinary accesses, so a race
      const std::int64_t last = std::min(at + 1 + static_cast<std::int64_t>(random() % 70), one.array.size());
      std::vector<std::int64_t> found(static_cast<std::size_t>(last - at));
      one.array.get({{at}, {last}}, found.data()).get();
      for (std::int64_t i = at; i < last; i += pe_count())
        check_equal(found[static_cast<std::size_t>(i - at)], one.model[static_cast<std::size_t>(i / pe_count())]);
      break;
    }
    case 6:
      if (random() % 4 == 0) fence().get();
      break;
    default:
      check_equal(std::int64_t{one.array(at)}, expected);
  }
}

void random_programs_with_frees() {
  std::mt19937_64 shared(17);  // the same on all PEs
  std::mt19937_64 own(static_cast<std::uint64_t>(this_pe()) + 1);
  std::vector<modelled> live;
  for (int round = 0; round < 40; ++round) {
    if (live.size() < 4 && (live.empty() || shared() % 2 == 0)) {
      const auto of_pe = static_cast<std::int64_t>(20 + shared() % 200);
      const auto tile = static_cast<std::int64_t>(1 + shared() % 50);
      live.push_back({words(position<1>(of_pe * pe_count()), tiles(tile)),
                      std::vector<std::int64_t>(static_cast<std::size_t>(of_pe))});
    } else if (shared() % 3 == 0) {
      const auto victim = static_cast<std::ptrdiff_t>(shared() % live.size());
      const words freed = live[static_cast<std::size_t>(victim)].array;
      live.erase(live.begin() + victim);
      future<void> gone = freed.free();
      if (shared() % 2 == 0 || live.empty()) {
        gone.get();
      } else {
        for (int step = 0; step < 20; ++step) random_step(live[own() % live.size()], own);
        gone.get();
      }
    }
    for (int step = 0; step < 60 && !live.empty(); ++step) random_step(live[own() % live.size()], own);
    if (shared() % 4 == 0) barrier().get();
  }
  for (modelled& one : live) {
    for (std::size_t i = 0; i < one.model.size(); ++i)
      check_equal(std::int64_t{one.array(static_cast<std::int64_t>(i) * pe_count() + this_pe())}, one.model[i]);
    one.array.free().get();
  }
  barrier().get();
  while (figures().waiting_pieces != 0) progress();
  end_of_case();
}

// Direct puts of 2-D sections with few runs, of rows, and packed ones with many.
void sections_are_direct_where_they_are_few_runs() {
  constexpr std::int64_t rows = 40;
  const global_array<std::int64_t, 2> a({rows * pe_count(), 30}, tiles(rows, 30));
  barrier().get();
  const std::int64_t row = first_of_other_host(rows);
  for (int turn = 0; turn < pe_count(); ++turn) {
    barrier().get();
    if (turn != this_pe()) continue;
    std::vector<std::int64_t> values(240), found(240);
    for (int round = 1; round <= 4; ++round) {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1000 * turn + round + static_cast<std::int64_t>(i);
      const region<2> boxes[] = {{{row, 0}, {row + 8, 30}}, {{row + 1, 3}, {row + 4, 9}}, {{row, 5}, {row + 8, 6}}};
      for (const region<2>& box : boxes) {
        const auto count = static_cast<std::ptrdiff_t>(box.volume());
        a.put(box, values.data()).get();
        a.get(box, found.data()).get();
        check(std::equal(values.begin(), values.begin() + count, found.begin()), "a section is what was put");
        fence().get();
      }
      // A column is packed by its owner. Later puts, which may be direct, do not overtake the request.
      a(row + rows - 1, 29) = round;
      fence().get();
      check_equal(std::int64_t{a(row + rows - 1, 28)}, 0);
      future<void> column = a.get({{row, 29}, {row + rows, 30}}, found.data());
      a(row + rows - 1, 29) = -round;
      column.get();
      check_equal(found[rows - 1], round);
    }
  }
  barrier().get();
  if (has_addresses()) check(figures().gets > 0, "some were direct");
  a.free().get();
  end_of_case();
}

std::int64_t held_at_start = 0, most_held = 0;
void start_to_count_blocks() {
  tri::send<&signal>(0);
  held_at_start = blocks_held();
  reset_most_blocks_held();
}
void stop_to_count_blocks() {
  most_held = most_blocks_held();
  signalled = true;
}

// The memory at the target of 100,000 gets does not depend on their number: a request is served from the packet that
// brought it. Its answer is a record of the wire until the thread that serves is back there.
void requests_keep_no_memory_at_their_target() {
  if (caches() || pes_per_process() > 1) return;
  constexpr int gets = 100'000, under_way_at_once = 500;
  const words a(position<1>(64 * pe_count()), tiles(64));
  barrier().get();
  const int owner = sched::this_pe().job().first_pe_of(1);
  if (this_pe() == 0) {
    std::vector<future<std::int64_t>> under_way;
    const auto wait = [&] {
      for (auto& each : under_way) check_equal(each.get(), 0);
      under_way.clear();
    };
    const auto ask = [&](int count) {
      for (int i = 0; i < count; ++i) {
        under_way.push_back(a.get(64 * owner + i % 64));
        if (under_way.size() == under_way_at_once) wait();
      }
      wait();
    };
    tri::send<&start_to_count_blocks>(owner);
    wait_for_signal();
    ask(gets);
    tri::send<&stop_to_count_blocks>(owner);
  } else if (this_pe() == owner) {
    wait_for_signal();
    check(most_held - held_at_start < 2 * under_way_at_once, "memory for those that are under way, no more");
  }
  a.free().get();
  end_of_case();
}

thread_local int notes = 0;
void note() { ++notes; }

// Programs may wait in loops of reads: each read that takes time lets messages run, whether it is direct or not.
void slow_reads_run_messages() {
  if (settings().rma_latency_ns == 0 || sched::this_pe().job().hosts() == 1) return;
  const words a(position<1>(2 * pe_count()), tiles(2));
  barrier().get();
  const std::int64_t far = first_of_other_host(2);
  for (int round = 1; round <= 20; ++round) {
    tri::send<&note>(this_pe());
    check_equal(std::int64_t{a(far)}, 0);
    check_equal(notes, round);
  }
  barrier().get();
  a.free().get();
  end_of_case();
}

constexpr test_case cases[] = {
    {"targets_run_nothing", &targets_run_nothing},
    {"misses_take_no_messages_more", &misses_take_no_messages_more},
    {"puts_and_gets_keep_their_order", &puts_and_gets_keep_their_order},
    {"chunks_are_registered_on_demand", &chunks_are_registered_on_demand},
    {"walk_within_the_limits", &walk_within_the_limits},
    {"freed_memory_is_used_again", &freed_memory_is_used_again},
    {"invalidations_go_to_the_listed_or_to_all", &invalidations_go_to_the_listed_or_to_all},
    {"sections_are_direct_where_they_are_few_runs", &sections_are_direct_where_they_are_few_runs},
    {"slow_reads_run_messages", &slow_reads_run_messages},
    {"requests_keep_no_memory_at_their_target", &requests_keep_no_memory_at_their_target},
    {"random_programs_with_frees", &random_programs_with_frees}};

}  // namespace
}  // namespace tri::testing

int main(int argc, char** argv) { return tri::testing::run_cases(tri::testing::cases, argc, argv); }
