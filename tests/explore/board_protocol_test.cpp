// All interleavings of a poster and helpers on one task slot, over two tasks in succession, with the transitions that
// the board itself uses (claim_word.hpp, slot_state.hpp). Helpers enter whenever they like, as with an outdated hint.
// What is shown: every chunk runs exactly once and before the poster sees its task finished; nobody inside ever sees
// the task's memory change; nothing counts twice; open work is never without its bit; nobody waits for ever.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "board/claim_word.hpp"
#include "board/divisible_task.hpp"
#include "board/slot_state.hpp"
#include "explore/explorer.hpp"
#include "explore/plain_word.hpp"

namespace tri::board {
namespace {

using explore::append_value;
using word = explore::plain_word<std::uint64_t>;

constexpr std::size_t most_agents = 3;
constexpr std::size_t most_tasks = 2;
constexpr std::size_t chunks_in_scope = 6;

struct scope {
  int participants = 2;  // agent 0 posts
  int tasks = 2;
  std::array<std::uint8_t, most_tasks> chunks{3, 2};
  std::uint8_t static_quarters = 0;  // of a range, claimed in one step
  std::uint8_t kept = 0;             // chunks at the beginning of a range that nobody steals once its owner has come
  std::uint8_t least = 0;            // with fewer left, an owner who came is left alone
  bool owners_come = false;          // what is kept is kept from the start
  bool last_is_absent = false;       // the last participant never comes
  bool opens_for_absent = false;     // the poster, once it has waited, runs what the absent keep
  bool goes_early = false;           // helpers, after every claim, if they may
  bool goes_without_a_look = false;  // a fault that must be found
  std::uint8_t pool = 0;             // chunks at the end of the task that belong to nobody
  std::uint8_t pool_step = 1;
  std::uint8_t visits = 2;        // of each helper
  bool recycles_blindly = false;  // faults that must be found
  bool reports_before_running = false;
  bool opens_with_a_store = false;
};

enum class place : std::uint8_t {
  recycle,
  write_first,
  write_second,
  write_range,
  open,
  set_bit,  // poster
  claim_own,
  run_own,
  say_left,  // a helper that goes early
  look_before_leaving,
  look_at_pool,
  claim_pool,
  run_pooled,
  steal,
  run_stolen,
  look_at_absent,  // poster
  open_absent,
  clear_bit,
  wait,
  next_task,  // poster, and helpers up to clear_bit
  announce,
  withdraw,
  read_first,
  read_second,
  report,
  leave,
  done  // helper
};

struct agent_state {
  place at = place::announce;
  std::uint8_t task = 0;     // poster: the one it works on; helper: what it read first
  std::uint8_t counter = 0;  // ranges written; victims left; visits in `visits`
  std::uint8_t visits = 0;
  std::uint32_t unreported = 0;
  chunk_span claimed{};
  std::uint32_t opened = 0;  // the poster has run what the absent keep; makes up the size: keys are compared by bytes
};

struct board_model {
  scope limits;
  word state{};
  word bit{};
  std::array<word, most_agents> ranges{};
  word pool{};
  std::array<word, most_agents> left{};
  std::uint8_t first_field = 0xff;  // of the slot: the task's number, written in two steps
  std::uint8_t second_field = 0xff;
  std::array<std::array<std::uint8_t, chunks_in_scope>, most_tasks> runs{};
  std::array<bool, most_tasks> over{};
  std::array<agent_state, most_agents> agent{};
  std::string broken;

  explicit board_model(const scope& given) : limits(given) {
    agent[0].at = place::recycle;
    if (limits.last_is_absent) agent[static_cast<std::size_t>(limits.participants) - 1].at = place::done;
  }

  int agents() const { return limits.participants; }

  bool enabled(int who) const {
    const agent_state& me = agent[static_cast<std::size_t>(who)];
    if (me.at == place::done) return false;
    if (me.at == place::recycle) return slot_inside(state.value) == 0 || limits.recycles_blindly;
    if (me.at == place::wait) return finished(me) || (limits.opens_for_absent && me.opened == 0);
    return true;
  }

  bool finished(const agent_state& poster) const {
    return finished_in_slot(state) + poster.unreported == limits.chunks[poster.task];
  }
  bool has_not_come(std::uint8_t task, std::size_t who) const {
    const chunk_span open = unpack_claim(ranges[who].value);
    return !open.empty() && open.first == range_of_agent(task, who).first;
  }
  bool awaits_owners(std::uint8_t task) const {
    for (std::size_t who = 0; limits.owners_come && who < static_cast<std::size_t>(limits.participants); ++who)
      if (has_not_come(task, who)) return true;
    return false;
  }

  chunk_span range_of_agent(std::uint8_t task, std::size_t who) const {
    return range_of(static_cast<std::uint32_t>(limits.chunks[task] - limits.pool), static_cast<std::uint32_t>(who),
                    static_cast<std::uint32_t>(limits.participants));
  }
  owner_steps steps(std::uint8_t task, std::size_t who) const {
    const chunk_span range = range_of_agent(task, who);
    return {range.first, share_of(range.count(), fraction_q32(limits.static_quarters / 4.0)), {}};
  }
  thief_steps steps_against(std::uint8_t task, std::size_t victim) const {
    const chunk_span range = range_of_agent(task, victim);
    return {range.first, std::min(range.first + limits.kept, range.last), {}, limits.least, limits.owners_come};
  }

  void step(int number) {
    const auto who = static_cast<std::size_t>(number);
    agent_state& me = agent[who];
    if (me.at <= place::set_bit || me.at == place::wait || me.at == place::next_task) {
      step_posting(me);
    } else if (me.at <= place::clear_bit) {
      step_running(me, who);
    } else {
      step_helping(me);
    }
  }

  void step_posting(agent_state& me) {
    switch (me.at) {
      case place::recycle:
        if (limits.recycles_blindly)
          state.value = 0;
        else if (!recycle_slot(state))
          broken = "recycle failed with nobody inside";
        me.at = place::write_first;
        break;
      case place::write_first:
        first_field = me.task, me.at = place::write_second;
        break;
      case place::write_second:
        second_field = me.task, me.counter = 0, me.at = place::write_range;
        break;
      case place::write_range:
        left[me.counter].value = 0;
        ranges[me.counter].value = pack_claim(range_of_agent(me.task, me.counter));
        if (++me.counter < limits.participants) break;
        pool.value =
            pack_claim({static_cast<std::uint32_t>(limits.chunks[me.task] - limits.pool), limits.chunks[me.task]});
        me.at = place::open;
        break;
      case place::open:
        if (limits.opens_with_a_store)
          state.value = slot_open_bit;
        else
          open_slot(state);
        me.at = place::set_bit;
        break;
      case place::set_bit:
        bit.value = 1, me.unreported = 0, me.opened = 0, me.at = place::claim_own;
        break;
      case place::wait:
        if (!finished(me)) {
          me.opened = 1, me.counter = 0, me.at = place::look_at_absent;
          break;
        }
        over[me.task] = true;
        for (std::size_t chunk = 0; chunk < limits.chunks[me.task]; ++chunk) {
          if (runs[me.task][chunk] != 1)
            broken = "finished with a chunk that ran " + std::to_string(runs[me.task][chunk]) + " times";
        }
        bit.value = 0;
        me.at = place::next_task;
        break;
      default:
        me.at = ++me.task < limits.tasks ? place::recycle : place::done;
        if (me.at == place::done) --me.task;
        break;
    }
  }

  void run(agent_state& me) {
    const std::uint8_t task = me.task;
    for (std::uint32_t chunk = me.claimed.first; chunk < me.claimed.last; ++chunk) {
      if (over[task]) broken = "a chunk ran after its task was finished";
      if (++runs[task][chunk] > 1) broken = "a chunk ran twice";
    }
    if (!limits.reports_before_running) me.unreported += me.claimed.count();
    me.claimed = {};
  }

  void step_running(agent_state& me, std::size_t who) {
    const bool helper = who != 0;
    switch (me.at) {
      case place::claim_own:
        me.claimed = take_front(ranges[who], steps(me.task, who));
        if (helper && limits.reports_before_running && !me.claimed.empty()) report_in_slot(state, me.claimed.count());
        me.at = place::run_own;
        if (me.claimed.empty()) me.counter = 1, me.at = helper && me.unreported > 0 ? place::report : after_own();
        break;
      case place::run_own:
        run(me), me.at = helper && limits.goes_early ? place::say_left : place::claim_own;
        break;
      case place::say_left:
        left[who].value = 1, me.at = limits.goes_without_a_look ? place::leave : place::look_before_leaving;
        break;
      case place::look_before_leaving: {
        const chunk_span open = unpack_claim(ranges[who].value);
        const bool may = steps_against(me.task, who).stealable(open, false).count() == open.count();
        me.at = may ? place::leave : place::claim_own;
        break;
      }
      case place::look_at_pool:
        me.at = unpack_claim(pool.value).empty() ? place::steal : place::claim_pool;
        break;
      case place::claim_pool:
        me.claimed = take_shared(pool, limits.pool_step, true);
        me.at = me.claimed.empty() ? place::steal : place::run_pooled;
        break;
      case place::run_pooled:
        run(me), me.at = place::claim_pool;
        break;
      case place::steal: {
        const std::size_t victim = (who + me.counter) % static_cast<std::size_t>(limits.participants);
        me.claimed = take_back(ranges[victim], left[victim], steps_against(me.task, victim));
        me.at = place::run_stolen;
        if (!me.claimed.empty()) break;
        me.at = ++me.counter == limits.participants ? place::clear_bit : place::steal;
        break;
      }
      case place::run_stolen:
        run(me), me.at = place::steal;
        break;
      case place::look_at_absent:
        if (has_not_come(me.task, me.counter))
          me.at = place::open_absent;
        else
          next_absent(me);
        break;
      case place::open_absent:  // it may have come since
        left[me.counter].value = 1, next_absent(me);
        break;
      default:
        if (!awaits_owners(me.task)) bit.value = 0;
        me.at = helper ? place::leave : place::wait;
        break;
    }
  }

  void step_helping(agent_state& me) {
    switch (me.at) {
      case place::announce:
        me.at = announce_in_slot(state) ? place::read_first : place::withdraw;
        break;
      case place::withdraw:
        withdraw_from_slot(state), end_visit(me);
        break;
      case place::read_first:
        me.task = first_field, me.at = place::read_second;
        break;
      case place::read_second:
        if (second_field != me.task) broken = "a helper read two tasks at once";
        me.unreported = 0, me.at = place::claim_own;
        break;
      case place::report:
        report_in_slot(state, me.unreported), me.unreported = 0, me.at = after_own();
        break;
      default:
        leave_slot(state, me.unreported), end_visit(me);
        break;
    }
  }

  void next_absent(agent_state& me) const {
    me.at = place::look_at_absent;
    if (++me.counter == limits.participants) me.counter = 1, me.at = place::claim_own;
  }
  place after_own() const { return limits.pool > 0 ? place::look_at_pool : place::steal; }

  void end_visit(agent_state& me) {
    const std::uint8_t visits = static_cast<std::uint8_t>(me.visits + 1);
    me = {.at = visits < limits.visits ? place::announce : place::done, .visits = visits};
  }

  std::string fault() const {
    if (!broken.empty()) return broken;
    std::size_t inside = 0;
    for (std::size_t who = 1; who < static_cast<std::size_t>(limits.participants); ++who) {
      const place at = agent[who].at;
      if (at != place::announce && at != place::done) ++inside;
      const bool reading =
          at != place::announce && at != place::done && at != place::withdraw && at != place::read_first;
      if (reading && (first_field != agent[who].task || second_field != agent[who].task)) {
        return "the task changed under a helper";
      }
    }
    if (slot_inside(state.value) != inside) return "inside is miscounted";
    const place poster = agent[0].at;
    if (poster >= place::claim_own && poster <= place::clear_bit && bit.value == 0) {
      for (std::size_t who = 0; who < static_cast<std::size_t>(limits.participants); ++who) {
        const chunk_span open = unpack_claim(ranges[who].value);
        // An owner that is at its range, or looks at it once more before it goes, needs no bit to find it.
        const bool at_it = who != 0 && agent[who].at >= place::claim_own && agent[who].at <= place::look_before_leaving;
        const bool owner_left = left[who].value != 0 && !at_it;
        if (!steps_against(agent[0].task, who).stealable(open, owner_left).empty()) return "open work without its bit";
      }
      if (limits.pool > 0 && !unpack_claim(pool.value).empty()) return "an open pool without its bit";
    }
    return "";
  }

  std::string fault_at_end() const {
    for (std::size_t who = 0; who < static_cast<std::size_t>(limits.participants); ++who) {
      if (agent[who].at != place::done) return "agent " + std::to_string(who) + " waits for ever";
    }
    return bit.value != 0 ? "the bit is set though nothing is open" : "";
  }

  void append_key(std::string& key) const {
    append_value(key, state.value);
    append_value(key, bit.value);
    for (const word& range : ranges) append_value(key, range.value);
    append_value(key, pool.value);
    for (const word& one : left) append_value(key, one.value);
    append_value(key, first_field);
    append_value(key, second_field);
    append_value(key, runs);
    append_value(key, over);
    for (const agent_state& one : agent) append_value(key, one);
  }
};

class two_participants : public testing::TestWithParam<int> {};

TEST_P(two_participants, all_interleavings_are_sound) {
  scope limits;
  limits.static_quarters = static_cast<std::uint8_t>(GetParam());
  limits.chunks = {4, 3};
  limits.visits = 3;
  const explore::model_outcome result = explore::explore_all(board_model(limits));
  EXPECT_EQ(result.fault, "") << result.text();
  EXPECT_TRUE(result.complete);
  EXPECT_GT(result.states, 1000u);
  EXPECT_GT(result.ends, 0u);
}
INSTANTIATE_TEST_SUITE_P(static_quarters, two_participants, testing::Values(0, 2, 4));

TEST(three_participants, all_interleavings_are_sound) {
  for (const std::uint8_t quarters : std::array<std::uint8_t, 3>{0, 2, 4}) {
    scope limits;
    limits.participants = 3;
    limits.static_quarters = quarters;
    limits.chunks = {6, 4};
    limits.visits = 2;
    const explore::model_outcome result = explore::explore_all(board_model(limits));
    EXPECT_EQ(result.fault, "") << result.text();
    EXPECT_TRUE(result.complete);
    EXPECT_GT(result.states, 100'000u);
  }
}

TEST(two_participants_and_more_kinds_of_chunks, all_interleavings_are_sound) {
  for (const std::uint8_t step : std::array<std::uint8_t, 2>{1, 2}) {
    scope limits;
    limits.chunks = {6, 5};
    limits.static_quarters = 1;
    limits.kept = 1;
    limits.pool = 3;
    limits.pool_step = step;
    const explore::model_outcome result = explore::explore_all(board_model(limits));
    EXPECT_EQ(result.fault, "") << result.text();
    EXPECT_TRUE(result.complete);
    EXPECT_GT(result.states, 1000u);
  }
}

TEST(two_participants_and_more_kinds_of_chunks, everything_kept_is_never_stolen_from_an_owner_who_came) {
  scope limits;
  limits.chunks = {6, 4};
  limits.kept = 3;
  const explore::model_outcome result = explore::explore_all(board_model(limits));
  EXPECT_EQ(result.fault, "") << result.text();
  EXPECT_TRUE(result.complete);
}

TEST(two_participants_and_more_kinds_of_chunks, the_last_ones_are_left_to_their_owner) {
  scope limits;
  limits.chunks = {6, 5};
  limits.least = 2;
  const explore::model_outcome result = explore::explore_all(board_model(limits));
  EXPECT_EQ(result.fault, "") << result.text();
  EXPECT_TRUE(result.complete);
}

TEST(two_participants_and_more_kinds_of_chunks, an_owner_that_goes_early_leaves_nothing_to_nobody) {
  for (const std::uint8_t kept : std::array<std::uint8_t, 2>{0, 2}) {
    scope limits;
    limits.chunks = {6, 5};
    limits.kept = kept;
    limits.least = 2;
    limits.goes_early = true;
    limits.visits = 3;
    explore::model_outcome result = explore::explore_all(board_model(limits));
    EXPECT_EQ(result.fault, "") << result.text();
    EXPECT_TRUE(result.complete);
    limits.participants = 3;
    limits.chunks = {6, 3};
    limits.visits = 1;
    result = explore::explore_all(board_model(limits));
    EXPECT_EQ(result.fault, "") << result.text();
    EXPECT_TRUE(result.complete);
  }
}

scope with_absent_owner(int participants) {
  scope limits;
  limits.participants = participants;
  limits.chunks = {6, static_cast<std::uint8_t>(participants == 2 ? 5 : 3)};
  limits.kept = 2;
  limits.owners_come = true;
  limits.last_is_absent = true;
  limits.visits = participants == 2 ? 3 : 1;
  return limits;
}

TEST(owners_who_should_come, are_not_waited_for_for_ever) {
  for (const int participants : {2, 3}) {
    scope limits = with_absent_owner(participants);
    limits.opens_for_absent = true;
    explore::model_outcome result = explore::explore_all(board_model(limits));
    EXPECT_EQ(result.fault, "") << result.text();
    EXPECT_TRUE(result.complete);
    limits.last_is_absent = false;  // or is it only late?
    result = explore::explore_all(board_model(limits));
    EXPECT_EQ(result.fault, "") << result.text();
    EXPECT_TRUE(result.complete);
  }
}

TEST(wrong_protocols_are_found, waiting_for_an_owner_who_never_comes) {
  EXPECT_EQ(explore::explore_all(board_model(with_absent_owner(2))).fault, "agent 0 waits for ever");
}

TEST(wrong_protocols_are_found, an_owner_that_goes_early_without_a_look) {
  scope limits;
  limits.participants = 3;
  limits.chunks = {6, 3};
  limits.least = 2;
  limits.goes_early = true;
  limits.goes_without_a_look = true;
  limits.visits = 1;
  EXPECT_NE(explore::explore_all(board_model(limits)).fault, "");
}

TEST(three_participants, with_a_pool_all_interleavings_are_sound) {
  scope limits;
  limits.participants = 3;
  limits.chunks = {5, 4};
  limits.kept = 1;
  limits.pool = 2;
  limits.visits = 1;
  const explore::model_outcome result = explore::explore_all(board_model(limits));
  EXPECT_EQ(result.fault, "") << result.text();
  EXPECT_TRUE(result.complete);
  EXPECT_GT(result.states, 30'000u);
}

TEST(three_participants, random_interleavings_of_a_larger_task_are_sound) {
  scope limits;
  limits.participants = 3;
  limits.static_quarters = 2;
  limits.chunks = {6, 6};
  limits.visits = 6;
  const explore::model_outcome result = explore::explore_random(board_model(limits), 2026, 20'000, 10'000);
  EXPECT_EQ(result.fault, "") << result.text();
  EXPECT_EQ(result.ends, 20'000u);
}

TEST(wrong_protocols_are_found, recycling_while_somebody_is_inside) {
  scope limits;
  limits.recycles_blindly = true;
  EXPECT_NE(explore::explore_all(board_model(limits)).fault, "");
}

TEST(wrong_protocols_are_found, reporting_a_chunk_before_it_has_run) {
  scope limits;
  limits.reports_before_running = true;
  EXPECT_NE(explore::explore_all(board_model(limits)).fault, "");
}

TEST(wrong_protocols_are_found, opening_with_a_store_forgets_an_announcement) {
  scope limits;
  limits.opens_with_a_store = true;
  EXPECT_EQ(explore::explore_all(board_model(limits)).fault, "inside is miscounted");
}

}  // namespace
}  // namespace tri::board
