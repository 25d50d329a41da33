// What measuring costs, what migrating costs, and what an uneven program gains. Rows switch measuring on by an option,
// and call what tri::balance() calls: a call of that anywhere in this command would measure the jobs of all rows.
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "balance/rows.hpp"
#include "messages/pes.hpp"
#include "os/clock.hpp"
#include "os/task_clock.hpp"
#include "trireme/objects.hpp"

namespace tri::bench {
namespace {

const std::string measured = "--tri-balance-every-ms=3600000";
const launch measured_pe{.processes = 1, .pes = 1, .options = {measured}};
const launch measured_threads{.processes = 1, .pes = 2, .options = {measured, "--tri-balance-speeds=equal"}};
const launch measured_processes{.processes = 2, .pes = 1, .options = {measured, "--tri-balance-speeds=equal"}};

balance_report balance_now(const char* strategy) {
  balance_options options;
  options.strategy = strategy;
  return objects::begin_balancing(options).get();
}

// ---- measuring: the same messages with and without, in turn

struct receiver : tri::array_element<receiver, tri::index<1>> {
  void nothing() {}
  void compute(std::uint64_t steps) {
    std::uint64_t value = steps;
    for (std::uint64_t step = 0; step < steps; ++step) {
      value = value * 3 + step;
      asm volatile("" : "+r"(value));
    }
  }
};

// Steps of receiver::compute that take about so long.
std::uint64_t steps_for(double ns) {
  constexpr std::uint64_t trial = 1 << 16;
  double best = 1e18;
  for (int i = 0; i < 5; ++i) {
    const std::int64_t before = os::now_ns();
    std::uint64_t value = 1;
    for (std::uint64_t step = 0; step < trial; ++step) {
      value = value * 3 + step;
      asm volatile("" : "+r"(value));
    }
    best = std::min(best, static_cast<double>(os::now_ns() - before));
  }
  return static_cast<std::uint64_t>(ns * trial / best);
}

// Each batch twice, without measuring and with it; the ratios are of neighbours.
template <class Send>
measurement with_and_without(context& tools, Send send) {
  objects::load_meter* const meter = objects::running_load_meter;
  if (meter == nullptr) throw std::runtime_error("loads are not measured");
  std::vector<double> ratios, with;
  const auto time = [&](bool on) {
    objects::running_load_meter = on ? meter : nullptr;
    const std::int64_t before = os::now_ns();
    constexpr int messages = 200;
    for (int i = 0; i < messages; ++i) send();
    tri::quiescence().get();
    return static_cast<double>(os::now_ns() - before) / messages;
  };
  const std::size_t batches = tools.runner().options().repetitions;
  for (std::size_t batch = 0; batch < std::max<std::size_t>(batches, 5); ++batch) {
    const double off = time(false), on = time(true);
    with.push_back(on);
    ratios.push_back(on / off);
  }
  objects::running_load_meter = meter;
  measurement made;
  made.samples.operation_ns = std::move(with);
  made.reference = comparison{"unmeasured", std::move(ratios)};
  return made;
}

measurement measure_methods(context& tools) {
  const auto all = tri::make_array<receiver>({1});
  const std::uint64_t steps = steps_for(10'000);
  return with_and_without(tools, [&] { all(0).send<&receiver::compute>(steps); });
}
measurement measure_messages(context& tools) {
  const auto all = tri::make_array<receiver>({1});
  return with_and_without(tools, [&] { all(0).send<&receiver::nothing>(); });
}

// ---- migration

struct traveller : tri::array_element<traveller, tri::index<1>> {
  std::vector<char> luggage = std::vector<char>(1024);
  void go(int pe) { migrate_to(pe); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(luggage);
  }
};

measurement migrate_elements(context& tools) {
  constexpr int count = 500;
  const auto all =
      tri::make_array<traveller>({count}, tri::placed_by<tri::index<1>>([](const tri::index<1>&, int) { return 0; }));
  int at = 0;
  measurement made{.samples = tools.runner().time([&](std::uint64_t times) {
    for (; times > 0; --times) {
      at = 1 - at;
      all.broadcast<&traveller::go>(at);
      tri::quiescence().get();
    }
  })};
  for (double& ns : made.samples.operation_ns) ns /= count;
  return made;
}

// ---- an uneven program: patches of which a quarter cost four times as much

struct patch : tri::array_element<patch, tri::index<1>> {
  std::uint64_t steps = 0;
  void set(std::uint64_t light) { steps = light * (this_index()[0] % 64 < 16 ? 4 : 1); }
  // Returns its CPU time.
  std::int64_t advance() {
    os::task_clock& clock = os::task_clock::of_this_thread();
    const std::uint64_t before = clock.read();
    std::uint64_t value = steps;
    for (std::uint64_t step = 0; step < steps; ++step) {
      value = value * 3 + step;
      asm volatile("" : "+r"(value));
    }
    return static_cast<std::int64_t>(os::ticks_to_ns(clock.read() - before));
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(steps);
  }
};

measurement step_patches(context& tools, const char* strategy) {
  constexpr int patches = 64;
  const auto all = tri::make_array<patch>({patches});
  all.broadcast<&patch::set>(steps_for(20'000));
  tri::quiescence().get();
  std::int64_t iterations = 0, balancing_ns = 0;
  const auto iterate = [&] {
    ++iterations;
    return all.reduce<&patch::advance>(tri::sum).get();
  };
  const std::int64_t began = os::now_ns();
  if (strategy != nullptr)
    for (int i = 0; i < 2; ++i) {
      for (int step = 0; step < 10; ++step) static_cast<void>(iterate());
      balancing_ns += balance_now(strategy).took_ns;
    }
  std::vector<double> times, ratios;
  const std::size_t batches = std::max<std::size_t>(tools.runner().options().repetitions, 10);
  for (std::size_t batch = 0; batch < batches; ++batch) {
    const std::int64_t before = os::now_ns();
    const std::int64_t work = iterate();
    times.push_back(static_cast<double>(os::now_ns() - before));
    ratios.push_back(times.back() * tri::pe_count() / static_cast<double>(work));
  }
  measurement made;
  made.samples.operation_ns = std::move(times);
  made.reference = comparison{"perfect balance", std::move(ratios)};
  if (strategy != nullptr)
    made.counts["balancing, per cent of the time"] =
        100.0 * static_cast<double>(balancing_ns) / static_cast<double>(os::now_ns() - began);
  return made;
}

measurement call_balance(context& tools) {
  constexpr int count = 1000;
  static_cast<void>(tri::make_array<receiver>({count}));
  return {.samples = tools.runner().time([&](std::uint64_t calls) {
    for (; calls > 0; --calls) static_cast<void>(balance_now("refine"));
  })};
}

}  // namespace

std::vector<row_definition> balancing_rows() {
  constexpr double at_most_a_hundredth = 1.01, within_five_hundredths = 1.05, migration_us = 3.0;
  const auto row = [](const char* name, const char* unit, const char* text, const launch& where, auto measure) {
    row_definition made{.name = name, .unit = unit, .handoffs = 0, .description = text};
    made.measure = measure;
    made.launch = where;
    return made;
  };
  std::vector<row_definition> rows{
      row("measuring/method_10us", "ns", "a method of 10 us whose load is measured, by one that is not measured",
          measured_pe, measure_methods),
      row("measuring/message", "ns", "a message to an empty method, measured, by one that is not measured", measured_pe,
          measure_messages),
      row("migration/1KiB/threads", "us", "an element with 1 KiB migrates to the other thread, 500 at once",
          measured_threads, migrate_elements),
      row("migration/1KiB/processes", "us", "the same to the other process", measured_processes, migrate_elements),
      row("call/1000_objects", "us", "a balancing of 1,000 idle objects that moves none", measured_threads,
          call_balance),
      row("step/static", "us", "an iteration of 64 patches, a quarter of which cost four times as much, on two threads",
          measured_threads, [](context& tools) { return step_patches(tools, nullptr); }),
  };
  for (const char* const strategy : {"refine", "greedy"}) {
    rows.push_back(row("", "us", "the same after two balancings", measured_threads,
                       [strategy](context& tools) { return step_patches(tools, strategy); }));
    rows.back().name = std::string("step/") + strategy;
    rows.back().target_ratio = within_five_hundredths;
  }
  rows[0].target_ratio = at_most_a_hundredth;
  rows[3].target = migration_us;
  return rows;
}

}  // namespace tri::bench
