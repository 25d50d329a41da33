// The default schedule in virtual time, with the real claiming code: after 20 executions it is within 2 % of the best
// fixed schedule for that loop, on average over the next 20, without being told anything. One tick is 0.4 ns.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "loops/random_numbers.hpp"
#include "schedules/automatic_schedule.hpp"
#include "sim/region_simulator.hpp"

namespace tri::schedules {
namespace {

constexpr std::uint64_t items = 10000;
constexpr automatic_limits limits{.in_place = 3000, .claim = 2500, .least_left = 5000, .most_left = 50000};

struct load {
  const char* name;
  double (*cost)(std::uint64_t item);
  double noise;  // share of the time that participant 1 loses, in chunks of a millisecond
};

double heavy_tail(std::uint64_t item) {
  loops::random_numbers random(item);
  return std::min(3e6, 1500.0 / std::pow(1.0 - random.fraction(), 1.0 / 1.3));
}

const load loads[] = {
    {"uniform", [](std::uint64_t) { return 5000.0; }, 0.0},
    {"linear", [](std::uint64_t item) { return static_cast<double>(item); }, 0.0},
    {"linear, downwards", [](std::uint64_t item) { return static_cast<double>(items - item); }, 0.0},
    {"a step at nine tenths", [](std::uint64_t item) { return item > 9000 ? 40000.0 : 1000.0; }, 0.0},
    {"heavy tail", heavy_tail, 0.0},
    {"noise of a tenth", [](std::uint64_t) { return 5000.0; }, 0.1},
};

// Execution number `execution` of the loop; the noise comes at another moment each time.
sim::region region_of(const load& which, std::uint64_t execution) {
  sim::region what;
  what.cost = which.cost;
  what.claim_time = 50;
  const double period = 25e6;
  if (which.noise > 0.0) {
    loops::random_numbers random(execution);
    for (double at = random.fraction() * period; at < 60e6; at += period) {
      what.noise.push_back({1, at, which.noise * period});
    }
  }
  return what;
}

double mean_of_fixed(const load& which, const char* text, std::uint32_t participants) {
  const loop_layout layout = layout_of(parse_schedule(text), items, participants);
  double sum = 0.0;
  for (std::uint64_t execution = 20; execution < 40; ++execution) {
    sum += simulate(region_of(which, execution), layout).time;
  }
  return sum / 20;
}

double mean_of_automatic(const load& which, std::uint32_t participants) {
  automatic_schedule automatic(limits);
  double sum = 0.0;
  for (std::uint64_t execution = 0; execution < 40; ++execution) {
    const automatic_schedule::decision decision = automatic.next(items, participants);
    EXPECT_FALSE(decision.in_place);
    const sim::region_run run = simulate(region_of(which, execution), *decision.layout);
    if (execution >= 20) sum += run.time;
    if (!decision.measure) continue;
    loop_times times(items, participants);
    for (const sim::executed_part& part : run.parts) {
      times.record(static_cast<int>(part.participant), part.first, part.last,
                   static_cast<std::uint64_t>(part.end - part.begin));
    }
    automatic.learn(times, static_cast<std::uint64_t>(run.time));
  }
  return sum / 20;
}

TEST(automatic_schedule, in_virtual_time_is_near_the_best_fixed_schedule_after_20_executions) {
  for (const load& which : loads) {
    for (const std::uint32_t participants : {2u, 4u}) {
      double best = std::numeric_limits<double>::infinity();
      const char* best_name = "";
      for (const char* text : {"static", "static,16", "dynamic,16", "guided", "trapezoid", "factoring", "hybrid,0.8,8",
                               "hybrid,0.5,8", "staggered,0.8,8", "staggered,0.5,8"}) {
        const double time = mean_of_fixed(which, text, participants);
        if (time < best) {
          best = time;
          best_name = text;
        }
      }
      const double time = mean_of_automatic(which, participants);
      EXPECT_LE(time, 1.02 * best) << which.name << " with " << participants << " participants; best: " << best_name;
      EXPECT_LE(time, 1.02 * mean_of_fixed(which, "static", participants) + 2500) << which.name;
    }
  }
}

}  // namespace
}  // namespace tri::schedules
