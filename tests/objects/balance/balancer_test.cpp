// The machine that decides, without PEs: all orders of answers, requests at any time, answers that it did not ask for.
#include "objects/balance/balancer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <map>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "objects/balance/balance_line.hpp"

namespace tri::objects {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

balance_request by(const char* strategy, bool if_it_pays = false) {
  balance_request made;
  made.strategy = strategy;
  made.only_if_it_pays = if_it_pays;
  return made;
}

/// PEs that answer: what is asked of them waits in `questions` until a test lets one be answered. Loads are given.
struct fake_job {
  fake_job(std::initializer_list<std::vector<std::int64_t>> loads_of_pes, balancer::settings chosen = {})
      : loads(loads_of_pes), state([&] {
          chosen.pes = static_cast<std::int32_t>(loads.size());
          return chosen;
        }()) {}

  struct question {
    enum class kind : std::uint8_t { total, loads, snapshot, moves } what;
    std::int32_t pe;
    std::uint32_t round;
    std::vector<move_order> orders = {};
  };

  void perform(const balancer::actions& out) {
    for (std::int32_t pe = 0; pe < static_cast<std::int32_t>(loads.size()); ++pe) {
      if (out.ask_for_totals) questions.push_back({question::kind::total, pe, out.round});
      if (out.ask_for_loads) questions.push_back({question::kind::loads, pe, out.round});
      if (out.ask_for_snapshot) questions.push_back({question::kind::snapshot, pe, out.round});
    }
    for (const auto& each : out.orders) questions.push_back({question::kind::moves, each.pe, out.round, each.orders});
    for (const auto& each : out.answers) answers.push_back(each);
    if (out.has_balanced) ++balancings;
  }
  template <class Event>
  void step(Event&& event) {
    balancer::actions out;
    event(out);
    perform(out);
  }
  void request(std::uint64_t number, const balance_request& options) {
    step([&](auto& out) { state.request(number, options, ++now, out); });
  }
  void answer(std::size_t which) {
    const question asked = questions[which];
    questions.erase(questions.begin() + static_cast<std::ptrdiff_t>(which));
    const auto pe = static_cast<std::size_t>(asked.pe);
    step([&](auto& out) {
      if (asked.what == question::kind::total) {
        std::int64_t busy = 0;
        for (const std::int64_t each : loads[pe]) busy += each;
        total_so_far[asked.pe] += busy;
        state.take(asked.round, load_total{asked.pe, 1.0, total_so_far[asked.pe]}, ++now, out);
      } else if (asked.what == question::kind::moves) {
        for (const move_order& each : asked.orders) placed[each.name.number] = each.to;
        state.take(asked.round, asked.pe, move_counts{static_cast<std::int64_t>(asked.orders.size()), 0, 0}, ++now,
                   out);
      } else {
        if (asked.what == question::kind::loads) total_so_far[asked.pe] = 0;
        load_part part;
        part.pe = asked.pe;
        for (std::size_t i = 0; i < loads[pe].size(); ++i) {
          load_part::element one;
          one.name = {1, pe * 100 + i};
          one.load_ns = loads[pe][i];
          part.elements.push_back(one);
        }
        state.take(asked.round, std::move(part), ++now, out);
      }
    });
  }
  void answer_all() {
    while (!questions.empty()) answer(0);
  }

  std::vector<std::vector<std::int64_t>> loads;
  balancer state;
  std::vector<question> questions;
  std::vector<balancer::actions::answer> answers;
  std::size_t balancings = 0;
  std::map<std::int32_t, std::int64_t> total_so_far;
  std::map<std::uint64_t, std::int32_t> placed;
  std::int64_t now = 0;
};

TEST(balancer, moves_elements_and_reports) {
  fake_job job({{8000, 6000, 4000, 2000}, {}});
  job.request(7, by("greedy"));
  EXPECT_EQ(job.questions.size(), 2U);
  job.answer_all();
  ASSERT_EQ(job.answers.size(), 1U);
  EXPECT_EQ(job.answers[0].request, 7U);
  EXPECT_EQ(job.answers[0].report.strategy, "greedy");
  EXPECT_EQ(job.answers[0].report.objects, 4);
  EXPECT_EQ(job.answers[0].report.moved, 2);
  EXPECT_EQ(job.answers[0].report.longest_ns, 20'000.0);
  EXPECT_EQ(job.answers[0].report.predicted_ns, 10'000.0);
  EXPECT_TRUE(job.state.is_idle());
  EXPECT_EQ(job.state.describe(), "");
}

TEST(balancer, leaves_what_is_within_the_tolerance) {
  for (const double tolerance : {0.02, 0.2}) {
    balancer::settings chosen{.pes = 2, .hosts = 1, .strategy = "refine"};
    chosen.tolerance = tolerance;
    fake_job job({{2000, 2000, 2000, 200, 200}, {2000, 2000, 1000, 400}}, chosen);
    job.request(1, by("refine"));
    job.answer_all();
    ASSERT_EQ(job.answers.size(), 1U);
    EXPECT_EQ(job.answers[0].report.moved != 0, tolerance < 0.1);
  }
}

// Moves that would lengthen the makespan are dropped, and the answer says so.
TEST(balancer, harmful_moves_are_dropped) {
  balancing::add_strategy(
      {"all_to_last", "the worst", [](const balancing::snapshot& of, const balancing::strategy_options&) {
         const auto last = static_cast<std::int32_t>(of.pes.size()) - 1;
         std::vector<balancing::move> moves;
         for (std::uint32_t object = 0; object < of.objects.size(); ++object)
           if (of.objects[object].pe != last) moves.push_back({object, of.objects[object].pe, last});
         return balancing::decided_moves(std::move(moves));
       }});
  fake_job job({{2000, 3000}, {4000}});
  job.request(1, by("all_to_last"));
  job.answer_all();
  ASSERT_EQ(job.answers.size(), 1U);
  EXPECT_TRUE(job.answers[0].is_refused);
  EXPECT_EQ(job.answers[0].report.moved, 0);
  EXPECT_TRUE(job.placed.empty());
  job.request(2, by("greedy"));
  job.answer_all();
  EXPECT_FALSE(job.answers[1].is_refused);
}

// What ends with an error, or is a mere snapshot, is no balancing.
TEST(balancer, reports_balancings_alone) {
  fake_job job({{2000, 3000}, {4000}});
  const auto ends_as_balancing = [&] {
    const std::size_t before = job.balancings;
    job.answer_all();
    return job.balancings > before;
  };
  job.request(1, by("greedy"));
  EXPECT_TRUE(ends_as_balancing());
  job.request(2, by("greedy", true));
  EXPECT_TRUE(ends_as_balancing());
  job.request(3, by("curve"));  // there are no coordinates
  EXPECT_FALSE(ends_as_balancing());
  job.step([&](auto& out) { job.state.request_snapshot(4, ++job.now, out); });
  EXPECT_FALSE(ends_as_balancing());
}

TEST(balance_line, says_what_a_balancing_did) {
  balance_report report;
  report.strategy = "refine";
  report.objects = 64;
  report.moved = 12;
  report.longest_ns = 34.5e6;
  report.level_ns = 30e6;
  report.predicted_ns = 31e6;
  report.took_ns = 250'000;
  EXPECT_EQ(balance_line(3, report, false),
            "load balancing 3: refine, 12 of 64 objects moved; longest PE 34.500 ms, level 30.000 ms, "
            "expected 31.000 ms; took 0.250 ms");
  report.moved = 0;
  report.waiting = 2;
  report.withdrawn = 1;
  EXPECT_THAT(
      balance_line(3, report, true),
      HasSubstr("0 of 64 objects moved, 2 wait, 1 withdrawn (its moves would have made the longest PE longer);"));
  report.strategy = "";
  EXPECT_EQ(balance_line(4, report, false), "load balancing 4: not worth it; longest PE 34.500 ms, level 30.000 ms");
}

TEST(balancer, names_what_it_waits_for) {
  fake_job job({std::vector<std::int64_t>{1}, {1}, {1}});
  job.request(1, by("refine"));
  job.answer(1);
  EXPECT_EQ(job.state.describe(), "load balancing waits for PEs 0, 2 to report their loads");
}

TEST(balancer, unknown_strategies_fail_at_once) {
  fake_job job({std::vector<std::int64_t>{1}});
  job.request(1, by("nearest"));
  ASSERT_EQ(job.answers.size(), 1U);
  EXPECT_THAT(job.answers[0].error, HasSubstr("there is no balancing strategy 'nearest'"));
  EXPECT_TRUE(job.questions.empty());
}

TEST(balancer, off_asks_nothing) {
  fake_job job({std::vector<std::int64_t>{1}, {}}, {.strategy = "off"});
  job.request(1, {});
  ASSERT_EQ(job.answers.size(), 1U);
  EXPECT_EQ(job.answers[0].report.strategy, "");
  EXPECT_TRUE(job.questions.empty());
}

TEST(balancer, a_strategy_that_lacks_what_it_needs_fails_and_moves_nothing) {
  fake_job job({{5, 5, 5}, {}});
  job.request(1, by("curve"));  // there are no coordinates
  job.answer_all();
  ASSERT_EQ(job.answers.size(), 1U);
  EXPECT_THAT(job.answers[0].error, HasSubstr("coordinates"));
  EXPECT_TRUE(job.placed.empty());
  EXPECT_TRUE(job.state.is_idle());
}

TEST(balancer, requests_with_the_same_options_share_the_next_round) {
  fake_job job({{4000, 4000}, {}});
  job.request(1, by("greedy"));
  job.request(2, by("greedy"));
  job.request(3, by("refine"));
  job.request(4, by("greedy"));
  job.answer_all();
  ASSERT_EQ(job.answers.size(), 4U);
  std::vector<std::uint64_t> order;
  for (const auto& each : job.answers) order.push_back(each.request);
  EXPECT_THAT(order, ::testing::ElementsAre(1U, 2U, 4U, 3U));
}

TEST(balancer, answers_that_were_not_asked_for_are_found_out) {
  fake_job job({std::vector<std::int64_t>{1}, {1}});
  balancer::actions out;
  EXPECT_THAT(
      [&] {
        job.state.take(1, load_total{0, 1.0, 5}, 1, out);
      },
      ThrowsMessage<std::logic_error>(HasSubstr("PE 0 answers question 1")));
  job.request(1, by("greedy"));
  const std::uint32_t round = job.questions[0].round;
  EXPECT_THROW(job.state.take(round + 1, load_part{}, 1, out), std::logic_error);
  EXPECT_THROW(job.state.take(round, 0, move_counts{}, 1, out), std::logic_error);
  load_part from_nowhere;
  from_nowhere.pe = 2;
  EXPECT_THROW(job.state.take(round, from_nowhere, 1, out), std::logic_error);
  job.answer(0);
  EXPECT_THROW(job.state.take(round, load_part{}, 1, out), std::logic_error);  // twice
  job.answer_all();
  EXPECT_EQ(job.answers.size(), 1U);
}

// Iterations are summed until their losses pay for a balancing; even ones never do.
TEST(balancer, balances_only_if_it_pays) {
  fake_job even({std::vector<std::int64_t>{1'000'000'000}, {1'000'000'000}});
  for (std::uint64_t i = 0; i < 20; ++i) {
    even.request(i, by("greedy", true));
    even.answer_all();
    EXPECT_EQ(even.answers.back().report.strategy, "");
  }
  fake_job uneven({{900'000, 900'000, 900'000, 900'000}, {}});
  int balanced_at = -1;
  for (std::uint64_t i = 0; i < 20 && balanced_at < 0; ++i) {
    uneven.request(i, by("greedy", true));
    uneven.answer_all();
    if (!uneven.answers.back().report.strategy.empty()) balanced_at = static_cast<int>(i);
  }
  EXPECT_GE(balanced_at, 0);
  EXPECT_EQ(uneven.placed.size(), 2U);
}

// The same with strategies that hosts decide: PE 0 asks hosts, and lets them move when all have decided.
TEST(balancer, every_order_of_answers_of_hosts_ends) {
  constexpr std::int32_t hosts = 3;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 random(seed);
    balancer state({.pes = 6, .hosts = hosts, .strategy = "gossip", .pays_always = seed % 4 == 0});
    struct question {
      std::int32_t who;
      std::uint32_t round;
      int what;  // 0: totals; 1: decide; 2: move; 3: loads; 4: orders
    };
    std::vector<question> questions;
    std::vector<int> answered(6);
    int moving = 0;  // hosts that carry something out
    std::int64_t now = 0;
    const auto perform = [&](const balancer::actions& out) {
      for (std::int32_t pe = 0; pe < 6; ++pe) {
        if (out.ask_for_totals) questions.push_back({pe, out.round, 0});
        if (out.ask_for_loads || out.ask_for_snapshot) questions.push_back({pe, out.round, 3});
      }
      for (std::int32_t host = 0; host < hosts; ++host) {
        if (out.begin_on_hosts) questions.push_back({host, out.round, 1});
        if (out.carry_out_on_hosts) questions.push_back({host, out.round, 2});
      }
      if (out.begin_on_hosts) {
        ASSERT_EQ(moving, 0) << "a round begins while another one moves elements";
      }
      if (out.carry_out_on_hosts) {
        for (const question& each : questions) ASSERT_NE(each.what, 1) << "moves before all hosts have decided";
        moving = hosts;
      }
      for (const auto& each : out.orders) questions.push_back({each.pe, out.round, 4});
      for (const auto& each : out.answers) {
        ASSERT_EQ(each.error, "");
        ++answered[each.request];
      }
    };
    std::uint64_t requested = 0;
    while (requested < answered.size() || !questions.empty()) {
      balancer::actions out;
      ++now;
      if (requested < answered.size() && (questions.empty() || random() % 4 == 0)) {
        const bool pays = random() % 3 == 0;
        state.request(requested++,
                      by(random() % 3 == 0   ? "hierarchy"
                         : random() % 4 == 0 ? "refine"
                                             : "gossip",
                         pays),
                      now, out);
      } else {
        const auto which = static_cast<std::ptrdiff_t>(random() % questions.size());
        const question asked = questions[static_cast<std::size_t>(which)];
        questions.erase(questions.begin() + which);
        if (asked.what == 0) {
          state.take(asked.round, load_total{asked.who, 1.0, now * (asked.who == 0 ? 1000 : 10)}, now, out);
        } else if (asked.what == 1) {
          host_round::result decided;
          decided.host = asked.who;
          decided.work_ns = 1000.0 + asked.who;
          decided.speed = 2.0;
          decided.longest_ns = decided.predicted_ns = 1000.0;
          decided.usual_rate = 1.0;
          state.take(asked.round, decided, now, out);
        } else if (asked.what == 2) {
          --moving;
          state.take_of_host(asked.round, asked.who, move_counts{1, 0, 0}, now, out);
        } else if (asked.what == 3) {
          load_part part;
          part.pe = asked.who;
          state.take(asked.round, std::move(part), now, out);
        } else {
          state.take(asked.round, asked.who, move_counts{}, now, out);
        }
      }
      perform(out);
      if (::testing::Test::HasFatalFailure()) return;
    }
    EXPECT_TRUE(state.is_idle()) << seed;
    for (const int each : answered) EXPECT_EQ(each, 1) << seed;
  }
}

// Requests of all kinds at any moment, answers in any order: each request is answered once, and the machine comes to
// rest.
TEST(balancer, every_order_of_answers_ends) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 random(seed);
    fake_job job({{3000, 2000, 1000}, {500}, {}}, {.strategy = "greedy", .pays_always = seed % 4 == 0});
    std::uint64_t requested = 0;
    const std::uint64_t all = 1 + random() % 6;
    while (requested < all || !job.questions.empty()) {
      if (requested < all && (job.questions.empty() || random() % 4 == 0)) {
        const std::uint64_t number = requested++;
        if (random() % 4 == 0)
          job.step([&](auto& out) { job.state.request_snapshot(number, ++job.now, out); });
        else
          job.request(number, by(random() % 2 == 0 ? "refine" : "", random() % 3 == 0));
      } else {
        job.answer(random() % job.questions.size());
      }
    }
    EXPECT_TRUE(job.state.is_idle()) << seed;
    std::vector<int> times(all);
    for (const auto& each : job.answers) ++times[each.request];
    for (const int each : times) EXPECT_EQ(each, 1) << seed;
  }
}

}  // namespace
}  // namespace tri::objects
