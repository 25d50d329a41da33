// Which algorithm is taken for which costs, and costs as text.
#include "coll/algorithm_choice.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "coll/algorithms.hpp"
#include "coll/cost_fit.hpp"
#include "coll/cost_model.hpp"
#include "coll/cost_text.hpp"

namespace tri::coll {
namespace {

constexpr const char* rounds = "multi_object_bruck";
constexpr const char* ring = "multi_object_ring";

// The size from which on the ring is taken.
std::uint64_t first_size_of_ring(algorithm_choice& choice) {
  std::uint64_t bytes = 1;
  while (*choice.prefers(rounds, ring, collective::allgather, bytes) && bytes < (std::uint64_t{1} << 24)) bytes *= 2;
  return bytes;
}

TEST(algorithm_choice, is_that_of_the_cost_model) {
  const cost_parameters costs;
  algorithm_choice choice(shape::uniform(6, 3), costs);
  for (std::uint64_t bytes = 8; bytes <= 1 << 20; bytes *= 8) {
    request asked;
    asked.what = collective::allgather;
    asked.hosts = shape::uniform(6, 3);
    asked.blocks = block_layout::uniform(bytes);
    asked.commutative = false;
    double time_of_rounds = 0.0, time_of_ring = 0.0;
    for (const algorithm_cost& each : compare(asked, costs)) {
      if (each.by->name == rounds) time_of_rounds = each.time;
      if (each.by->name == ring) time_of_ring = each.time;
    }
    EXPECT_EQ(choice.prefers(rounds, ring, collective::allgather, bytes), time_of_rounds <= time_of_ring) << bytes;
  }
}

TEST(algorithm_choice, goes_with_the_costs) {
  cost_parameters near, far;
  near.latency = 1'000;
  far.latency = 1'000'000;
  algorithm_choice of_near(shape::uniform(8, 4), near);
  algorithm_choice of_far(shape::uniform(8, 4), far);
  EXPECT_LT(first_size_of_ring(of_near), first_size_of_ring(of_far)) << "fewer rounds pay where they take longer";
}

TEST(algorithm_choice, is_one_for_all_sizes_up_to_a_power_of_two) {
  algorithm_choice choice(shape::uniform(5, 2), {});
  for (std::uint64_t bytes = 1; bytes <= 1 << 20; bytes *= 2)
    for (const std::uint64_t between : {bytes / 2 + 1, bytes - bytes / 8})
      EXPECT_EQ(choice.prefers(rounds, ring, collective::allgather, between),
                choice.prefers(rounds, ring, collective::allgather, bytes));
}

TEST(algorithm_choice, takes_fewer_ranks_of_large_hosts_and_leaves_many_hosts_alone) {
  algorithm_choice large(shape::uniform(4, 128), {});
  algorithm_choice scaled(shape::uniform(4, 16), {});
  EXPECT_EQ(first_size_of_ring(large), first_size_of_ring(scaled));
  algorithm_choice many(shape::uniform(65, 1), {});
  EXPECT_EQ(many.prefers(rounds, ring, collective::allgather, 8), std::nullopt);
}

TEST(algorithm_choice, reads_vectors_of_elements) {
  algorithm_choice choice(shape::uniform(4, 4), {});
  EXPECT_EQ(choice.prefers("multi_object_gathered", ring, collective::allreduce, 8, 8), true);
  EXPECT_EQ(choice.prefers("multi_object_gathered", ring, collective::allreduce, 4 << 20, 8), false);
  EXPECT_TRUE(choice.prefers("multi_object_gathered", ring, collective::allreduce, 0, 8).has_value());
}

TEST(cost_text, is_read_as_it_was_written) {
  cost_parameters costs;
  double value = 0.125;
  for (const cost_parameter& each : all_cost_parameters()) costs.*each.value = value *= 3;
  const cost_parameters read = parse_costs(text_of(costs));
  for (const cost_parameter& each : all_cost_parameters()) EXPECT_EQ(read.*each.value, costs.*each.value) << each.name;
}

TEST(cost_text, says_what_is_wrong) {
  const auto problem_of = [](const std::string& text) -> std::string {
    try {
      parse_costs(text);
    } catch (const std::invalid_argument& problem) {
      return problem.what();
    }
    return "nothing";
  };
  const std::string right = text_of({});
  EXPECT_EQ(problem_of(right), "nothing");
  EXPECT_EQ(problem_of(""), "latency_ns is missing");
  EXPECT_EQ(problem_of(right.substr(0, right.rfind(','))), "reduce_per_byte_ns is missing");
  EXPECT_EQ(problem_of("latency_ns=fast," + right),
            "latency_ns is 'fast'; it must be a number of nanoseconds, 0 or more");
  for (const char* value : {"", "-1", "1x", "inf", "nan"})
    EXPECT_EQ(problem_of("gap_ns=" + std::string(value)),
              "gap_ns is '" + std::string(value) + "'; it must be a number of nanoseconds, 0 or more");
  EXPECT_NE(problem_of("speed=1").find("'speed=1' is no cost; those are latency_ns, "), std::string::npos);
}

}  // namespace
}  // namespace tri::coll
