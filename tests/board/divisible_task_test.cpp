// Divisible tasks step by step: one thread plays all PEs in turn, so every order of events is forced, not hoped for.
#include <gmock/gmock.h>

#include <vector>

#include "board_memory.hpp"

namespace tri::board {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::ThrowsMessage;

struct seen_items {
  std::vector<int> runs;                                       // per item
  std::vector<std::pair<std::uint64_t, std::uint64_t>> calls;  // [first, last)
  std::vector<int> by;                                         // PE of each call
};

// The test's record is behind argument 0: every PE here is of one process.
void record(const task_view& task, std::uint64_t first, std::uint64_t last, int pe) noexcept {
  auto& seen = *reinterpret_cast<seen_items*>(task.arguments[0]);
  for (std::uint64_t item = first; item < last && item < seen.runs.size(); ++item) ++seen.runs[item];
  seen.calls.emplace_back(first, last);
  seen.by.push_back(pe);
}

constexpr auto once = [] { return false; };  // one claim only

struct divisible_task_test : testing::Test {
  divisible_task_test() { operation = operations.chunks.add("record", record); }

  task_spec spec(std::uint64_t total, std::uint32_t participants, double static_fraction, std::uint64_t chunk = 1) {
    seen = {};
    seen.runs.assign(total < 1'000'000 ? total : 0, 0);
    task_spec task;
    task.operation = operation;
    task.arguments[0] = reinterpret_cast<std::uint64_t>(&seen);
    task.total = total;
    task.chunk = chunk;
    task.participants = participants;
    task.static_fraction = static_fraction;
    return task;
  }
  std::uint64_t items_by(int pe) const {
    std::uint64_t items = 0;
    for (std::size_t call = 0; call < seen.calls.size(); ++call) {
      if (seen.by[call] == pe) items += seen.calls[call].second - seen.calls[call].first;
    }
    return items;
  }

  operation_table operations;
  operation_id operation = 0;
  seen_items seen;
  test_host host{{0, 0, 0, 0}, operations};
};

TEST_F(divisible_task_test, without_helpers_the_poster_runs_everything_once) {
  for (const double fraction : {0.0, 0.3, 1.0}) {
    for (const std::uint64_t total : {0u, 1u, 2u, 7u, 100u}) {
      for (const std::uint64_t chunk : {1u, 3u, 1000u}) {
        host.pes[1].run(spec(total, 4, fraction, chunk));
        EXPECT_THAT(seen.runs, Each(1)) << total << " items, chunk " << chunk << ", static " << fraction;
        EXPECT_FALSE(host.pes[0].has_work());
        EXPECT_TRUE(host.view.is_valid());
      }
    }
  }
}

TEST_F(divisible_task_test, the_static_part_is_claimed_in_one_step) {
  const task_handle task = host.pes[0].post(spec(1000, 1, 0.7)).handle;
  host.pes[0].run_own(task);
  ASSERT_EQ(seen.calls.size(), 301u);
  EXPECT_EQ(seen.calls[0], std::pair(std::uint64_t{0}, std::uint64_t{700}));
  EXPECT_EQ(seen.calls[1], std::pair(std::uint64_t{700}, std::uint64_t{701}));
  host.pes[0].finish(task);
  EXPECT_THAT(seen.runs, Each(1));
}

TEST_F(divisible_task_test, each_participant_takes_its_own_range_first) {
  const post_result posted = host.pes[0].post(spec(40, 4, 1.0));
  EXPECT_EQ(posted.useful_helpers, 3u);
  EXPECT_TRUE(host.pes[2].has_work());
  EXPECT_EQ(host.pes[2].help(once), 10u);
  EXPECT_EQ(host.pes[3].help(once), 10u);
  EXPECT_EQ(host.pes[1].help(once), 10u);
  EXPECT_EQ(seen.calls[0], std::pair(std::uint64_t{20}, std::uint64_t{30}));
  EXPECT_FALSE(host.pes[0].finished(posted.handle));
  EXPECT_EQ(host.pes[0].run_own(posted.handle), 10u);
  EXPECT_TRUE(host.pes[0].finished(posted.handle));
  host.pes[0].finish(posted.handle);
  EXPECT_THAT(seen.runs, Each(1));
}

TEST_F(divisible_task_test, the_range_of_an_owner_who_never_comes_is_stolen_from_the_back) {
  const task_handle task = host.pes[0].post(spec(40, 4, 1.0)).handle;
  host.pes[2].help(once);  // its own range
  EXPECT_EQ(host.pes[2].help(once), 1u);
  EXPECT_EQ(seen.calls[1], std::pair(std::uint64_t{39}, std::uint64_t{40})) << "the back of PE 3, the next in the ring";
  EXPECT_EQ(host.pes[3].help(once), 9u) << "the owner comes late and takes what is left in one step";
  EXPECT_EQ(host.pes[2].help(), 20u) << "PE 0 and PE 1 have not come: all of theirs";
  EXPECT_TRUE(host.pes[0].finished(task));
  EXPECT_FALSE(host.pes[1].has_work()) << "who finds a task exhausted takes it off the board";
  host.pes[0].finish(task);
  EXPECT_THAT(seen.runs, Each(1));
  EXPECT_EQ(items_by(0), 0u);
}

TEST_F(divisible_task_test, helpers_that_are_no_participants_steal) {
  task_spec task = spec(30, 1, 1.0);
  task.first_participant = 1;
  task.thief.step = 4;
  const task_handle handle = host.pes[1].post(task).handle;
  EXPECT_EQ(host.pes[3].help(once), 4u);
  EXPECT_EQ(seen.calls[0], std::pair(std::uint64_t{26}, std::uint64_t{30}));
  EXPECT_EQ(host.pes[1].run_own(handle), 26u);
  host.pes[1].finish(handle);
  EXPECT_THAT(seen.runs, Each(1));
}

TEST_F(divisible_task_test, the_poster_need_not_be_a_participant) {
  task_spec task = spec(12, 2, 0.5);
  task.first_participant = 2;
  host.pes[0].run(task);
  EXPECT_THAT(seen.runs, Each(1));
  EXPECT_EQ(items_by(0), 12u);
}

TEST_F(divisible_task_test, owner_steps_of_several_chunks) {
  task_spec task = spec(10, 1, 0.0, 2);
  task.owner.step = 2;
  host.pes[0].finish(host.pes[0].post(task).handle);
  EXPECT_THAT(seen.calls, testing::ElementsAre(std::pair(0u, 4u), std::pair(4u, 8u), std::pair(8u, 10u)));
}

using call = std::pair<std::uint64_t, std::uint64_t>;

TEST_F(divisible_task_test, claims_that_shrink_with_what_is_left) {
  task_spec task = spec(32, 1, 0.0);
  task.owner = {.step = 3, .shift = 1};
  host.pes[0].finish(host.pes[0].post(task).handle);
  EXPECT_THAT(seen.calls, testing::ElementsAre(call(0, 16), call(16, 24), call(24, 28), call(28, 31), call(31, 32)));
  task = spec(32, 1, 0.0);
  task.thief = {.step = 1, .shift = 2};
  const task_handle posted = host.pes[0].post(task).handle;
  EXPECT_EQ(host.pes[1].help(once), 8u);
  EXPECT_EQ(host.pes[1].help(once), 6u);
  host.pes[0].finish(posted);
  EXPECT_THAT(seen.runs, Each(1));
}

TEST_F(divisible_task_test, ranges_of_any_length_and_a_pool) {
  const std::vector<participant_range> ranges{{0, 10, 6, 0}, {10, 11, 0, 0}, {11, 11, 0, 0}, {20, 30, 10, 0}};
  task_spec task = spec(30, 4, 0.25);  // the fraction does not count
  task.ranges = ranges;
  task.pool = {11, 20};
  task.pool_step = 4;
  const task_handle posted = host.pes[0].post(task).handle;
  EXPECT_EQ(host.pes[2].help(once), 4u) << "its range is empty, so from the pool";
  EXPECT_EQ(host.pes[3].help(once), 10u);
  EXPECT_EQ(host.pes[0].run_own(posted), 10u);
  EXPECT_EQ(host.pes[3].help(), 6u) << "the rest of the pool, and PE 1's range: it never came";
  EXPECT_TRUE(host.pes[0].finished(posted));
  EXPECT_THAT(seen.calls, testing::ElementsAre(call(11, 15), call(20, 30), call(0, 6), call(6, 7), call(7, 8),
                                               call(8, 9), call(9, 10), call(15, 19), call(19, 20), call(10, 11)));
  host.pes[0].finish(posted);
  EXPECT_TRUE(host.view.is_valid());
}

TEST_F(divisible_task_test, what_an_owner_keeps_is_not_stolen_once_it_came) {
  const std::vector<participant_range> ranges{{0, 8, 0, 8}, {8, 16, 1, 6}};
  task_spec task = spec(16, 2, 0.0);
  task.ranges = ranges;
  const task_handle posted = host.pes[0].post(task).handle;
  EXPECT_EQ(host.pes[2].help(once), 1u) << "PE 0 has not come: what it may keep is nobody's yet";
  EXPECT_EQ(seen.calls.back(), call(7, 8));
  EXPECT_EQ(host.pes[1].help(once), 6u) << "it stays until it has run what nobody else may run";
  EXPECT_EQ(host.pes[3].help(), 7u + 2u) << "all of PE 0, who has not come, and the last two of PE 1";
  host.pes[0].finish(posted);
  EXPECT_THAT(seen.runs, Each(1));
}

TEST_F(divisible_task_test, the_last_chunks_are_left_to_an_owner_who_came) {
  task_spec task = spec(20, 2, 0.0);
  task.owner.step = 7;
  task.least = 4;
  const task_handle posted = host.pes[0].post(task).handle;
  EXPECT_EQ(host.pes[1].help(once), 10u) << "3 are left after the first step: nobody else would take them, so it stays";
  EXPECT_EQ(host.pes[2].help(), 10u) << "PE 0 has not come, so all of its range";
  host.pes[0].finish(posted);
  EXPECT_THAT(seen.runs, Each(1));
  const task_handle again = host.pes[0].post(task).handle;
  EXPECT_EQ(host.pes[0].run_own(again), 10u);
  EXPECT_EQ(host.pes[1].help(once), 10u);
  host.pes[0].finish(again);
}

TEST_F(divisible_task_test, owners_who_are_sure_to_come_find_what_is_kept_for_them) {
  const std::vector<participant_range> ranges{{0, 8, 8, 8}, {8, 16, 4, 6}};
  task_spec task = spec(16, 2, 0.0);
  task.ranges = ranges;
  task.owners_come = true;
  const task_handle posted = host.pes[0].post(task).handle;
  EXPECT_EQ(host.pes[0].run_own(posted), 8u);
  EXPECT_EQ(host.pes[0].run_rest(posted), 2u) << "what PE 1 does not keep";
  EXPECT_EQ(host.pes[2].help(), 0u);
  EXPECT_TRUE(host.pes[1].has_work()) << "PE 1 must find its own";
  EXPECT_FALSE(host.pes[0].finished(posted));
  EXPECT_EQ(host.pes[1].help(), 6u);
  host.pes[0].finish(posted);
  EXPECT_FALSE(host.pes[1].has_work());
  EXPECT_THAT(seen.runs, Each(1));
}

TEST_F(divisible_task_test, a_poster_that_has_waited_long_runs_what_the_absent_keep) {
  const std::vector<participant_range> ranges{{0, 4, 4, 4}, {4, 12, 4, 8}, {12, 16, 4, 4}};
  task_spec task = spec(16, 3, 0.0);
  task.ranges = ranges;
  task.owners_come = true;
  const task_handle posted = host.pes[0].post(task).handle;
  EXPECT_EQ(host.pes[0].run_rest(posted), 4u) << "its own";
  std::uint32_t claims = 0;
  EXPECT_EQ(host.pes[1].help([&] { return ++claims < 1; }), 8u) << "an owner that is at work does not go early";
  EXPECT_FALSE(host.pes[0].finished(posted)) << "PE 2 has not come";
  EXPECT_EQ(host.pes[0].run_reserved_chunks(posted), 4u);
  EXPECT_TRUE(host.pes[0].finished(posted));
  EXPECT_EQ(host.pes[2].help(), 0u) << "nothing is left for the late one";
  host.pes[0].finish(posted);
  EXPECT_THAT(seen.runs, Each(1));
}

// Six participants, nothing to steal but what is placed: participant 2 goes outward, the fuller of each pair first.
TEST(steal_order, neighbours_outward_and_the_fuller_one_first) {
  operation_table operations;
  seen_items seen;
  const operation_id operation = operations.chunks.add("record", record);
  test_host host(std::vector<std::uint32_t>(6, 0), operations);
  std::vector<participant_range> ranges;
  const std::array<std::uint32_t, 6> lengths{2, 1, 0, 2, 1, 3};
  for (std::uint32_t length : lengths) {
    const std::uint32_t first = ranges.empty() ? 0 : ranges.back().last;
    ranges.push_back({first, first + length, 0, 0});
  }
  task_spec task;
  task.operation = operation;
  task.arguments[0] = reinterpret_cast<std::uint64_t>(&seen);
  task.total = 9;
  seen.runs.assign(9, 0);
  task.participants = 6;
  task.order = steal_order::neighbours;
  task.ranges = ranges;
  const task_handle posted = host.pes[2].post(task).handle;
  host.pes[2].finish(posted);
  // 3 has two and 1 one; then a tie at one each: the left one; then 0 before 4; at last 5, opposite, once.
  EXPECT_THAT(seen.calls, testing::ElementsAre(call(4, 5), call(2, 3), call(3, 4), call(1, 2), call(0, 1), call(5, 6),
                                               call(8, 9), call(7, 8), call(6, 7)));
  EXPECT_THAT(seen.runs, Each(1));
}

TEST_F(divisible_task_test, ranges_that_do_not_fit_are_refused) {
  const auto refused = [&](std::vector<participant_range> ranges, chunk_span pool, const char* why) {
    task_spec task = spec(10, 2, 0.0);
    task.ranges = ranges;
    task.pool = pool;
    EXPECT_THAT([&] { host.pes[0].post(task); }, ThrowsMessage<std::invalid_argument>(HasSubstr(why)));
    EXPECT_FALSE(host.pes[1].has_work());
  };
  refused({{0, 10, 0, 0}}, {}, "1 ranges are given for 2 participants");
  refused({}, {0, 10}, "0 ranges are given for 2 participants");
  refused({{0, 5, 0, 0}, {5, 11, 0, 0}}, {}, "range 1 is chunks 5 to 11; it must lie within 0 to 10");
  refused({{0, 5, 6, 0}, {5, 10, 0, 0}}, {}, "range 0 of 5 chunks has a static share of 6");
  refused({{0, 5, 0, 6}, {5, 10, 0, 0}}, {}, "keeps 6");
  refused({{0, 5, 0, 0}, {5, 9, 0, 0}}, {}, "hold 9 chunks, up to number 0; the task has 10");
  refused({{0, 5, 0, 0}, {5, 10, 0, 0}}, {0, 1}, "hold 11 chunks");
  task_spec task = spec(most_chunks, 1, 0.0);
  const std::vector<participant_range> ranges{{0, 1, 0, 0}};
  task.ranges = ranges;
  task.pool = {1, 0xffffffffu};
  EXPECT_THAT([&] { host.pes[0].post(task); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("4 PEs take 1 at a time")));
}

TEST_F(divisible_task_test, totals_beyond_32_bits) {
  const std::uint64_t total = (std::uint64_t{1} << 40) + 5;
  host.pes[0].run(spec(total, 4, 0.5, std::uint64_t{1} << 36));
  std::uint64_t items = 0;
  for (const auto& [first, last] : seen.calls) items += last - first;
  EXPECT_EQ(items, total);
  host.pes[0].run(spec(~std::uint64_t{0}, 4, 1.0, std::uint64_t{1} << 63));
  items = 0;
  for (const auto& [first, last] : seen.calls) items += last - first;
  EXPECT_EQ(items, ~std::uint64_t{0});
}

TEST_F(divisible_task_test, the_largest_number_of_chunks) {
  const task_handle task = host.pes[0].post(spec(most_chunks, 4, 1.0)).handle;
  EXPECT_EQ(host.pes[0].run_own(task), 0xffffffffu / 4);
  host.pes[1].help(once);
  host.pes[2].help(once);
  host.pes[3].help(once);
  EXPECT_TRUE(host.pes[0].finished(task));
  EXPECT_EQ(items_by(0) + items_by(1) + items_by(2) + items_by(3), most_chunks);
  host.pes[0].finish(task);
}

TEST_F(divisible_task_test, all_slots_taken_runs_in_place) {
  std::vector<task_handle> open;
  for (std::uint32_t slot = 0; slot < slots_per_pe; ++slot) open.push_back(host.pes[0].post(spec(0, 4, 1.0)).handle);
  EXPECT_TRUE(open.back());
  EXPECT_FALSE(host.pes[0].post(spec(4, 4, 1.0)).handle);
  host.pes[0].run(spec(4, 4, 1.0));
  EXPECT_THAT(seen.runs, Each(1));
  EXPECT_TRUE(host.pes[0].finished(open[0])) << "no items: finished when posted";
  for (const task_handle task : open) host.pes[0].finish(task);
  EXPECT_TRUE(host.pes[0].post(spec(0, 4, 1.0)).handle);
}

TEST_F(divisible_task_test, a_helper_stuck_inside_a_finished_task_costs_a_slot_not_a_wait) {
  const task_handle first = host.pes[0].post(spec(8, 4, 1.0)).handle;
  const board_view view = board_view::over(host.memory.span().data(), 4, 1, operations);
  ASSERT_TRUE(announce_in_slot(view.slots()[first.slot].state));  // a helper enters and is descheduled
  host.pes[0].finish(first);
  EXPECT_THAT(seen.runs, Each(1));
  const task_handle second = host.pes[0].post(spec(8, 4, 1.0)).handle;
  ASSERT_TRUE(second);
  EXPECT_NE(second.slot, first.slot);
  host.pes[0].finish(second);
  leave_slot(view.slots()[first.slot].state, 0);
  EXPECT_EQ(host.pes[0].post(spec(0, 4, 1.0)).handle.slot, first.slot);
}

TEST_F(divisible_task_test, a_late_helper_with_an_old_hint_finds_nothing) {
  const task_handle task = host.pes[0].post(spec(8, 4, 1.0)).handle;
  host.pes[0].finish(task);
  board_view view = board_view::over(host.memory.span().data(), 4, 1, operations);
  view.tasks_open_to(any_process).set(task.slot);  // as if the bit had been read long ago
  const std::size_t calls = seen.calls.size();
  EXPECT_EQ(host.pes[2].help(), 0u);
  EXPECT_EQ(seen.calls.size(), calls);
  EXPECT_FALSE(host.pes[2].has_work());
}

TEST_F(divisible_task_test, outdated_and_foreign_handles_are_refused) {
  const task_handle task = host.pes[0].post(spec(8, 4, 1.0)).handle;
  EXPECT_THAT([&] { host.pes[1].finish(task); }, ThrowsMessage<std::logic_error>(HasSubstr("not one of PE 1")));
  EXPECT_THROW(host.pes[0].finish({}), std::logic_error);
  host.pes[0].finish(task);
  EXPECT_THAT([&] { host.pes[0].finished(task); }, ThrowsMessage<std::logic_error>(HasSubstr("is free after task 1")));
  const task_handle next = host.pes[0].post(spec(8, 4, 1.0)).handle;
  EXPECT_THAT([&] { host.pes[0].run_own(task); },
              ThrowsMessage<std::logic_error>(HasSubstr("names task 1 of slot 0, which now holds task 2")));
  host.pes[0].finish(next);
}

TEST_F(divisible_task_test, invalid_tasks_are_refused_with_values) {
  const auto refused = [&](auto change, const char* text) {
    task_spec task = spec(100, 4, 0.5);
    change(task);
    EXPECT_THAT([&] { host.pes[0].post(task); }, ThrowsMessage<std::invalid_argument>(HasSubstr(text)));
    EXPECT_THROW(host.pes[0].run(task), std::invalid_argument);
    EXPECT_FALSE(host.pes[1].has_work());
  };
  refused([](task_spec& task) { task.chunk = 0; }, "chunk is 0 items");
  refused([](task_spec& task) { task.total = std::uint64_t{1} << 33; },
          "8589934592 items in chunks of 1 are 8589934592 chunks");
  refused([](task_spec& task) { task.total = std::uint64_t{1} << 33; }, "so chunks of at least 3");
  refused([](task_spec& task) { task.participants = 0; }, "participants is 0");
  refused([](task_spec& task) { task.participants = 5; }, "PEs 0 to 4; the board has PEs 0 to 3");
  refused([](task_spec& task) { task.first_participant = 4; }, "PEs 4 to 7");
  refused([](task_spec& task) { task.static_fraction = 1.5; }, "static_fraction is 1.5");
  refused([](task_spec& task) { task.static_fraction = -0.1; }, "static_fraction is -0.1");
  refused([](task_spec& task) { task.static_fraction = 0.0 / 0.0; }, "static_fraction is");
  refused([](task_spec& task) { task.owner.step = 0; }, "owner.step is 0");
  refused([](task_spec& task) { task.thief.step = 0; }, "thief.step is 0");
  refused([](task_spec& task) { task.process = 1; }, "process is 1");
  refused([](task_spec& task) { task.process = -2; }, "process is -2");
  refused([](task_spec& task) { task.operation = 7; },
          "chunk operation 7 is not registered; this process knows 0 to 0");
}

TEST_F(divisible_task_test, restricted_tasks_are_seen_by_their_process_only) {
  test_host two{{0, 0, 1, 1}, operations};
  task_spec task = spec(20, 4, 0.0);
  task.process = 1;
  EXPECT_THAT([&] { two.pes[0].post(task); }, ThrowsMessage<std::invalid_argument>(HasSubstr("PE 0, which posts it")));
  const post_result posted = two.pes[2].post(task);
  EXPECT_EQ(posted.useful_helpers, 1u);
  EXPECT_FALSE(two.pes[0].has_work());
  EXPECT_TRUE(two.pes[3].has_work());
  const board_view view = board_view::over(two.memory.span().data(), 4, 2, operations);
  view.tasks_open_to(any_process).set(posted.handle.slot);  // an old hint leads a PE of the other process there
  EXPECT_EQ(two.pes[1].help(), 0u);
  view.tasks_open_to(any_process).clear(posted.handle.slot);
  EXPECT_EQ(two.pes[3].help(), 20u);
  two.pes[2].finish(posted.handle);
  EXPECT_THAT(seen.runs, Each(1));
}

TEST_F(divisible_task_test, more_than_64_pes) {
  test_host large{std::vector<std::uint32_t>(150, 0), operations};
  const post_result first = large.pes[149].post(spec(1500, 150, 1.0));
  EXPECT_EQ(first.useful_helpers, 149u);
  for (std::uint32_t pe = 0; pe < 150; pe += 2) EXPECT_EQ(large.pes[pe].help(once), 10u) << "PE " << pe;
  const task_handle second = large.pes[3].post(spec(0, 150, 1.0)).handle;
  large.pes[149].finish(first.handle);
  large.pes[3].finish(second);
  EXPECT_TRUE(large.view.is_valid());
  for (board_pe& pe : large.pes) EXPECT_FALSE(pe.has_work());
}

TEST_F(divisible_task_test, the_nearest_task_is_found_first) {
  const task_handle far = host.pes[0].post(spec(4, 1, 0.0)).handle;
  task_spec near_task = spec(4, 1, 0.0);
  near_task.first_participant = 3;
  const task_handle near = host.pes[3].post(near_task).handle;
  EXPECT_EQ(host.pes[2].help(once), 1u);  // PE 3 comes before PE 0 in PE 2's ring
  EXPECT_TRUE(host.pes[3].run_own(near) == 3 && host.pes[3].finished(near));
  host.pes[0].finish(far);
  host.pes[3].finish(near);
}

}  // namespace
}  // namespace tri::board
