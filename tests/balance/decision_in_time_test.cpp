// The decision and a strategy together, in virtual time: a droplet moves through a grid of objects, so that loads
// change slowly; balancing costs a fixed time and moves of objects. Who decides by the model comes near the best period
// that could have been chosen, without knowing it.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "balance/decision.hpp"
#include "trireme/balance_strategy.hpp"

namespace tri::balancing {
namespace {

constexpr int iterations = 400;
constexpr std::size_t objects = 600;
constexpr std::size_t pes = 8;

// The load of an object in an iteration: what is near the middle of the droplet is heavy.
std::int64_t load_of(std::size_t object, int iteration, double speed) {
  const double place = static_cast<double>(object) / objects;
  const double middle = 0.2 + 0.6 * std::fmod(speed * iteration, 1.0);
  return std::abs(place - middle) < 0.1 ? 20'000 : 2'000;
}

struct course {
  double time_ns = 0.0;  // of all iterations and balancings
  int balancings = 0;
};

// `is_time` sees the decision after each iteration.
course run(double speed, double fixed_cost_ns, const std::function<bool(const balance_decision&, int)>& is_time) {
  snapshot now;
  now.pes.resize(pes);
  for (std::size_t i = 0; i < objects; ++i)
    now.objects.push_back({.id = i, .bytes = 1000, .pe = static_cast<std::int32_t>(i * pes / objects)});
  balance_decision when({.first_cost_ns = fixed_cost_ns});
  const strategy refine = find_strategy("refine");
  course done;
  for (int iteration = 0; iteration < iterations; ++iteration) {
    for (std::size_t i = 0; i < objects; ++i) now.objects[i].load_ns = load_of(i, iteration, speed);
    const quality of_now = quality_of(now, {});
    done.time_ns += of_now.longest_ns;
    when.add_iteration(of_now.longest_ns, of_now.level_ns);
    if (!is_time(when, iteration)) continue;
    const outcome result = balance(now, refine);
    for (const move& each : result.moves) now.objects[each.object].pe = each.to;
    const double cost = fixed_cost_ns + 500.0 * static_cast<double>(result.moves.size());
    done.time_ns += cost;
    ++done.balancings;
    when.add_balancing(cost);
  }
  return done;
}

TEST(decision_in_time, comes_near_the_best_period) {
  for (const double speed : {0.0, 0.001, 0.01}) {
    for (const double cost : {2e5, 5e6}) {
      const course model = run(speed, cost, [](const balance_decision& when, int iteration) {
        return when.decide(iterations - iteration - 1) == verdict::balance;
      });
      const course never = run(speed, cost, [](const balance_decision&, int) { return false; });
      double best = never.time_ns;
      for (const int period : {1, 2, 4, 8, 16, 32, 64, 128})
        best = std::min(best, run(speed, cost, [&](const balance_decision&, int iteration) {
                                return iteration % period == period - 1;
                              }).time_ns);
      EXPECT_LT(model.time_ns, 1.1 * best) << "speed " << speed << ", cost " << cost << ", " << model.balancings;
      EXPECT_LT(model.time_ns, 0.9 * never.time_ns) << "speed " << speed << ", cost " << cost;
    }
  }
}

TEST(decision_in_time, what_does_not_change_is_balanced_once) {
  const course model =
      run(0.0, 2e5, [](const balance_decision& when, int) { return when.decide() == verdict::balance; });
  EXPECT_EQ(model.balancings, 1);
}

}  // namespace
}  // namespace tri::balancing
