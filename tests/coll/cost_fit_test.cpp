// Parameters of the cost model from made-up measurements, whose parameters are known.
#include "coll/cost_fit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace tri::coll {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr double sizes[] = {8, 1024, 8192, 65536, 1048576};

std::map<double, double> line(double start, double per_byte) {
  std::map<double, double> made;
  for (const double bytes : sizes) made[bytes] = start + bytes * per_byte;
  return made;
}

cost_measurements of(const cost_parameters& costs) {
  cost_measurements made;
  made.between_hosts = line(costs.latency + 2 * costs.overhead, costs.per_byte);
  made.inside_host = line(costs.host_latency + costs.copy_start, costs.copy_per_byte);
  made.send_call = costs.overhead;
  made.burst_of_one = 2 * (costs.latency + 2 * costs.overhead);
  made.burst = *made.burst_of_one + 63 * costs.gap;
  made.signal = costs.signal;
  made.copies = line(costs.copy_start, costs.copy_per_byte);
  made.reductions = line(costs.copy_start, costs.reduce_per_byte);
  return made;
}

const cost_parameters known{.latency = 61'000,
                            .overhead = 2'100,
                            .gap = 3'300,
                            .per_byte = 0.31,
                            .host_latency = 410,
                            .signal = 77,
                            .copy_start = 21,
                            .copy_per_byte = 0.07,
                            .reduce_per_byte = 0.19};

TEST(cost_fit, finds_the_parameters_that_times_were_made_of) {
  const fitted_costs fitted = fit_costs(of(known));
  EXPECT_THAT(fitted.assumed, IsEmpty());
  for (const cost_parameter& each : all_cost_parameters())
    EXPECT_NEAR(fitted.costs.*each.value, known.*each.value, 1e-6 * known.*each.value) << each.name;
}

TEST(cost_fit, says_what_was_not_measured_and_leaves_it_as_it_is) {
  cost_measurements one_host = of(known);
  one_host.between_hosts.clear();
  one_host.send_call.reset();
  one_host.burst.reset();
  const fitted_costs fitted = fit_costs(one_host);
  EXPECT_THAT(fitted.assumed, UnorderedElementsAre("latency_ns", "overhead_ns", "gap_ns", "per_byte_ns"));
  const cost_parameters usual;
  EXPECT_EQ(fitted.costs.latency, usual.latency);
  EXPECT_EQ(fitted.costs.gap, usual.gap);
  EXPECT_NEAR(fitted.costs.signal, known.signal, 1e-9);
  EXPECT_EQ(fit_costs({}).assumed.size(), all_cost_parameters().size());
}

// A few per cent of noise, in turn too slow and too fast, at every size.
TEST(cost_fit, finds_them_within_the_noise) {
  cost_measurements noisy = of(known);
  double factor = 1.05;
  for (std::map<double, double>* times : {&noisy.between_hosts, &noisy.inside_host, &noisy.copies, &noisy.reductions})
    for (auto& [bytes, time] : *times) {
      time *= factor;
      factor = 2 - factor;
    }
  const fitted_costs fitted = fit_costs(noisy);
  EXPECT_NEAR(fitted.costs.latency, known.latency, 0.06 * known.latency);
  EXPECT_NEAR(fitted.costs.per_byte, known.per_byte, 0.06 * known.per_byte);
  EXPECT_NEAR(fitted.costs.copy_per_byte, known.copy_per_byte, 0.06 * known.copy_per_byte);
}

// The largest time is 10,000 times the smallest, and yet the latency is not lost in its error.
TEST(cost_fit, counts_small_and_large_sizes_alike) {
  std::map<double, double> times = line(100, 1.0);
  times[1048576] *= 1.02;
  EXPECT_NEAR(fit_line(times).start, 100, 5);
}

TEST(cost_fit, gives_nothing_negative) {
  const fitted_line falling = fit_line({{8, 100}, {1024, 50}});
  EXPECT_EQ(falling.per_byte, 0.0);
  EXPECT_GT(falling.start, 0.0);
  const fitted_line steep = fit_line({{8, 1}, {1024, 1000}, {2048, 4000}});
  EXPECT_GE(steep.start, 0.0);
  EXPECT_GT(steep.per_byte, 0.0);
  const fitted_line one_size = fit_line({{8, 30}});
  EXPECT_EQ(one_size.start, 30.0);
  EXPECT_EQ(one_size.per_byte, 0.0);
  // A send that takes longer than the whole way, and messages that come faster than calls.
  cost_measurements odd = of(known);
  odd.send_call = 1e6;
  const fitted_costs fitted = fit_costs(odd);
  EXPECT_EQ(fitted.costs.latency, 0.0);
  EXPECT_EQ(fitted.costs.gap, 1e6);
}

}  // namespace
}  // namespace tri::coll
