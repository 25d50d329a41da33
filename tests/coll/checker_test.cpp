// The checker refuses what is wrong: plans with one thing changed, hand-made ones, and algorithms as they were
// published.
#include "coll/checker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "coll/algorithms.hpp"
#include "coll/plan_builder.hpp"
#include "coll/plan_text.hpp"
#include "printed_algorithms.hpp"
#include "requests.hpp"

namespace tri::coll {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<plan> plans_of(const request& asked, const std::function<void(plan_builder&)>& write) {
  std::vector<plan> plans;
  for (int rank = 0; rank < asked.hosts.ranks(); ++rank) {
    plan_builder to(asked, asked.hosts, rank);
    write(to);
    plans.push_back(to.finish());
  }
  return plans;
}

std::string problem_with(const request& asked, const std::function<void(plan_builder&)>& write) {
  return problem_of(asked, plans_of(asked, write));
}

const request pair_of_ranks = request_of(collective::broadcast, shape::uniform(1, 2), 2);  // of one host
const request pair_of_hosts = request_of(collective::broadcast, shape::uniform(2, 1), 2);

TEST(checker, a_message_that_is_not_received) {
  EXPECT_EQ(problem_with(pair_of_hosts,
                         [](plan_builder& b) {
                           if (b.rank == 0) b.send(1, 0, b.own(buffer::input), 8, {});
                         }),
            "rank 0 step 0 (send 8 bytes of input 0 to rank 1, round 0): nothing receives it");
}

TEST(checker, two_messages_that_cannot_be_told_apart) {
  EXPECT_THAT(problem_with(pair_of_hosts,
                           [](plan_builder& b) {
                             for (const std::uint64_t half : {0u, 4u}) {
                               if (b.rank == 0) b.send(1, 0, b.own(buffer::input, half), 4, {});
                               if (b.rank == 1) b.receive(0, 0, b.own(buffer::output, half), 4, {});
                             }
                           }),
              HasSubstr("another message has the same source, destination, round and slot"));
}

TEST(checker, messages_of_different_size) {
  EXPECT_THAT(problem_with(pair_of_hosts,
                           [](plan_builder& b) {
                             if (b.rank == 0) b.send(1, 0, b.own(buffer::input), 8, {});
                             if (b.rank == 1) b.receive(0, 0, b.own(buffer::output), 4, {});
                           }),
              HasSubstr("8 bytes are sent by rank 0 step 0"));
}

TEST(checker, two_ranks_that_send_before_they_receive_block) {  // unless messages are eager, which nothing promises
  const request asked = request_of(collective::allgather, shape::uniform(2, 1), 1);
  const auto write = [](plan_builder& b, bool waits) {
    const int other = 1 - b.rank;
    b.copy(b.own(buffer::input), b.own(buffer::output, static_cast<std::uint64_t>(b.rank) * 4), 4, {});
    const step_id sent = b.send(other, 0, b.own(buffer::input), 4, {});
    b.receive(other, 0, b.own(buffer::output, static_cast<std::uint64_t>(other) * 4), 4, waits ? sent : no_step);
  };
  EXPECT_THAT(problem_with(asked, [&](plan_builder& b) { write(b, false); }), IsEmpty());
  EXPECT_THAT(problem_with(asked, [&](plan_builder& b) { write(b, true); }), HasSubstr("it never ends"));
}

TEST(checker, a_wait_for_more_signals_than_there_are) {
  EXPECT_THAT(problem_with(pair_of_ranks,
                           [](plan_builder& b) {
                             const std::uint32_t counter = b.new_counter();
                             if (b.rank == 0) b.signal(0, counter, {});
                             if (b.rank == 1) b.wait(0, counter, 2, {});
                           }),
              HasSubstr("it never ends"));
}

TEST(checker, a_copy_from_a_rank_that_may_not_have_come) {
  EXPECT_THAT(problem_with(pair_of_ranks,
                           [](plan_builder& b) {
                             if (b.rank == 1) b.copy({0, buffer::input, 0}, b.own(buffer::output), 8, {});
                           }),
              HasSubstr("rank 0 may not have come yet"));
}

TEST(checker, a_rank_that_may_leave_while_its_buffer_is_read) {
  EXPECT_THAT(problem_with(pair_of_ranks,
                           [](plan_builder& b) {
                             const step_id come = b.release(0, {});
                             if (b.rank == 1) b.copy({0, buffer::input, 0}, b.own(buffer::output), 8, come);
                           }),
              HasSubstr("rank 0 may have left already"));
}

TEST(checker, a_race_between_two_ranks_of_a_host) {
  const std::string problem = problem_with(pair_of_ranks, [](plan_builder& b) {
    b.new_scratch(8);
    if (b.rank == 0) b.copy(b.own(buffer::input), b.own(buffer::scratch), 8, {});
    if (b.rank == 1) b.copy({0, buffer::scratch, 0}, b.own(buffer::output), 8, {});
  });
  EXPECT_THAT(problem, HasSubstr("unordered to what writes these bytes: rank 0 step 0"));
}

TEST(checker, what_was_never_written) {
  EXPECT_THAT(problem_with(pair_of_ranks,
                           [](plan_builder& b) {
                             b.new_scratch(8);
                             if (b.rank == 1) b.copy(b.own(buffer::scratch), b.own(buffer::output), 8, {});
                           }),
              HasSubstr("it reads what was never written"));
  EXPECT_EQ(problem_with(pair_of_ranks, [](plan_builder&) {}),
            "output of rank 1: a part of its 8 bytes is never written");
}

// Rank 2 may signal before rank 1 has, and rank 0 then goes on too early.
TEST(checker, a_counter_that_may_count_another_signal) {
  const request asked = request_of(collective::broadcast, shape::uniform(1, 3), 0);
  const auto write = [](plan_builder& b, bool in_order) {
    const std::uint32_t counter = b.new_counter();
    const std::uint32_t turn = b.new_counter();
    if (b.rank == 0) b.wait(0, counter, 1, {});
    if (b.rank == 1) b.signal(1, turn, b.signal(0, counter, {}));
    if (b.rank == 2) b.signal(0, counter, in_order ? b.wait(1, turn, 1, {}) : no_step);
  };
  EXPECT_THAT(problem_with(asked, [&](plan_builder& b) { write(b, true); }), IsEmpty());
  EXPECT_THAT(problem_with(asked, [&](plan_builder& b) { write(b, false); }),
              HasSubstr("a wait for 1 may count it instead"));
}

TEST(checker, structure) {
  const auto with = [&](const std::function<void(plan_builder&)>& write) { return problem_with(pair_of_hosts, write); };
  EXPECT_THAT(with([](plan_builder& b) { b.copy(b.own(buffer::input), b.own(buffer::scratch), 4, {}); }),
              HasSubstr("scratch of rank 0 has 0 bytes"));
  EXPECT_THAT(with([](plan_builder& b) {
                b.copy({1 - b.rank, buffer::input, 0}, b.own(buffer::output), 8, {});
              }),
              HasSubstr("rank 1 is on another host"));
  EXPECT_THAT(with([](plan_builder& b) { b.signal(1 - b.rank, 0, {}); }), HasSubstr("rank 1 is on another host"));
  EXPECT_THAT(with([](plan_builder& b) { b.signal(b.rank, 3, {}); }), HasSubstr("rank 0 has 0 counters"));
  EXPECT_THAT(with([](plan_builder& b) { b.send(b.rank, 0, {}, 0, {}); }), HasSubstr("a message to itself"));
  EXPECT_THAT(with([](plan_builder& b) { b.send(7, 0, {}, 0, {}); }), HasSubstr("there is no rank 7"));
  EXPECT_THAT(with([](plan_builder& b) {
                if (b.rank == 0) b.copy(b.own(buffer::input, 4), b.own(buffer::input), 4, {});
              }),
              HasSubstr("an input is written"));
  EXPECT_THAT(with([](plan_builder& b) {
                if (b.rank == 0)
                  b.reduce(step_kind::reduce_right, b.own(buffer::input), b.own(buffer::scratch, b.new_scratch(8)), 6,
                           {});
              }),
              HasSubstr("splits an element of 4 bytes"));
  EXPECT_THAT(with([](plan_builder& b) {
                const std::uint64_t at = b.new_scratch(16);
                b.copy(b.own(buffer::scratch, at), b.own(buffer::scratch, at + 4), 8, {});
              }),
              HasSubstr("its source and its target overlap"));
  std::vector<plan> plans =
      plans_of(pair_of_hosts, [](plan_builder& b) { b.copy(b.own(buffer::input), b.own(buffer::output), 8, {}); });
  plans[0].steps[0].first_dependency = 7;
  EXPECT_EQ(problem_of(pair_of_hosts, plans), "the dependencies of the steps of rank 0 are no ranges of its list");
  plans.pop_back();
  EXPECT_EQ(problem_of(pair_of_hosts, plans), "1 plans for 2 ranks");
}

TEST(checker, contributions_twice_and_out_of_order) {
  const auto of = [](bool commutative, bool twice, step_kind side) {
    const request asked = request_of(collective::reduce, shape::uniform(1, 2), 1, 0, commutative);
    return problem_with(asked, [&](plan_builder& b) {
      const step_id come = b.host_barrier({});
      step_id last = come;
      if (b.rank == 0) {
        last = b.copy(b.own(buffer::input), b.own(buffer::output), 4, {});
        last = b.reduce(side, {1, buffer::input, 0}, b.own(buffer::output), 4, {last, come});
        if (twice) last = b.reduce(side, {1, buffer::input, 0}, b.own(buffer::output), 4, last);
      }
      b.host_barrier(last);
    });
  };
  EXPECT_THAT(of(true, false, step_kind::reduce_left), IsEmpty());
  EXPECT_THAT(of(false, false, step_kind::reduce_right), IsEmpty());
  EXPECT_THAT(of(false, false, step_kind::reduce_left), HasSubstr("out of order: ranks 1 before ranks 0"));
  EXPECT_THAT(of(true, true, step_kind::reduce_right), HasSubstr("the contribution of rank 1 enters twice"));
}

TEST(checker, bytes_that_are_delivered_twice) {
  EXPECT_THAT(problem_with(pair_of_hosts,
                           [](plan_builder& b) {
                             step_id last = no_step;
                             for (const std::uint32_t round : {0u, 1u}) {
                               if (b.rank == 0) b.send(1, round, b.own(buffer::input), 8, {});
                               if (b.rank == 1) last = b.receive(0, round, b.own(buffer::output), 8, last);
                             }
                           }),
              HasSubstr("it delivers bytes a second time"));
}

TEST(checker, a_barrier_that_one_rank_passes_alone) {
  const request asked = request_of(collective::barrier, shape::uniform(3, 1), 0);
  EXPECT_THAT(problem_with(asked,
                           [](plan_builder& b) {
                             b.send((b.rank + 1) % 3, 0, {}, 0, {});
                             b.receive((b.rank + 2) % 3, 0, {}, 0, {});
                           }),
              HasSubstr("leaves when 1 of 3 ranks may not have come"));
}

// One change to one step of one rank. Dependencies and waits may be implied by others; those that are counted.
TEST(mutants, are_refused) {
  struct tally {
    int tried = 0;
    int accepted = 0;
  };
  std::map<std::string, tally> dependencies, waits;  // by algorithm
  int refused = 0;
  int other_counters = 0;
  for (const algorithm& by : all_algorithms())
    for (const auto& [hosts, ranks] : {std::pair{1, 4}, {3, 1}, {7, 1}, {5, 2}, {4, 3}}) {
      const request asked =
          request_of(by.what, shape::uniform(hosts, ranks), 30, std::min(1, hosts * ranks - 1), by.commutative_only);
      std::vector<plan> plans = generate_all(by, asked);
      ASSERT_EQ(problem_of(asked, plans), "");
      for (plan& changed : plans)
        for (std::size_t i = 0; i < changed.steps.size(); ++i) {
          const auto try_change = [&](const char* change, const std::function<void(step&)>& make) {
            const plan before = changed;
            make(changed.steps[i]);
            const std::string problem = problem_of(asked, plans);
            changed = before;
            EXPECT_NE(problem, "") << change << " in rank " << changed.rank << " step " << i << " ("
                                   << text_of(changed, i) << ") of " << text_of(asked, by);
            ++refused;
          };
          const step& one = changed.steps[i];
          const std::string name = std::string(name_of(by.what)) + ' ' + std::string(by.name);
          if (one.kind == step_kind::join) continue;
          if (one.kind == step_kind::wait) {
            try_change("counts one less", [](step& s) { --s.value; });
            const step before = one;
            changed.steps[i].kind = step_kind::join;
            tally& counted = waits[name];
            ++counted.tried;
            counted.accepted += problem_of(asked, plans).empty() ? 1 : 0;
            changed.steps[i] = before;
          } else {
            try_change("dropped", [](step& s) { s.kind = step_kind::join, s.bytes = 0; });
          }
          if (one.kind == step_kind::signal) {
            const std::uint32_t counters = plans[static_cast<std::size_t>(one.peer)].counters;
            for (std::uint32_t other = 0; other < counters; ++other) {
              if (other == one.counter) continue;
              try_change("another counter", [&](step& s) { s.counter = other; });
              ++other_counters;
            }
          }
          if (one.bytes > 0) try_change("an element less", [](step& s) { s.bytes -= 4; });
          if (one.has_source() && one.bytes > 0)
            try_change("other source bytes", [](step& s) { s.source.offset += 4; });
          if (one.has_target() && one.bytes > 0)
            try_change("other target bytes", [](step& s) { s.target.offset += 4; });
          if (one.is_message()) {
            try_change("another peer", [&](step& s) { s.peer = (s.peer + 1) % asked.hosts.ranks(); });
            try_change("another round", [](step& s) { ++s.round; });
          }
          if (one.is_reduction() && !asked.commutative)
            try_change("the other side", [](step& s) {
              s.kind = s.kind == step_kind::reduce_left ? step_kind::reduce_right : step_kind::reduce_left;
            });
          for (std::size_t d = 0; d < changed.dependencies_of(i).size(); ++d) {
            const plan before = changed;
            changed.dependencies.erase(changed.dependencies.begin() + changed.steps[i].first_dependency +
                                       static_cast<std::ptrdiff_t>(d));
            for (std::size_t later = i + 1; later < changed.steps.size(); ++later)
              --changed.steps[later].first_dependency;
            tally& counted = dependencies[name];
            ++counted.tried;
            counted.accepted += problem_of(asked, plans).empty() ? 1 : 0;
            changed = before;
          }
        }
    }
  EXPECT_GT(refused, 30'000);
  EXPECT_GT(other_counters, 1'500);
  // Dependencies that others imply: a wait for the signals of all ranks needs none on the own one. The counts change
  // with the algorithms; of those that are not named every dependency is needed.
  const std::map<std::string, int> implied = {
      {"allgather multi_object_bruck", 58},
      {"allgather multi_object_ring", 156},
      {"allgather single_leader_bruck", 80},
      {"allgather single_leader_ring", 156},
      {"allreduce multi_object_bruck", 170},
      {"allreduce multi_object_gathered", 74},
      {"allreduce multi_object_ring", 304},
      {"allreduce multi_object_tree", 86},
      {"allreduce rabenseifner", 50},
      {"allreduce ring", 210},
      {"allreduce single_leader_bruck", 232},
      {"allreduce single_leader_ring", 291},
      {"alltoall multi_object", 140},
      {"alltoall single_leader", 140},
      {"barrier dissemination", 3},
      {"barrier multi_object", 61},
      {"barrier single_leader", 83},
      {"exscan multi_object", 203},
      {"exscan single_leader", 255},
      {"reduce binomial", 14},
      {"reduce multi_object", 45},
      {"reduce multi_object_parts", 87},
      {"reduce single_leader", 64},
      {"reduce_scatter multi_object", 144},
      {"reduce_scatter single_leader", 144},
      {"scan hillis_steele", 5},
      {"scan multi_object", 205},
      {"scan single_leader", 257},
  };
  // Waits whose order the rest of the plans implies, too.
  const std::map<std::string, int> implied_waits = {
      {"allgather multi_object_bruck", 5},  {"allgather multi_object_ring", 10}, {"allgather single_leader_bruck", 9},
      {"allgather single_leader_ring", 10}, {"allreduce multi_object_bruck", 1}, {"allreduce multi_object_gathered", 6},
      {"allreduce multi_object_ring", 13},  {"allreduce multi_object_tree", 20}, {"allreduce single_leader_bruck", 1},
      {"allreduce single_leader_ring", 13}, {"barrier multi_object", 5},         {"barrier single_leader", 9},
      {"reduce multi_object", 7},           {"reduce single_leader", 9},         {"reduce_scatter multi_object", 22},
      {"reduce_scatter single_leader", 22},
  };
  for (const auto& [name, counted] : waits)
    EXPECT_EQ(counted.accepted, implied_waits.contains(name) ? implied_waits.at(name) : 0)
        << name << ", of " << counted.tried << " waits";
  for (const auto& [name, counted] : dependencies)
    EXPECT_EQ(counted.accepted, implied.contains(name) ? implied.at(name) : 0) << name << ", of " << counted.tried;
}

TEST(published_algorithms, without_their_flaw_are_right) {
  for (int hosts = 1; hosts <= 30; ++hosts)
    for (int ranks = 1; ranks <= 3; ++ranks) {
      const shape on = shape::uniform(hosts, ranks);
      request asked = request_of(collective::allgather, on, 2);
      ASSERT_EQ(problem_of(asked, printed_allgather(asked, flaw::none)), "") << hosts << ' ' << ranks;
      ASSERT_EQ(problem_of(asked, printed_ring_allgather(asked, flaw::none)), "") << hosts << ' ' << ranks;
      asked.what = collective::scatter;
      ASSERT_EQ(problem_of(asked, printed_scatter(asked, host_flaw::none)), "") << hosts << ' ' << ranks;
      asked.what = collective::allreduce;
      ASSERT_EQ(problem_of(asked, printed_allreduce(asked, flaw::none)), "") << hosts << ' ' << ranks;
    }
  const request inside = request_of(collective::reduce, shape::uniform(1, 4), 8, 2);
  EXPECT_EQ(problem_of(inside, printed_host_reduce(inside, host_flaw::none)), "");
}

std::string allgather_with(flaw kept, int hosts, int ranks) {
  const request asked = request_of(collective::allgather, shape::uniform(hosts, ranks), 2);
  return problem_of(
      asked, kept == flaw::last_block_kept ? printed_ring_allgather(asked, kept) : printed_allgather(asked, kept));
}

TEST(published_algorithms, allgather_names_a_wrong_peer) {
  EXPECT_EQ(allgather_with(flaw::peer_rank_by_hosts, 3, 3), "") << "as many ranks as hosts";
  EXPECT_THAT(allgather_with(flaw::peer_rank_by_hosts, 4, 2),
              AnyOf(HasSubstr("there is no rank"), HasSubstr("nothing")));
}

TEST(published_algorithms, allgather_tests_too_late_whether_a_round_fits) {
  EXPECT_EQ(allgather_with(flaw::first_round_untested, 3, 2), "");
  EXPECT_NE(allgather_with(flaw::first_round_untested, 2, 2), "");
  EXPECT_NE(allgather_with(flaw::first_round_untested, 3, 4), "");
}

TEST(published_algorithms, allgather_overruns_its_buffer_in_the_last_round) {
  EXPECT_EQ(allgather_with(flaw::last_round_too_long, 9, 2), "") << "a power of the radix has no such round";
  EXPECT_THAT(allgather_with(flaw::last_round_too_long, 5, 2), HasSubstr("scratch of rank 0 has 80 bytes"));
  EXPECT_NE(allgather_with(flaw::last_round_too_long, 7, 3), "");
}

TEST(published_algorithms, ring_allgather_never_hands_out_the_last_block) {
  EXPECT_EQ(allgather_with(flaw::last_block_kept, 3, 1), "") << "one rank has it all";
  EXPECT_THAT(allgather_with(flaw::last_block_kept, 3, 2), HasSubstr("is never written"));
}

TEST(published_algorithms, allreduce_adds_hosts_twice_from_two_levels_of_rest_on) {
  std::vector<int> wrong;
  for (int ranks = 1; ranks <= 3; ++ranks) {
    wrong.clear();
    for (int hosts = 1; hosts <= 24; ++hosts) {
      const request asked = request_of(collective::allreduce, shape::uniform(hosts, ranks), 2);
      const std::string problem = problem_of(asked, printed_allreduce(asked, flaw::own_rest));
      if (problem.empty()) continue;
      EXPECT_THAT(problem, HasSubstr("enters twice"));
      wrong.push_back(hosts);
    }
    const std::vector<int> first[] = {{7, 11, 13}, {13, 14, 16, 17}, {21, 22, 23}};
    const std::vector<int>& known = first[ranks - 1];
    ASSERT_GE(wrong.size(), known.size());
    wrong.resize(known.size());
    EXPECT_EQ(wrong, known);
  }
}

TEST(published_algorithms, allreduce_exchanges_the_input_in_the_last_round) {
  const request asked = request_of(collective::allreduce, shape::uniform(2, 2), 2);
  EXPECT_NE(problem_of(asked, printed_allreduce(asked, flaw::rest_is_input)), "");
}

TEST(published_algorithms, ranks_leave_a_reduction_while_others_read_their_input) {
  const request asked = request_of(collective::reduce, shape::uniform(1, 4), 8, 2);
  EXPECT_THAT(problem_of(asked, printed_host_reduce(asked, host_flaw::only_root_waits)),
              HasSubstr("may have left already"));
}

TEST(published_algorithms, scatter_ends_before_the_last_hosts_have_handed_out) {
  const request asked = request_of(collective::scatter, shape::uniform(3, 2), 2);
  EXPECT_THAT(problem_of(asked, printed_scatter(asked, host_flaw::leaves_do_not_copy)), HasSubstr("is never written"));
}

// Ranks that wait do one of them together.
TEST(checker, large_copies_are_several_steps) {
  struct large {
    collective what;
    const char* algorithm;
    std::uint32_t extent;
  };
  for (const auto& [what, algorithm, extent] :
       {large{collective::broadcast, "multi_object", 1}, large{collective::allreduce, "multi_object_ring", 24},
        large{collective::scan, "multi_object", 24}}) {
    request asked = request_of(what, shape::uniform(2, 2), 100'000);
    asked.extent = extent * 4;
    std::vector<plan> plans;
    std::uint64_t largest = 0;
    for (int rank = 0; rank < asked.hosts.ranks(); ++rank) {
      plans.push_back(generate(algorithm_of(asked, algorithm), asked, rank));
      for (const step& each : plans.back().steps)
        if (!each.is_message()) largest = std::max(largest, each.bytes);
    }
    EXPECT_EQ(problem_of(asked, plans), "") << algorithm;
    EXPECT_LT(largest, std::max(2 * piece_bytes, asked.vector_bytes() / most_pieces + asked.extent)) << algorithm;
  }
}

}  // namespace
}  // namespace tri::coll
