// Prediction of slack, and the fraction that a loop gets from it.
#include "trireme/slack.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <stdexcept>

#include "schedules/learning/fraction_record.hpp"
#include "sim/region_simulator.hpp"

namespace tri::slack {
namespace {

using testing::DoubleEq;
using testing::DoubleNear;

operation named(const char* name, std::uint64_t path = 0, std::uint64_t bytes = 4) {
  return {operation_type(name), path, bytes};
}

TEST(slack, naive_is_one_number_for_everything) {  // K52
  predictor slack({.by = history::naive});
  slack.set_naive(naive_slack(std::vector{2.0, 4.0, 6.0}));
  EXPECT_EQ(slack.predicted(named("Allreduce")), 4.0);
  slack.waited(named("Allreduce"), 100.0);
  EXPECT_EQ(slack.predicted(named("Allreduce")), 4.0);
  EXPECT_EQ(slack.predicted(named("Barrier")), 4.0);
  EXPECT_EQ(naive_slack({}), 0.0);
}

TEST(slack, off_predicts_nothing) {  // K52
  predictor slack({.by = history::off});
  slack.set_naive(4.0);
  const loop_link loop;
  slack.loop_ended(loop);
  slack.waited(named("Allreduce"), 100.0);
  EXPECT_EQ(slack.predicted(named("Allreduce")), 0.0);
  EXPECT_EQ(slack.before_loop(loop), 0.0);
  EXPECT_EQ(of_this_process().predicted(named("Allreduce")), 0.0) << "off until somebody sets it";
}

TEST(slack, by_operation_two_types_keep_separate_values) {  // K53
  predictor slack({.by = history::operation});
  slack.set_naive(7.0);
  EXPECT_EQ(slack.predicted(named("Allreduce")), 7.0) << "never seen";  // K56
  slack.waited(named("Allreduce", 1), 20.0);
  slack.waited(named("Barrier", 2), 80.0);
  EXPECT_EQ(slack.predicted(named("Allreduce", 3)), 20.0);
  EXPECT_EQ(slack.predicted(named("Barrier", 1)), 80.0);
  slack.waited(named("Allreduce", 2), 30.0);
  EXPECT_EQ(slack.predicted(named("Allreduce")), 30.0) << "the last value";
}

TEST(slack, by_call_path_two_places_keep_separate_values) {  // K54
  predictor slack({.by = history::call_path});
  predictor by_type({.by = history::operation});
  for (int step = 0; step < 5; ++step) {
    for (predictor* each : {&slack, &by_type}) {
      each->waited(named("Allreduce", 100), 20.0);
      each->waited(named("Allreduce", 200), 80.0);
    }
  }
  EXPECT_EQ(slack.predicted(named("Allreduce", 200)) - slack.predicted(named("Allreduce", 100)), 60.0);
  EXPECT_EQ(by_type.predicted(named("Allreduce", 200)), by_type.predicted(named("Allreduce", 100)));
}

// Volatile, so that nothing is unrolled or shared.
[[gnu::noinline]] std::uint64_t path_of_one_place() {
  const volatile std::uint64_t path = call_path();
  return path;
}
[[gnu::noinline]] std::uint64_t path_of_another_place() {
  const volatile std::uint64_t path = call_path();
  return path + 0;
}

TEST(slack, a_call_path_is_the_same_on_every_pass_and_another_elsewhere) {  // K54
  std::uint64_t first[2] = {};
  std::uint64_t second[2] = {};
  for (volatile int passes = 0; passes < 2;) {  // not unrolled: that would make two places of one
    const int pass = passes;
    first[pass] = path_of_one_place();
    second[pass] = path_of_another_place();
    passes = pass + 1;
  }
  EXPECT_EQ(first[0], first[1]);
  EXPECT_EQ(second[0], second[1]);
  EXPECT_NE(first[0], second[0]);
}

TEST(slack, median_of_the_last_waits) {  // K53
  predictor slack({.by = history::operation, .window = 3});
  for (const double wait : {50.0, 52.0, 900.0}) slack.waited(named("Barrier"), wait);
  EXPECT_EQ(slack.predicted(named("Barrier")), 52.0) << "one accident does not count";
  slack.waited(named("Barrier"), 54.0);
  EXPECT_EQ(slack.predicted(named("Barrier")), 54.0);
  slack.waited(named("Barrier"), 10.0);
  EXPECT_EQ(slack.predicted(named("Barrier")), 54.0);
  EXPECT_THROW(predictor({.window = 0}), std::invalid_argument);
}

TEST(slack, the_cost_of_the_operation_can_be_taken_off) {
  predictor slack({.by = history::operation, .subtract_least = true});
  slack.waited(named("Allreduce", 0, 4), 12.0);
  EXPECT_EQ(slack.predicted(named("Allreduce")), 0.0);
  slack.waited(named("Allreduce", 0, 4), 52.0);
  EXPECT_EQ(slack.predicted(named("Allreduce")), 40.0);
  slack.waited(named("Allreduce", 0, 1 << 20), 500.0);
  EXPECT_EQ(slack.predicted(named("Allreduce")), 0.0) << "another size costs something else";
  slack.waited(named("Allreduce", 0, 4), 10.0);
  slack.waited(named("Allreduce", 0, 4), 30.0);
  EXPECT_EQ(slack.predicted(named("Allreduce")), 20.0);
}

TEST(slack, waits_that_are_no_times_count_as_none) {
  predictor slack({.by = history::operation});
  slack.waited(named("Barrier"), -3.0);
  EXPECT_EQ(slack.predicted(named("Barrier")), 0.0);
  slack.waited(named("Barrier"), std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(slack.predicted(named("Barrier")), 0.0);
}

TEST(slack, a_loop_knows_the_operation_that_followed_it) {  // K57
  predictor slack({.by = history::operation});
  slack.set_naive(5.0);
  const loop_link first;
  const loop_link second;
  EXPECT_EQ(slack.before_loop(first), 5.0) << "the first time, the naive one";  // K56
  EXPECT_EQ(slack.after(first), std::nullopt);
  for (int step = 0; step < 2; ++step) {
    slack.loop_ended(first);
    slack.waited(named("Allreduce"), 20.0);
    slack.loop_ended(second);
    slack.waited(named("Barrier"), 80.0);
    slack.waited(named("Alltoall"), 99.0);
  }
  ASSERT_TRUE(slack.after(first));
  EXPECT_EQ(operation_name(slack.after(first)->type), "Allreduce");
  EXPECT_EQ(operation_name(slack.after(second)->type), "Barrier") << "the next one, not a later one";
  EXPECT_EQ(slack.before_loop(first), 20.0);
  EXPECT_EQ(slack.before_loop(second), 80.0);
}

TEST(slack, only_the_last_loop_before_the_operation_may_use_it) {  // K57
  predictor slack({.by = history::operation});
  slack.set_naive(5.0);
  const loop_link first;
  const loop_link last;
  for (int step = 0; step < 2; ++step) {
    slack.loop_ended(first);
    slack.loop_ended(last);
    slack.waited(named("Allreduce"), 20.0);
  }
  EXPECT_EQ(slack.before_loop(first), 0.0);
  EXPECT_EQ(slack.before_loop(last), 20.0);
  const loop_link alone;
  for (int step = 0; step < 3; ++step) slack.loop_ended(alone);
  slack.waited(named("Allreduce"), 30.0);
  EXPECT_EQ(slack.before_loop(alone), 30.0) << "the same loop several times: its last execution";
}

TEST(slack, a_loop_may_be_gone_before_the_operation) {
  predictor slack({.by = history::operation});
  { slack.loop_ended(loop_link()); }
  slack.waited(named("Allreduce"), 20.0);
  EXPECT_EQ(slack.predicted(named("Allreduce")), 20.0);
}

TEST(slack, errors_fall_from_naive_by_operation_to_call_path) {  // K55
  std::vector<std::pair<operation, double>> waits;
  for (int step = 0; step < 100; ++step) {
    const double jitter = 0.1 * (step % 5);
    waits.emplace_back(named("Allreduce", 1), 20.0 + jitter);
    waits.emplace_back(named("Allreduce", 1), 20.0 + jitter);
    waits.emplace_back(named("Allreduce", 2), 80.0 - jitter);
    waits.emplace_back(named("Barrier", 3), 5.0);
  }
  const error_report naive = errors_on(waits, {.by = history::naive}, 3.0);
  const error_report by_type = errors_on(waits, {.by = history::operation}, 3.0);
  const error_report by_path = errors_on(waits, {.by = history::call_path}, 3.0);
  EXPECT_EQ(by_path.waits, 400u);
  EXPECT_THAT(by_path.mean_wait, DoubleNear(31.25, 0.1));
  EXPECT_LT(by_path.mean_error, by_type.mean_error);
  EXPECT_LT(by_path.mean_error, naive.mean_error);
  EXPECT_LT(by_type.mean_error, naive.mean_error + 10.0);
  EXPECT_LT(by_path.relative(), 0.02);
  EXPECT_THAT(errors_on({}, {}, 0.0).relative(), DoubleEq(0.0));
}

TEST(slack, settings_can_be_changed) {
  predictor slack({.by = history::operation});
  slack.waited(named("Barrier"), 3.0);
  slack.set({.by = history::operation, .window = 5});
  EXPECT_EQ(slack.predicted(named("Barrier")), 0.0) << "all waits are forgotten";
  EXPECT_EQ(slack.errors().waits, 0u);
}

TEST(slack, operations_have_names) {
  EXPECT_EQ(operation_name(operation_type("a reduction")), "a reduction");
  EXPECT_EQ(operation_type("a reduction"), operation_type("a reduction"));
  EXPECT_NE(operation_type("Allreduce"), operation_type("Alltoall"));
  EXPECT_EQ(operation_name(17), "operation 17");
}

}  // namespace
}  // namespace tri::slack

namespace tri::schedules {
namespace {

using testing::DoubleEq;
using testing::DoubleNear;

const schedule by_model = parse_schedule("static-hybrid,chunk=1");
const schedule by_slack = parse_schedule("slack,chunk=1");
const std::vector<std::uint64_t> blocks{1000, 1000};

TEST(fraction_record, begins_with_a_tenth) {  // K56
  fraction_record record;
  EXPECT_EQ(record.next(by_slack, 4000, 2, {0.0, 100.0}, 7.0), 0.10);
  record.ended(std::vector{0.0, 0.0}, std::vector<std::uint64_t>{0, 0});
  EXPECT_EQ(record.next(by_slack, 4000, 2, {0.0, 100.0}, 7.0), 0.10) << "nothing was measured";
  record.ended(std::vector{1000.0, 1000.0}, blocks);
  EXPECT_THAT(record.next(by_model, 4000, 2, {0.0, 100.0}, 0.0), DoubleEq(2 * 100.0 / 4000));
  EXPECT_EQ(record.executions(), 2u);
}

TEST(fraction_record, the_least_time_counts) {  // K44
  fraction_record record;
  record.next(by_model, 4000, 2, {}, 0.0);
  record.ended(std::vector{1000.0, 2000.0}, blocks);
  EXPECT_EQ(record.iteration_time(), 1.5);
  record.ended(std::vector{9000.0, 9000.0}, blocks);
  EXPECT_EQ(record.iteration_time(), 1.5) << "one slow execution does not raise it";
  record.ended(std::vector{1000.0, 500.0}, std::vector<std::uint64_t>{1000, 500});
  EXPECT_EQ(record.iteration_time(), 1.0);
  EXPECT_EQ(record.region_time(4000), 2000.0);
  record.ended(std::vector{-1.0, 0.0}, blocks);
  EXPECT_EQ(record.iteration_time(), 1.0);
}

TEST(fraction_record, with_other_participants_it_starts_anew) {  // K99 (model)
  fraction_record record;
  record.next(by_model, 4000, 2, {}, 0.0);
  record.ended(std::vector{1000.0, 1000.0}, blocks);
  EXPECT_EQ(record.next(by_model, 4000, 3, {0.0, 100.0}, 0.0), 0.10);
  EXPECT_EQ(record.executions(), 0u);
}

TEST(fraction_record, slack_delay_and_chunk) {  // K50 (formula), K84, K86, K58
  fraction_record record;
  record.next(by_model, 4000, 2, {}, 0.0);
  record.ended(std::vector{1000.0, 1000.0}, blocks);
  const machine_costs machine{0.1, 200.0};
  const double full = record.next(by_model, 4000, 2, machine, 0.0);
  EXPECT_THAT(full, DoubleEq(2 * 200.0 / (4000 * 1.1))) << "equation 4.4 with what was calibrated";
  EXPECT_EQ(record.next(by_model, 4000, 2, machine, 100.0), full) << "no slack in this kind";
  const double careful = record.next(by_slack, 4000, 2, machine, 100.0);
  EXPECT_THAT(careful, DoubleEq(full - 100.0 / (2000.0 - 400.0)));
  EXPECT_THAT(record.next(parse_schedule("slack,chunk=1,rule=sharp"), 4000, 2, machine, 100.0),
              DoubleEq(full - 100.0 / 2000.0));
  EXPECT_THAT(record.next(parse_schedule("combined,chunk=1"), 4000, 2, machine, 100.0),
              DoubleEq(full - 100.0 / (2000.0 - 200.0)))
      << "own queues are not serial";
  record.set_application_delay(300.0);
  EXPECT_THAT(record.next(parse_schedule("appModelSched,chunk=1"), 4000, 2, machine, 0.0), DoubleEq(1.5 * full));
  EXPECT_THAT(record.next(parse_schedule("modelSched,chunk=1"), 4000, 2, machine, 0.0), DoubleEq(2.5 * full));
  EXPECT_THAT(record.next(parse_schedule("modelSched,chunk=1,delay=larger"), 4000, 2, machine, 0.0),
              DoubleEq(1.5 * full));
  EXPECT_EQ(record.next(parse_schedule("static-hybrid,chunk=1000"), 4000, 2, machine, 0.0), 0.0)
      << "not a chunk for everybody";
  EXPECT_EQ(record.next(by_model, 4000, 2, {0.1, 0.0}, 0.0), 0.0) << "no noise";  // K64
}

TEST(fraction_record, memory_does_not_grow) {  // K45
  fraction_record record;
  record.next(by_model, 4000, 2, {}, 0.0);
  for (int step = 0; step < 100000; ++step) {
    record.next(by_model, 4000, 2, {0.0, 100.0}, 0.0);
    record.ended(std::vector{1000.0 + step, 1000.0}, blocks);
  }
  EXPECT_EQ(record.executions(), 100000u);
  static_assert(sizeof(fraction_record) <= 64, "two numbers of participants' times lie outside, and nothing else");
}

TEST(fraction_record, two_loops_in_two_processes_have_four_fractions) {  // K59
  slack::predictor of_process[2] = {slack::predictor({.by = slack::history::operation}),
                                    slack::predictor({.by = slack::history::operation})};
  fraction_record records[2][2];
  slack::loop_link links[2][2];
  const double slacks[2][2] = {{0.0, 10.0}, {40.0, 80.0}};  // by process and loop
  double fractions[2][2] = {};
  for (int step = 0; step < 3; ++step) {
    for (int process = 0; process < 2; ++process) {
      for (int loop = 0; loop < 2; ++loop) {
        fraction_record& record = records[process][loop];
        fractions[process][loop] =
            record.next(by_slack, 4000, 2, {0.0, 200.0}, of_process[process].before_loop(links[process][loop]));
        record.ended(std::vector{1000.0, 1000.0}, blocks);
        of_process[process].loop_ended(links[process][loop]);
        of_process[process].waited({slack::operation_type(loop == 0 ? "Allreduce" : "Barrier")}, slacks[process][loop]);
      }
    }
  }
  EXPECT_THAT(fractions[0][0], DoubleNear(0.1, 1e-12));
  EXPECT_THAT(fractions[0][1], DoubleNear(0.095, 1e-12));
  EXPECT_THAT(fractions[1][0], DoubleNear(0.08, 1e-12));
  EXPECT_THAT(fractions[1][1], DoubleNear(0.06, 1e-12));
}

TEST(fraction_record, in_virtual_time_it_settles_and_absorbs_the_noise) {  // K50, K84
  fraction_record record;
  std::vector<double> times;
  for (int step = 0; step < 5; ++step) {
    layout_inputs known;
    known.dynamic_fraction = record.next(by_model, 4000, 4, {0.05, 200.0}, 0.0);
    sim::region what;
    what.claim_time = 0.05;
    what.noise = {{static_cast<std::uint32_t>(step % 4), 0.0, 200.0}};
    const sim::region_run run = simulate(what, layout_of(by_model, 4000, 4, known));
    std::vector<double> sections;
    std::vector<std::uint64_t> iterations;
    for (const sim::participant_run& one : run.participants) {
      sections.push_back(one.static_time);
      iterations.push_back(one.static_iterations);
    }
    record.ended(sections, iterations);
    times.push_back(run.time);
  }
  EXPECT_GT(times[0], 1090.0) << "a tenth is not enough";
  EXPECT_LT(times[4], 1050.0 + 0.05 * 4000 * record.last_fraction());
}

}  // namespace
}  // namespace tri::schedules
