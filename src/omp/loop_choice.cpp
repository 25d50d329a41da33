#include "omp/loop_choice.hpp"

#include <fmt/format.h>

#include <bit>

#include "omp/memory_table.hpp"
#include "omp/settings.hpp"
#include "os/clock.hpp"
#include "schedules/learning/fraction_record.hpp"
#include "schedules/learning/noise_samples.hpp"

namespace tri::omp {
namespace {

using schedules::held_before;
using schedules::loop_key;
using schedules::loop_layout;
using schedules::loop_memory;
using schedules::schedule;
using schedules::schedule_kind;
using schedules::worksharing_loop;

// As gcc's own code and both native runtimes share out static loops, so that a static loop in the program's own code
// gives each thread the same iterations.
loop_layout static_layout(distribution shares, std::uint64_t units, std::uint32_t threads) {
  if (shares == distribution::static_chunks) {
    return schedules::layout_of({.kind = schedule_kind::static_blocks, .chunk = 1}, units, threads);
  }
  loop_layout layout;
  layout.items = units;
  layout.bounds.push_back(0);
  for (std::uint32_t thread = 0; thread < threads; ++thread) {
    const std::uint32_t before = layout.chunks();
    const std::uint64_t length = units / threads + (thread < units % threads ? 1 : 0);
    if (length > 0) layout.bounds.push_back(layout.bounds.back() + length);
    const std::uint32_t own = layout.chunks() - before;
    layout.ranges.push_back({before, before + own, own, own});
  }
  return layout;
}

using memories = memory_table<loop_memory>;
memories& table() {
  static memories loops;  // all null: no constructor runs
  return loops;
}

// A claim of a line that another core had last, in ns: 37 to 85 where measured. Measuring it here would need a second
// thread; the fraction hardly depends on it, since it is added to the time of a whole chunk.
constexpr double claim_ns = 60;

constexpr std::uint32_t quanta = 2000;  // of about ten microseconds
constexpr double event_percentile = 99.9;

double measured_noise() {
  volatile double value = 2.0;
  const schedules::core_samples samples = schedules::record_quanta(
      -1, quanta,
      [&] {
        double root = value;
        for (int i = 0; i < 3000; ++i) root = root * 0.5 + 1.0 / root;
        value = root;
      },
      [] { return static_cast<double>(os::ticks()); });
  return schedules::delay_by_percentile(samples.times, event_percentile);
}

// The machine parameters of the dynamic fraction's model, in a process whose threads belong to another runtime. In
// ticks. The first call takes some tens of milliseconds, unless TRIREME_OMP_NOISE gives the duration of noise: it
// repeats a fixed quantum of work in the calling thread.
const schedules::machine_costs& machine_costs_of_this_process() {
  static const schedules::machine_costs costs = [] {
    const double given = the_settings().noise_us;
    const double ticks_per_ns = 1.0 / os::ns_per_tick();
    return schedules::machine_costs{claim_ns * ticks_per_ns,
                                    given >= 0 ? given * 1000.0 * ticks_per_ns : measured_noise()};
  }();
  return costs;
}

// loop_key::variant: bit 0 monotonic, bits 1 and 2 the distribution, above that the power of two of the units.
bool rises(const loop_key& key) { return (key.variant & 1) != 0; }
distribution shares_of(const loop_key& key) { return static_cast<distribution>(key.variant >> 1 & 3); }

// With so few units per thread, one that is long or waits for another must not be in a block behind a started one:
// `automatic` hands them out one by one from the front, as the native runtime would.
constexpr std::uint64_t few_units_per_thread = 4;
bool has_few_units(const loop_key& key) { return key.items <= few_units_per_thread * key.participants; }

loop_layout one_by_one(const loop_key& key) {
  return schedules::layout_of({.kind = schedule_kind::dynamic, .chunk = 1}, key.items, key.participants);
}

schedules::memory_setup setup_of(const loop_key& key) {
  const loop_facts facts{key.items, key.chunk, key.participants, rises(key)};
  return {schedule_of(the_settings().schedule, facts),
          facts.monotonic ? schedules::claim_direction::rising : schedules::claim_direction::any,
          schedules::automatic_limits::of_this_machine(), &machine_costs_of_this_process};
}

// Null when there is no room.
loop_memory* memory_of(const loop_key& key) {
  return table().find(key, [&] { return std::make_unique<memories::entry>(key, setup_of(key)); });
}

// A chunk of the schedule is a number of iterations.
schedule in_units(schedule which, std::uint64_t unit) {
  if (which.chunk > 0) which.chunk = board::chunk_count(which.chunk, unit);
  return which;
}

// The nearest kind with blocks and then a pool that is handed out from its front. `automatic` has such layouts itself.
schedule rising(const schedule& wanted) {
  schedule which = wanted;
  switch (wanted.kind) {
    case schedule_kind::tasklets:
    case schedule_kind::weighted_tasklets:
    case schedule_kind::staggered:
      which = {.kind = schedule_kind::hybrid, .chunk = wanted.chunk, .static_fraction = wanted.static_fraction};
      which.weights = wanted.weights || wanted.kind == schedule_kind::weighted_tasklets;
      return which;
    case schedule_kind::combined:
      which = {.kind = schedule_kind::slack_conscious, .chunk = wanted.chunk};
      which.sharp = wanted.sharp;
      which.delay = wanted.delay;
      return which;
    default:
      return which;
  }
}

}  // namespace

bool is_monotonic(const loop_layout& layout) {
  if (!layout.order.empty()) return false;
  for (const board::participant_range& range : layout.ranges) {
    if (range.first == range.last) continue;
    if (range.kept != range.last - range.first) return false;  // others may take its end, then another range
    if (!layout.pool.empty() && (!layout.in_order() || layout.pool.first < range.last)) return false;
  }
  return true;
}

schedule schedule_of(const schedule& wanted, const loop_facts& loop) {
  return in_units(loop.monotonic ? rising(wanted) : wanted, loop.unit);
}

loop_layout choose_layout(const schedule& wanted, const loop_facts& loop) {
  schedule which = schedule_of(wanted, loop);
  if (which.kind == schedule_kind::automatic) which = {.kind = schedule_kind::hybrid, .chunk = which.chunk};
  return schedules::layout_of(which, loop.units, loop.threads);
}

loop_key key_of(const void* site, const loop_facts& loop) {
  return {site, loop.units, loop.unit,
          static_cast<std::uint64_t>(std::bit_width(loop.units)) << 3 | static_cast<std::uint64_t>(loop.shares) << 1 |
              (loop.monotonic ? 1u : 0u),
          loop.threads};
}

void arm_loop(worksharing_loop& record, const loop_key& key, held_before held) {
  const settings& wanted = the_settings();
  const distribution shares = shares_of(key);
  const bool in_turn = wanted.schedule.kind == schedule_kind::automatic && has_few_units(key);
  if (shares != distribution::chosen || in_turn) {
    if (held == held_before::same_key) {
      record.arm_again();
    } else {
      record.arm(shares != distribution::chosen ? static_layout(shares, key.items, key.participants) : one_by_one(key));
    }
    record.link() = {};
    return;
  }
  loop_memory* memory = nullptr;
  if (wanted.learns) {
    const bool known = held != held_before::another_loop && record.link().memory != nullptr;
    memory = known ? record.link().memory : memory_of(key);
  }
  if (memory != nullptr) {
    if (memory->arm(record, key.items, key.participants, held)) record.measure(os::ticks());
  } else if (held == held_before::same_key) {
    record.arm_again();
  } else {
    record.arm(choose_layout(wanted.schedule, {key.items, key.chunk, key.participants, rises(key)}));
    record.link() = {};
  }
}

std::string learned_of(const void* site) {
  std::string text;
  table().for_each([&](memories::entry& there) {
    loop_memory::summary learned;
    if (there.key.site != site || !there.memory.ask(learned)) return;
    std::string line;
    if (learned.dynamic_fraction >= 0) {
      line = fmt::format("dynamic fraction {:.4f}", learned.dynamic_fraction);
      if (!learned.slack_comes_from.empty())
        line += fmt::format(", slack {:.1f} us before {}", learned.slack / 1000.0, learned.slack_comes_from);
    } else if (learned.ticks_per_item > 0) {
      line = fmt::format("{:.1f} ns for {}, {}", learned.ticks_per_item * os::ns_per_tick(),
                         there.key.chunk > 1 ? fmt::format("{} iterations", there.key.chunk) : "an iteration",
                         learned.plain_blocks ? "fixed blocks" : "blocks and stealing");
    }
    if (!line.empty()) text += learned_line(there.key, line);
  });
  return text;
}

std::string learned_line(const loop_key& key, const std::string& what) {
  return fmt::format("                      {} threads: {}\n", key.participants, what);
}

}  // namespace tri::omp
