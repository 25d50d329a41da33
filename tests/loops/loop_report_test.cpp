// Where the time of loops goes: sums of given times by hand, and what real loops report.
#include "loops/loop_reporter.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <thread>

#include "schedules/learning/learning_schedule.hpp"
#include "trireme/loops.hpp"

namespace tri {
namespace {

using loops::measured_execution;
using loops::site_times;
using schedules::loop_times;
using testing::DoubleEq;
using testing::DoubleNear;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;
using testing::SizeIs;
using testing::ThrowsMessage;

const bool several_threads = [] {
  if (std::getenv("TRIREME_PES") == nullptr) setenv("TRIREME_PES", "3", 1);
  return true;
}();

// Times as if somebody had measured them: when a participant began its first chunk, when it ended the last, how much of
// that it was busy.
struct participant {
  std::uint64_t first = 0, last = 0, busy = 0, chunks = 0;
};
loop_times times_of(std::uint64_t items, const std::vector<participant>& all) {
  loop_times times(items, static_cast<std::uint32_t>(all.size()));
  for (std::size_t number = 0; number < all.size(); ++number) {
    auto& own = const_cast<loop_times::participant_times&>(times.participants()[number]);
    own.first_started = all[number].first;
    own.last_end = all[number].last;
    own.busy = all[number].busy;
    own.claims = all[number].chunks;
  }
  return times;
}

TEST(site_times, the_four_parts_by_hand) {  // K30
  site_times site(std::source_location::current());
  // From 1000 to 1100. One begins at 1010, ends at 1090, 70 of them busy; the other 1020 to 1060, 40 busy.
  const loop_times times = times_of(50, {{1010, 1090, 70, 3}, {1020, 1060, 40, 1}});
  site.add({.began = 1000, .ended = 1100, .participants = 2, .times = &times}, schedules::parse_schedule("dynamic"));
  loop_site_report row = site.row(1.0);
  EXPECT_EQ(row.executions, 1u);
  EXPECT_EQ(row.iterations, 50u);
  EXPECT_EQ(row.claims, 4u);
  EXPECT_EQ(row.participants, 2u);
  EXPECT_EQ(row.schedule, "dynamic");
  EXPECT_THAT(row.total, DoubleEq(100.0));
  EXPECT_THAT(row.compute, DoubleEq(55.0));
  EXPECT_THAT(row.synchronisation, DoubleEq(5.0));
  EXPECT_THAT(row.idle, DoubleEq((10 + 10 + 20 + 40) / 2.0));
  EXPECT_EQ(row.data_movement, std::nullopt);
  EXPECT_THAT(row.imbalance, DoubleEq(70.0 / 55.0));
  // On one core the same 50 iterations take 80: 40 for each of two, so 15 of the 55 were moving data.
  const loop_times alone = times_of(50, {{2000, 2080, 80, 1}, {}});
  site.add_one_core({.began = 2000, .ended = 2080, .participants = 2, .times = &alone});
  row = site.row(1.0);
  EXPECT_EQ(row.one_core_runs, 1u);
  EXPECT_THAT(row.compute, DoubleEq(40.0));
  ASSERT_TRUE(row.data_movement.has_value());
  EXPECT_THAT(*row.data_movement, DoubleEq(15.0));
  EXPECT_THAT(row.compute + row.idle + row.synchronisation + *row.data_movement, DoubleEq(row.total));
}

TEST(site_times, steps_are_from_begin_to_begin_but_for_those_with_a_run_on_one_core) {  // K23
  site_times site(std::source_location::current());
  const loop_times times = times_of(10, {{0, 10, 10, 1}});
  const schedules::schedule which;
  for (const std::uint64_t began : {1000u, 1100u, 1350u})
    site.add({.began = began, .ended = began + 10, .participants = 1, .times = &times}, which);
  site.add_one_core({.began = 1400, .ended = 1500, .participants = 1, .times = &times});
  for (const std::uint64_t began : {1600u, 1700u})
    site.add({.began = began, .ended = began + 10, .participants = 1, .times = &times}, which);
  EXPECT_THAT(site.row(1.0).steps, testing::ElementsAre(100.0, 250.0, 100.0));
}

TEST(site_times, a_participant_that_never_came_was_idle_all_the_time) {  // K27
  site_times site(std::source_location::current());
  const loop_times times = times_of(10, {{0, 100, 100, 1}, {}});
  site.add({.began = 0, .ended = 100, .participants = 2, .times = &times}, schedules::parse_schedule("static"));
  EXPECT_THAT(site.row(1.0).idle, DoubleEq(50.0));
  EXPECT_THAT(site.row(1.0).compute, DoubleEq(50.0));
  EXPECT_THAT(site.row(1.0).synchronisation, DoubleEq(0.0)) << "a static schedule has none";
}

TEST(site_times, the_least_of_equal_one_core_runs_counts_and_the_mean_of_unequal_ones) {
  site_times site(std::source_location::current());
  const loop_times shared = times_of(100, {{0, 60, 60, 1}, {0, 60, 60, 1}});
  site.add({.began = 0, .ended = 60, .participants = 2, .times = &shared}, schedules::parse_schedule("static"));
  const loop_times disturbed = times_of(100, {{0, 300, 300, 1}, {}});
  const loop_times quiet = times_of(100, {{0, 100, 100, 1}, {}});
  site.add_one_core({.participants = 2, .times = &disturbed});
  site.add_one_core({.participants = 2, .times = &quiet});
  EXPECT_THAT(site.row(1.0).compute, DoubleEq(50.0));
  const loop_times shorter = times_of(20, {{0, 20, 20, 1}, {}});
  site.add_one_core({.participants = 2, .times = &shorter});
  EXPECT_THAT(site.row(1.0).compute, DoubleEq(50.0 * (300 + 100 + 20) / 220));
}

TEST(site_times, the_second_execution_runs_on_one_core_and_then_one_of_32) {
  site_times site(std::source_location::current());
  std::vector<int> turns;
  for (int turn = 0; turn < 100; ++turn)
    if (site.wants_one_core()) turns.push_back(turn);
  EXPECT_THAT(turns, testing::ElementsAre(1, 33, 65, 97));
}

// Four participants, staggered with chunks of five behind blocks of ten, by hand.
TEST(chunk_statistics, steals_distances_and_moves_by_hand) {  // K78
  const schedules::loop_layout layout = schedules::layout_of(schedules::parse_schedule("staggered,0.5,5"), 80, 4);
  loop_times times(80, 4);
  times.keep_chunks();
  const auto run = [&](int number, std::uint64_t first, std::uint64_t last) { times.record(number, first, last, 7); };
  run(0, 0, 10), run(0, 10, 15);
  run(1, 20, 30), run(1, 30, 35), run(1, 35, 40);
  run(2, 40, 50), run(2, 50, 55), run(2, 55, 60), run(2, 15, 20);  // from 0, two away
  run(3, 60, 70), run(3, 70, 75), run(3, 75, 80);
  schedules::chunk_statistics all;
  all.add(times, &layout);
  EXPECT_EQ(all.compared(), 0u);
  times.reset(80, 4);
  times.keep_chunks();
  run(0, 0, 10), run(0, 10, 15), run(0, 15, 20);
  run(1, 20, 30);
  run(2, 40, 50), run(2, 50, 55), run(2, 55, 60), run(2, 35, 40);  // from 1
  run(3, 60, 70), run(3, 70, 75), run(3, 75, 80), run(3, 30, 35);  // from 1, two away
  all.add(times, &layout);
  EXPECT_EQ(all.compared(), 1u);
  const std::vector<schedules::participant_chunks>& of = all.participants();
  ASSERT_THAT(of, SizeIs(4));
  EXPECT_EQ(of[0].stolen + of[1].stolen, 0u);
  EXPECT_EQ(of[2].stolen, 2u);
  EXPECT_EQ(of[2].steal_distance, 3u);
  EXPECT_EQ(of[3].stolen, 1u);
  EXPECT_EQ(of[3].steal_distance, 2u);
  EXPECT_EQ(of[0].chunks, 5u);
  EXPECT_EQ(of[1].iterations, 30u);
  EXPECT_EQ(of[2].dynamic_iterations, 10u);
  EXPECT_EQ(of[2].in_sequence, 0u);
  EXPECT_EQ(of[0].moved, 5u);
  EXPECT_EQ(of[1].moved, 0u);
  EXPECT_EQ(of[2].moved, 5u);
  EXPECT_EQ(of[3].moved, 5u);
  EXPECT_EQ(of[3].busy, 49.0);
}

TEST(chunk_statistics, knows_whose_iterations_are_in_every_layout) {
  for (const char* text : {"static", "static,3", "dynamic,7", "guided", "hybrid,0.4,6", "tasklets,0.3,tags=off",
                           "tasklets,0.2,tags=off,queues=2", "staggered,0.5,4"}) {
    const schedules::loop_layout layout = schedules::layout_of(schedules::parse_schedule(text), 120, 3);
    loop_times times(120, 3);
    times.keep_chunks();
    std::uint64_t of_pool = 0;
    for (std::uint32_t number = 0; number < 3; ++number) {
      const board::participant_range& range = layout.ranges[number];
      for (std::uint32_t claim = range.first; claim < range.last; ++claim) {
        const std::uint32_t chunk = layout.chunk_of(claim);
        times.record(static_cast<int>(number), layout.first_item(chunk), layout.last_item(chunk), 1);
      }
    }
    for (std::uint32_t claim = layout.pool.first; claim < layout.pool.last; ++claim, ++of_pool) {
      const std::uint32_t chunk = layout.chunk_of(claim);
      times.record(1, layout.first_item(chunk), layout.last_item(chunk), 1);
    }
    schedules::chunk_statistics all;
    all.add(times, &layout);
    EXPECT_EQ(all.participants()[0].iterations + all.participants()[1].iterations + all.participants()[2].iterations,
              120u)
        << text;
    for (const schedules::participant_chunks& each : all.participants()) EXPECT_EQ(each.stolen, 0u) << text;
    EXPECT_EQ(all.participants()[1].from_pool, of_pool) << text;
  }
}

class loop_report_of_loops : public testing::Test {
 protected:
  loop_report_of_loops() { clear_loop_report(); }
  ~loop_report_of_loops() override { measure_loops(loop_measuring::off); }
  static loop_site_report only_row() {
    const std::vector<loop_site_report> rows = loop_report();
    EXPECT_THAT(rows, SizeIs(1));
    return rows.empty() ? loop_site_report{} : rows[0];
  }
};

TEST_F(loop_report_of_loops, nothing_is_measured_unless_it_is_asked_for) {
  parallel_for(1000, [](int) {});
  EXPECT_THAT(loop_report(), SizeIs(0));
  EXPECT_EQ(to_text(loop_report()), "no parallel loop ran\n");
}

TEST_F(loop_report_of_loops, executions_iterations_and_place_are_exact) {
  measure_loops(loop_measuring::as_is);
  unsigned line = 0;
  for (int round = 0; round < 40; ++round) {
    line = __LINE__ + 1;
    parallel_for(
        1000, [](int) {}, "dynamic,10");
  }
  const loop_site_report row = only_row();
  EXPECT_THAT(row.file, HasSubstr("loop_report_test.cpp"));
  EXPECT_EQ(row.line, line);
  EXPECT_EQ(row.schedule, "dynamic,10");
  EXPECT_EQ(row.executions, 40u);
  EXPECT_EQ(row.one_core_runs, 0u);
  EXPECT_EQ(row.iterations, 40'000u);
  EXPECT_EQ(row.participants, static_cast<std::uint32_t>(loop_participants()));
  EXPECT_EQ(row.claims, 4'000u);
  EXPECT_EQ(row.data_movement, std::nullopt);
  EXPECT_THAT(to_text(loop_report()), HasSubstr("TRIREME_LOOPS_REPORT=full"));
}

TEST_F(loop_report_of_loops, names_what_schedules_consist_of_and_who_ran_what) {  // K78, K91
  measure_loops(loop_measuring::as_is);
  for (int round = 0; round < 5; ++round)
    parallel_for(
        300, [](int) {}, "static");
  loop_site_report row = only_row();
  EXPECT_THAT(row.features, testing::ElementsAre("static part"));
  ASSERT_THAT(row.by_participant, SizeIs(static_cast<std::size_t>(loop_participants())));
  // Whoever does not come in time has its part taken by others, chunk by chunk; then only the sums are known.
  std::uint64_t all_iterations = 0, all_from_others = 0;
  for (const loop_participant_report& each : row.by_participant) {
    all_iterations += each.iterations;
    all_from_others += each.moved_iterations;
    EXPECT_EQ(each.from_pool, 0u);
    if (row.dynamic_iterations != 0) continue;
    EXPECT_EQ(each.chunks, 5u);
    EXPECT_EQ(each.iterations, 5u * 300u / row.participants);
    EXPECT_EQ(each.stolen + each.moved_iterations, 0u);
  }
  EXPECT_EQ(all_iterations, 5u * 300u);
  EXPECT_EQ(row.moved_iterations, all_from_others);
  EXPECT_EQ(row.dynamic_iterations == 0, all_from_others == 0);
  EXPECT_THAT(to_detailed_text(loop_report()), HasSubstr("static consists of: static part\n"));
  clear_loop_report();
  for (int round = 0; round < 5; ++round)
    parallel_for(
        300, [](int) {}, "hybrid,0.4,10");
  row = only_row();
  EXPECT_THAT(row.features, testing::ElementsAre("static part", "shared dynamic part"));
  std::uint64_t from_pool = 0, chunks = 0, iterations = 0;
  for (const loop_participant_report& each : row.by_participant) {
    from_pool += each.from_pool;
    chunks += each.chunks;
    iterations += each.iterations;
  }
  EXPECT_EQ(from_pool, 5u * 18u);
  EXPECT_EQ(chunks, row.claims);
  EXPECT_EQ(iterations, 1500u);
  EXPECT_GE(row.dynamic_iterations, 5u * 180u) << "and what the absent own, where somebody did not come in time";
  EXPECT_LE(row.moved_iterations, 4u * 300u) << "the first execution moves nothing";
}

TEST_F(loop_report_of_loops, the_parts_add_up_whatever_the_schedule) {  // K30
  for (const char* text : {"automatic", "static", "dynamic,3", "guided", "hybrid,0.7", "staggered,0.5", "tasklets",
                           "weighted", "combo", "besf"}) {
    clear_loop_report();
    measure_loops(loop_measuring::with_one_core_runs);
    std::vector<int> runs(3000);
    for (int round = 0; round < 70; ++round)
      parallel_for(
          static_cast<int>(runs.size()), [&](int i) { ++runs[static_cast<std::size_t>(i)]; }, text);
    measure_loops(loop_measuring::off);
    EXPECT_THAT(runs, testing::Each(70)) << text;
    const loop_site_report row = only_row();
    EXPECT_EQ(row.executions, 67u) << text;
    EXPECT_EQ(row.one_core_runs, 3u) << text;
    ASSERT_TRUE(row.data_movement.has_value()) << text;
    EXPECT_GE(row.idle, 0.0) << text;
    EXPECT_GE(row.synchronisation, 0.0) << text;
    EXPECT_GT(row.compute, 0.0) << text;
    EXPECT_THAT(row.compute + row.idle + row.synchronisation + *row.data_movement,
                DoubleNear(row.total, row.total * 1e-9))
        << text;
    EXPECT_GE(row.imbalance, 1.0) << text;
  }
}

TEST_F(loop_report_of_loops, loops_of_one_iteration_and_reductions_have_their_place_too) {
  measure_loops(loop_measuring::as_is);
  parallel_for(1, [](int) {});
  EXPECT_EQ(only_row().participants, 1u);
  EXPECT_EQ(only_row().executions, 1u);
  clear_loop_report();
  const unsigned line = __LINE__ + 1;
  const int sum = parallel_reduce(
      100, 0, [](int i) { return i; }, std::plus<>());
  EXPECT_EQ(sum, 4950);
  EXPECT_EQ(only_row().line, line);
  EXPECT_THAT(only_row().file, HasSubstr("loop_report_test.cpp"));
}

TEST_F(loop_report_of_loops, two_threads_in_one_loop_lose_no_execution) {
  measure_loops(loop_measuring::as_is);
  const auto run = [] {
    for (int round = 0; round < 300; ++round) parallel_for(64, [](int) {});
  };
  const auto both = [&run] {
    std::thread other(run);
    run();
    other.join();
  };
  both();
  const loop_site_report row = only_row();
  EXPECT_EQ(row.executions + row.unmeasured, 600u);
}

TEST_F(loop_report_of_loops, measuring_does_not_change_what_is_learned) {
  // A schedule that searches asks for the same fractions, one execution each, measured by us or not.
  const auto fractions = [](loop_measuring how) {
    measure_loops(how);
    loops::loop_record record;
    loop_options options("besf");
    options.record = &record;
    std::vector<double> tried;
    for (int round = 0; round < 80; ++round) {
      parallel_for(
          100, [](int) {}, options);
      if (tried.empty() || tried.back() != record.named().static_fraction())
        tried.push_back(record.named().static_fraction());
    }
    return tried;
  };
  const std::vector<double> expected = fractions(loop_measuring::off);
  EXPECT_THAT(expected, SizeIs(8));
  EXPECT_EQ(fractions(loop_measuring::as_is), expected);
}

TEST_F(loop_report_of_loops, the_table_has_a_line_per_loop_the_longest_first) {
  loop_site_report one;
  one.file = "/somewhere/sweep.cpp";
  one.line = 7;
  one.schedule = "static";
  one.executions = 2;
  one.claims = 5;
  one.total = 0.010;
  one.compute = 0.006;
  one.idle = 0.003;
  one.synchronisation = 0.0005;
  one.data_movement = 0.0005;
  one.imbalance = 1.25;
  one.unmeasured = 3;
  const std::string text = to_text(std::vector{one});
  EXPECT_THAT(text,
              HasSubstr("     10.000      60.0    30.0     5.0     5.0         2        2.5     1.250  sweep.cpp:7 "
                        "static, 3 not measured\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("TRIREME_LOOPS_REPORT")));
}

TEST(loop_report_wish, off_on_and_full_are_known) {
  EXPECT_NO_THROW(loops::set_loop_report("off", ""));
  EXPECT_NO_THROW(loops::set_loop_report("0", ""));
  EXPECT_THAT([] { loops::set_loop_report("ful", ""); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("loops_report is 'ful'; did you mean full?")));
}

}  // namespace
}  // namespace tri
